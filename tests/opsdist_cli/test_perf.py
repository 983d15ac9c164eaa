"""`opsdist perf` as people and scripts run it: real worker processes, sizes small, every promise of the contract."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from collectives.algorithms import ALGORITHMS
from collectives.dtypes import DTYPES
from collectives.ops import COLLECTIVES
from collectives.select import choose
from opsdist_cli.main import run
from probes.host import LocalHost
from probes.memory import available_bytes
from tests.schema import validate

COMMAND = [sys.executable, "-m", "opsdist_cli", "perf"]
WARM = ("--cache", "warm", "--warmup", "1")
QUICK = (*WARM, "--loop", "2", "--ranks", "2")
ROW = re.compile(r" +\d+ +(\d+|-) ")


@dataclass(frozen=True)
class Ended:
    """A run that is over."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        """The cells of the table."""
        return [line.split() for line in self.lines if ROW.match(line)]

    @property
    def record(self) -> dict[str, Any]:
        """stdout, which must be one valid record of perf and nothing else."""
        record: dict[str, Any] = json.loads(self.out)
        validate(record)
        assert record["exit_code"] == self.code
        return record

    def finding(self, check: str) -> dict[str, Any]:
        (found,) = [finding for finding in self.record["findings"] if finding["check"] == check]
        return dict(found)


@cache
def perf(*arguments: str) -> Ended:
    """Run once, however many ask."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60)
    return Ended(done.returncode, done.stdout, done.stderr)


def sides_of(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """What was measured: (algorithm, placement)."""
    return [(row["algorithm"], place) for row in rows for place in ("out_of_place", "in_place") if row[place]]


def test_the_table_for_people() -> None:
    ended = perf("allreduce", "--size", "8,1K,7", *QUICK)
    assert (ended.code, ended.err) == (0, "")
    assert ended.lines[0].startswith("# 2 ranks, as asked; backend builtin; host ")
    assert ended.lines[1].startswith("# ranks 0-1 on ")
    assert [row[:5] for row in ended.rows] == [
        ["8", "2", "float32", "sum", "-1"],
        ["1024", "256", "float32", "sum", "-1"],
        ["7", "1", "float32", "sum", "-1"],
    ]
    assert [row[8] for row in ended.rows] == ["0", "0", "0"]
    chosen = [choose("allreduce", 2, size)[0] for size in (8, 1024, 7)]
    assert [" ".join(row[10:]) for row in ended.rows] == [*chosen[:2], f"{chosen[2]} # 4 B moved"]
    assert "# Out of bounds values : 0 OK" in ended.lines
    assert any(re.fullmatch(r"AllReduce Bandwidth: \d+\.\d\d GB/s busbw at 1K", line) for line in ended.lines)
    assert ended.lines[-1] == "# passed: 3 of 3 cases measured"


def test_quiet_prints_the_same_results_and_no_remarks() -> None:
    ended = perf("barrier", *QUICK, "-q", "--peak", "1GB/s")
    assert (ended.code, ended.err) == (0, "")
    assert [row[:2] for row in ended.rows] == [["0", "0"]]
    assert any(re.fullmatch(r"Barrier Time: [\d.]+ us", line) for line in ended.lines)


def test_json_is_alone_on_stdout_whatever_else_is_said() -> None:
    ended = perf("all_reduce", "--size", "8", *QUICK, "-v", "--json")
    record = ended.record
    assert "ranks started" in ended.err
    assert record["command"][1:3] == ["perf", "all_reduce"]
    assert (record["status"], record["verdict"], record["comparison"]) == ("pass", None, [])
    assert [finding["check"] for finding in record["findings"]] == ["perf.data"]
    assert [rank["rank"] for rank in record["world"]["ranks"]] == [0, 1]
    assert len({rank["pid"] for rank in record["world"]["ranks"]}) == 2


def test_one_run_in_every_format(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("json", "csv", "junit")}
    flags = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    ended = perf("reduce", "--size", "1K", "--both", "--algorithm", "linear,tree", *QUICK, *flags)
    assert ended.code == 0
    assert [row[-1] for row in ended.rows] == ["linear", "tree"]
    record = json.loads(paths["json"].read_text())
    validate(record)
    measured = [(name, place) for name in ("linear", "tree") for place in ("out_of_place", "in_place")]
    assert sides_of(record["results"]) == measured
    with paths["csv"].open(newline="") as lines:
        assert [(line["algorithm"], line["placement"]) for line in csv.DictReader(lines)] == measured
    suite = ET.parse(paths["junit"]).getroot()[0]
    # Four placements and what was found about the data.
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "0", "0", "0"]


