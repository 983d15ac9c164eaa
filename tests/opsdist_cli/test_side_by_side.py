"""`opsdist perf` of several backends in one run, as people run it. The second stands in for a library: tests/twin."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from collectives.select import choose
from tests.leftovers import RunSpace
from tests.opsdist_cli.test_perf import COMMAND, QUICK, WARM, Ended
from tests.perf_process import TRANSPORT
from tests.perf_process import perf as started

TWIN = str(Path(__file__).parent.parent / "twin")
BOTH = ("--backend", "builtin,twin")
AUTO = choose("allreduce", 2, 1024)[0]


def perf(*arguments: str, **variables: str) -> Ended:
    environment = {**os.environ, "PYTHONPATH": TWIN, **variables}
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60, env=environment
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_the_table_names_backends_what_they_have_loaded_and_the_ratio() -> None:
    ended = perf("allreduce", "--size", "1K,16K", *BOTH, *QUICK)
    assert (ended.code, ended.err) == (0, "")
    assert ended.lines[0].startswith("# 2 ranks, as asked; backend builtin,twin; host ")
    assert ended.lines[1].endswith(f"; transport {TRANSPORT}, twinned; registered buffers")
    assert re.fullmatch(r"# builtin: opsdist [\d.]+, .* over \w+( memory)?( \(.+\))?", ended.lines[2])
    assert ended.lines[3] == "# twin: Twin 1.2.3 at /opt/twin/libtwin.so"
    assert ended.lines[4].endswith("eff   ratio  backend   algorithm")
    assert [(row[0], *row[11:]) for row in ended.rows] == [
        (size, *who) for size in ("1024", "16384") for who in (("builtin", AUTO), ("twin", "library"))
    ]
    assert [row[10] for row in ended.rows[::2]] == ["1.00", "1.00"]
    for row, base in zip(ended.rows[1::2], ended.rows[::2], strict=True):
        time, base_time = float(row[5]), float(base[5])
        # As far as the digits of the table go: two behind the point.
        rounding = time / base_time * (0.005 / time + 0.005 / base_time) + 0.006
        assert float(row[10]) == pytest.approx(time / base_time, abs=rounding)
    for name in ("builtin", "twin"):
        assert any(re.fullmatch(rf"AllReduce Bandwidth: .* at 16K by {name}.*", line) for line in ended.lines)
        assert re.search(rf"harness overhead .*us \({name}\)", ended.out)
    assert any(line.startswith("# ratio: time over that of builtin (x)") for line in ended.lines)
    assert ended.lines[-1] == "# passed: 4 of 4 cases measured"


def test_the_record_compares_with_the_first_named() -> None:
    options = ("--size", "4K", "--both", "--backend", "twin,builtin", *WARM, "-n", "2")
    record = perf("allreduce", *options, "--loop", "12", "--json", TWIN_SLOW="3000").record
    assert record["libraries"]["twin"] == "Twin 1.2.3 at /opt/twin/libtwin.so"
    assert {rank["transport"]["node"] for rank in record["world"]["ranks"]} == {f"twinned, {TRANSPORT}"}
    twin, builtin = record["results"]
    assert (twin["algorithm"], twin["why"]) == ("library", "the library chooses")
    assert (twin["steps"], twin["wire_bytes_per_rank"]) == (None, None)
    assert builtin["steps"] is not None
    assert [entry["in_place"] for entry in record["comparison"]] == [False, True]
    for entry in record["comparison"]:
        assert (entry["baseline"], entry["backend"], entry["algorithm"]) == ("twin", "builtin", builtin["algorithm"])
        place = "in_place" if entry["in_place"] else "out_of_place"
        assert entry["time_ratio"] == pytest.approx(builtin[place]["time"] / twin[place]["time"])
        assert (twin[place]["time_ratio"], builtin[place]["time_ratio"]) == (1.0, entry["time_ratio"])
        assert entry["bus_bw"] == builtin[place]["bus_bw"]
        # The twin takes three milliseconds more, whatever else the machine does.
        assert entry["time_ratio"] < 1
        assert entry["passes"]["n"] == 8
        assert entry["passes"]["min"] <= entry["passes"]["median"] <= entry["passes"]["max"]


def test_one_backend_is_compared_with_nobody() -> None:
    ended = perf("allreduce", "--size", "1K", "--backend", "twin", *QUICK, "--json")
    assert (ended.code, ended.record["comparison"]) == (0, [])
    (row,) = ended.record["results"]
    assert (row["algorithm"], row["steps"], row["out_of_place"]["time_ratio"]) == ("library", None, None)
    assert list(ended.record["libraries"]) == ["twin"]


def test_each_backend_has_a_floor_of_its_own() -> None:
    """The twin says that its loop costs a second, which no loop does."""
    record = perf("allreduce", "--size", "1K,2K", *BOTH, *QUICK, "--json").record
    for row in record["results"]:
        assert (row["out_of_place"]["harness_overhead"] == 1e6) is (row["backend"] == "twin")


def test_of_all_algorithms_the_fastest_is_the_baseline() -> None:
    ended = perf("allgather", "--size", "1K", "--algorithm", "all", *BOTH, *QUICK, "--json")
    rows = ended.record["results"]
    ours = [row for row in rows if row["backend"] == "builtin"]
    assert [row["algorithm"] for row in rows if row["backend"] == "twin"] == ["library"]
    best = min(ours, key=lambda row: row["out_of_place"]["time"])
    (entry,) = ended.record["comparison"]
    assert entry["baseline_algorithm"] == best["algorithm"]
    assert min(row["out_of_place"]["time_ratio"] for row in ours) == 1.0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("allreduce", "--algorithm", "ring"), "twin runs no plans: its library chooses"),
        (("allreduce", "--redop", "prod"), "twin does not know prod"),
        (("allreduce", "--dtype", "int8"), "twin does not know int8"),
        (("reduce-scatter",), "twin has no reduce_scatter"),
    ],
)
def test_what_one_backend_lacks_is_a_row_with_the_reason_and_no_failure(
    arguments: tuple[str, ...], reason: str
) -> None:
    ended = perf(*arguments, "--size", "1K", *BOTH, *QUICK)
    assert ended.code == 0
    (line,) = [line for line in ended.lines if "skipped" in line]
    assert f"skipped: {reason} " in line
    assert re.search(r"  twin +\w+$", line)
    assert ended.lines[-1] == "# passed: 1 of 1 cases measured"


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (("reduce-scatter", "--backend", "twin"), {}, "nothing can be measured: reduce_scatter library: twin has no"),
        (("allreduce", "--algorithm", "ring", "--backend", "twin"), {}, "twin runs no plans"),
        (("allreduce", "--algorithm", "rign", *BOTH), {}, "did you mean 'ring'?"),
        (("allreduce", *BOTH), {"TWIN_UNAVAILABLE": "not installed; pip install twin"},
         "backend twin cannot be used: not installed; pip install twin"),
        (("allreduce", "--backend", "builtin,twim"), {}, "did you mean 'twin'?"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_at_all_is_refused(
    arguments: tuple[str, ...], variables: dict[str, str], words: str
) -> None:
    ended = perf(*arguments, "--size", "1K", *QUICK, **variables)
    assert (ended.code, ended.out, words in ended.err) == (2, "", True), ended.err


def test_ratios_in_every_format(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("json", "csv", "junit")}
    flags = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    assert perf("allreduce", "--size", "1K", *BOTH, *QUICK, *flags).code == 0
    _, twin = json.loads(paths["json"].read_text())["results"]
    ratio = str(twin["out_of_place"]["time_ratio"])
    with paths["csv"].open(newline="") as lines:
        assert [line["time_ratio"] for line in csv.DictReader(lines)] == ["1.0", ratio]
    told = [
        element.get("value")
        for element in ET.parse(paths["junit"]).iter("property")
        if element.get("name") == "time_ratio"
    ]
    assert told == ["1.0", ratio]


@pytest.mark.parametrize("sync", ["each", "none"])
def test_a_wrong_element_is_found_in_every_backend(sync: str) -> None:
    ended = perf("allreduce", "--size", "4K", *BOTH, *QUICK, "--sync", sync, "--inject", "corrupt:rank=1", "--json")
    failed = [finding["message"] for finding in ended.record["findings"] if finding["status"] == "fail"]
    assert ended.code == 1
    assert [message.partition(",")[0] for message in failed] == [f"allreduce {AUTO}", "allreduce by twin"]


def test_a_rank_that_is_killed_is_named_with_whose_turn_it_was(space: RunSpace) -> None:
    """In iteration 3 of 4, which the built-in backend comes to first."""
    options = ("allreduce", "--size", "4K", "--loop", "4", "--cache", "warm", "-n", "3", *BOTH)
    with started(space, *options, "--inject", "kill:rank=1,at=3", variables={"PYTHONPATH": TWIN}) as run:
        assert run.code() == 3, run.stderr
    assert run.culprits() == [1]
    assert re.search(r"during case \d \(allreduce (by twin|\w+), 4096 bytes", run.record["verdict"]["explanation"])


@pytest.mark.parametrize("buffers", ["registered", "private"])
def test_the_table_says_whose_the_buffers_are(buffers: str) -> None:
    ended = perf("allreduce", "--size", "1K", "--buffers", buffers, *QUICK)
    assert ended.code == 0
    assert ended.lines[1].endswith(f"; transport {TRANSPORT}; {buffers} buffers")


def test_every_collective_side_by_side_is_right() -> None:
    record = perf("all", "--size", "1000", "--both", *BOTH, *WARM, "--loop", "2", "-n", "3", "--json").record
    assert record["exit_code"] == 0
    skipped = {(row["backend"], row["collective"]) for row in record["results"] if row["skipped"]}
    assert skipped == {("twin", "reduce_scatter")}
    compared = {entry["collective"] for entry in record["comparison"]}
    assert compared == {row["collective"] for row in record["results"]} - {"reduce_scatter"}