def test_all_algorithms_are_compared_size_by_size() -> None:
    ended = perf("allgather", "--size", "8,16K", "--algorithm", "all", *QUICK)
    assert ended.code == 0
    assert [row[10] for row in ended.rows] == list(ALGORITHMS["allgather"]) * 2
    (best,) = [line for line in ended.lines if line.startswith("# best allgather: ")]
    assert ("crossover" in ended.out) == ("," in best)
    for name in ALGORITHMS["allgather"]:
        assert re.search(rf"#   allgather {name}: \d+ steps, 8192 wire bytes per rank at 16K", ended.out)


@pytest.mark.parametrize("ranks", [1, 5])
def test_every_collective_gives_right_results(ranks: int) -> None:
    """With more ranks than cores here, and with one, which has nobody to talk to."""
    ended = perf("all", "--size", "1000", "--both", *WARM, "--loop", "2", "-n", str(ranks), "--json")
    record = ended.record
    assert (ended.code, record["world"]["size"], len(record["world"]["ranks"])) == (0, ranks, ranks)
    assert [row["collective"] for row in record["results"]] == list(COLLECTIVES)
    for row in record["results"]:
        collective = COLLECTIVES[row["collective"]]
        assert row["skipped"] is None
        assert (row["redop"], row["root"]) == ("sum" if collective.reduces else None, 0 if collective.rooted else None)
        assert (row["in_place"] is not None) == (collective.alias is not None)
        for side in filter(None, (row["out_of_place"], row["in_place"])):
            assert (side["nwrong"], side["iterations"]) == (0, 2)
            assert (side["bus_bw"] is None) == (ranks == 1 or collective.name == "barrier")
            if side["alg_bw"] is not None:
                assert side["alg_bw"] == pytest.approx(row["bytes_moved"] / side["time"] / 1e3)
            if side["bus_bw"] is not None:
                assert side["bus_bw"] == pytest.approx(side["alg_bw"] * collective.bus_factor(ranks))


@pytest.mark.parametrize(("synonym", "name"), [("fp16", "float16"), ("bf16", "bfloat16"), ("double", "float64")])
def test_dtypes_go_by_their_synonyms(synonym: str, name: str) -> None:
    (row,) = perf("reduce-scatter", "--size", "1K", "--dtype", synonym, "--redop", "avg", *QUICK, "--json").record[
        "results"
    ]
    assert (row["type"], row["redop"], row["count"]) == (name, "avg", 512 // DTYPES[name].itemsize)


def test_the_flags_of_nccl_tests() -> None:
    flags = ("-b", "8", "-e", "128", "-f", "4", "-w", "2", "-d", "half", "-o", "max", "-r", "1", "-c", "0")
    record = perf("reduce", *flags, "--loop", "3", "--ranks", "2", "--cache", "warm", "--json").record
    rows = record["results"]
    assert [(row["size"], row["type"], row["redop"], row["root"]) for row in rows] == [
        (size, "float16", "max", 1) for size in (8, 32, 128)
    ]
    assert {(row["out_of_place"]["nwrong"], row["out_of_place"]["iterations"]) for row in rows} == {(None, 3)}
    assert (record["config"]["warmup"], record["config"]["check"]) == (2, False)


def test_sizes_loops_and_warm_ups_are_what_was_asked_for() -> None:
    record = perf("allreduce", "--size", "64:256,8", "--loop", "7", "--warmup", "3", "-n", "2", "--json").record
    assert [row["size"] for row in record["results"]] == [64, 128, 256, 8]
    assert {row["out_of_place"]["samples"] for row in record["results"]} == {7}
    assert [record["config"][name] for name in ("loop", "loop_asked", "warmup", "cache")] == [7, True, 3, "cold"]


def test_back_to_back_iterations_all_count() -> None:
    options = ("--sync", "none", "--loop", "30", "-n", "2", *WARM)
    (row,) = perf("allreduce", "--size", "8", *options, "--json").record["results"]
    side = row["out_of_place"]
    assert (side["iterations"], side["iterations_asked"], side["nwrong"]) == (30, 30, 0)


def test_what_the_budget_leaves_out_is_said_and_no_pass() -> None:
    options = ("allreduce", "--size", "8,64", *WARM, "-n", "2", "--budget", "1ms")
    ended = perf(*options, "--json")
    assert [row["skipped"] for row in ended.record["results"]] == ["the time budget was used up"] * 2
    finding = ended.finding("perf.cases")
    assert (ended.code, finding["status"]) == (3, "error")
    assert finding["message"] == "2 of 2 cases were not measured: the time budget was used up"
    told = perf(*options)
    assert told.lines[-1] == "# no verdict: 0 of 2 cases measured"
    assert "opsdist: error: 2 of 2 cases were not measured" in told.err


def test_a_budget_that_is_enough_changes_nothing() -> None:
    (row,) = perf("allreduce", "--size", "8", *WARM, "-n", "2", "--budget", "50s", "--json").record["results"]
    assert (row["out_of_place"]["iterations"], row["out_of_place"]["iterations_asked"]) == (20, 20)


@pytest.mark.parametrize(
    ("floors", "code", "status"), [("1kB/s@1K", 0, "pass"), ("100TB/s@1K", 1, "fail"), ("1kB/s@2K", 3, "error")]
)
def test_floors_are_reached_missed_or_not_measured(floors: str, code: int, status: str) -> None:
    ended = perf("allreduce", "--size", "1K", *QUICK, "--min-busbw", floors, "--json")
    assert (ended.code, ended.finding("perf.floor")["status"]) == (code, status)
    (floor,) = ended.record["config"]["floors"]
    assert (floor["size"], floor["bus_bw"]) == (2048 if code == 3 else 1024, 1e5 if code == 1 else 1e-6)


def test_a_figure_beyond_its_ceiling_is_measured_again_and_then_no_result() -> None:
    options = ("allreduce", "--size", "64K", *QUICK, "--peak", "1kB/s")
    ended = perf(*options, "--json")
    (row,) = ended.record["results"]
    side = row["out_of_place"]
    assert (ended.code, ended.record["status"]) == (3, "error")
    assert side["measured_again"]
    assert side["ceiling"] == {
        "time": pytest.approx(65536 / 1e3 * 1e6),
        "bus_bw": pytest.approx(1e-6),
        "source": "--peak",
    }
    assert side["efficiency"] > 1.1
    assert ended.record["config"]["peak"] == pytest.approx(1e-6)
    assert ended.finding("perf.implausible")["status"] == "error"
    told = perf(*options)
    assert "AllReduce Bandwidth: no figure to believe at 64K" in told.out
    assert told.rows[0][-5:] == ["#", "not", "to", "be", "believed"]


def test_a_wrong_element_is_named_and_counts() -> None:
    ended = perf("allreduce", "--size", "4K", *QUICK, "--inject", "corrupt:rank=1", "--json")
    (row,) = ended.record["results"]
    finding = ended.finding("perf.data")
    assert (ended.code, row["out_of_place"]["nwrong"], finding["subject"]["rank"]) == (1, 1, 1)
    assert re.search(
        r"wrong data on rank 1, sometimes \(1 of \d checks\): 1 wrong, the first at index 512: expected",
        finding["message"],
    )


def test_unchecked_passes_and_says_so() -> None:
    ended = perf("allreduce", "--size", "1K", *QUICK, "--no-check")
    assert ended.code == 0
    assert [row[8] for row in ended.rows] == ["N/A"]
    assert "# Out of bounds values : unchecked" in ended.lines
    assert ended.lines[-1] == "# passed: 1 of 1 cases measured, unchecked"
    told = perf("allreduce", "--size", "1K", *QUICK, "--no-check", "--json").finding("perf.data")
    assert (told["status"], told["message"]) == ("info", "results were not checked (--no-check)")


def test_a_combination_that_cannot_be_is_a_row_and_no_failure() -> None:
    ended = perf("all", "--size", "64", "--algorithm", "ring", *QUICK)
    assert ended.code == 0
    assert any("skipped: barrier has no algorithm ring" in line for line in ended.lines)
    assert ended.lines[-1] == "# passed: 3 of 3 cases measured"


@pytest.fixture
def _no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)


@pytest.mark.usefixtures("_no_process")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("allredcue", "did you mean 'allreduce'?"),
        ("allreduce --size 8X", "'8X' is not a size"),
        ("allreduce --size 64:8", "must begin with the smaller size"),
        ("allreduce --size 0", "a size of 0 bytes measures nothing"),
        ("allreduce --size 100T", "MiB are available"),
        ("allreduce --dtype flaot32", "did you mean 'float32'?"),
        ("allreduce --redop summ", "did you mean 'sum'?"),
        ("allreduce --algorithm rign", "did you mean 'ring'?"),
        ("allgather --algorithm recursive_doubling -n 3", "power of two"),
        ("allreduce --backend nope", "unknown backend 'nope'"),
        ("allreduce -n 0", "not in the range"),
        ("allreduce -n 5000", "5000 ranks: ask for 1 to 4096"),
        ("allreduce -n 2 --ranks 2", "-n and --ranks are the same"),
        ("allreduce -n 2 -b 8", "is -n iterations or ranks? Say --loop or --ranks"),
        ("allreduce --size 8 -e 1K", "but not both"),
        ("alltoall --in-place", "alltoall has no in-place form"),
        ("broadcast --root 2 -n 2", "root 2 is not a rank of a world of 2"),
        ("allreduce --group-size 3 -n 4", "does not divide 4 ranks"),
        ("allreduce --peak 40", "is not a bandwidth"),
        ("allreduce --min-busbw 40GB/s", "names no size"),
        ("allreduce --json /nowhere/at/all.json", "cannot write /nowhere/at/all.json"),
        ("allreduce --json - --csv -", "only one format can go to stdout"),
        ("allreduce -n 2 --size 8 --inject kill:rank=2", "rank 2 is not in a world of 2"),
        ("allreduce -n 2 --size 8 --loop 3 --inject kill:at=3", "there is no iteration 3"),
        ("reduce -n 2 --size 8 --inject corrupt", "rank 1 receives nothing"),
        ("allreduce -n 2 --size 8 --inject corrupt:at=rendezvous", "corrupt wants an iteration"),
        ("allreduce -n 2 --size 8 --inject corrupt --no-check", "nobody looks"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_before_any_rank_starts(
    capsys: pytest.CaptureFixture[str], arguments: str, words: str
) -> None:
    assert run(["perf", *arguments.split()]) == 2
    told = capsys.readouterr()
    assert (told.out, words in told.err) == ("", True), told.err


@pytest.mark.parametrize(
    ("flags", "sizes"),
    [
        (["-b", "8"], [8 << power for power in range(23)]),
        (["-e", "64M"], [32 << 20, 64 << 20]),
        (["-e", "1M"], [1 << 20]),
        (["-b", "64M"], [64 << 20]),
        (["-f", "4"], [32 << 20]),
        (["-b", "1M", "-e", "3M", "-i", "1M"], [1 << 20, 2 << 20, 3 << 20]),
    ],
)
def test_the_sweep_of_nccl_tests(monkeypatch: pytest.MonkeyPatch, flags: list[str], sizes: list[int]) -> None:
    """Either end is 32M where it is not given, as there."""
    asked: list[tuple[int, ...]] = []

    def note(options: Any, *_: Any) -> None:
        asked.append(options.sizes)
        raise KeyboardInterrupt

    monkeypatch.setattr("suites.perf.PerfRun", note)
    run(["perf", "allreduce", *flags])
    assert asked == [tuple(sizes)]


def test_rows_appear_while_the_run_goes_on_and_survive_its_end() -> None:
    """The first row is read, and only then is the run ended: it was not over."""
    command = [*COMMAND, "allreduce", "--size", "8:1M", "--loop", "60", "-n", "2", "--cache", "warm"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = next(line for line in process.stdout if ROW.match(line))
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
        assert process.wait(30) == 143
    assert first.split()[0] == "8"
    assert rest.splitlines()[-1].startswith("# terminated: ")
    assert "busbw at" in rest


def on_a_terminal(*arguments: str, **variables: str) -> str:
    """What a run writes to stderr when that is a terminal."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **variables}
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=slave, env=environment) as process:
        os.close(slave)
        said = bytearray()
        try:
            while data := os.read(master, 1 << 16):
                said += data
        except OSError:
            pass  # how the end of a terminal is told
        process.communicate()
    os.close(master)
    assert process.returncode == 0
    return said.decode()


def test_progress_is_shown_on_a_terminal_only() -> None:
    arguments = ("allreduce", "--size", "8:64", *QUICK)
    assert re.search(r"allreduce \d+ B, iteration \d/2|starting ranks", on_a_terminal(*arguments))
    assert on_a_terminal(*arguments, "-q") == ""
    assert perf(*arguments).err == ""


@pytest.mark.parametrize("size", [16 << 20, 64 << 20])
def test_memory_beyond_the_buffers_is_bounded(size: int) -> None:
    """Whatever the size: interpreter, segments under way and all the rest take at most 64 MiB a rank."""
    ended = perf("allreduce", "--size", str(size), "--algorithm", "two_shot,ring", *QUICK, "--json")
    buffers = 2 * size
    for rank in ended.record["world"]["ranks"]:
        assert buffers < rank["peak_memory_bytes"] <= buffers + (64 << 20)


@pytest.mark.skipif((available_bytes(LocalHost()) or 0) < 6 << 30, reason="two ranks of 1 GiB need 6 GiB of memory")
def test_a_gibibyte_is_proven_run_and_verified() -> None:
    """With a ceiling that is told, not measured, which at this size takes as long as the rest."""
    options = (*WARM, "--loop", "1", "--ranks", "2", "--peak", "1000GB/s")
    ended = perf("allreduce", "--size", "1G", "--algorithm", "ring,two_shot", *options, "--json")
    assert ended.code == 0
    for row in ended.record["results"]:
        assert row["bytes_moved"] == 1 << 30
        assert (row["out_of_place"]["nwrong"], row["out_of_place"]["iterations"]) == (0, 1)
        assert row["wire_bytes_per_rank"] == 1 << 30
    for rank in ended.record["world"]["ranks"]:
        assert rank["peak_memory_bytes"] <= (2 << 30) + (64 << 20)


def test_ranks_per_host_are_the_ranks_of_one_host() -> None:
    assert perf("barrier", "--per-host", "2", *WARM, "--json").record["world"]["size"] == 2
    refused = perf("barrier", "--per-host", "2", "--ranks", "3")
    assert refused.code == 2
    assert "--per-host says it too" in refused.err
