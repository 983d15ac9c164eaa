"""`opsdist explain` as people and scripts run it: in a process of its own, but for the walk through all algorithms."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collectives.algorithms import ALGORITHMS
from opsdist_cli.main import run
from tests.schema import validate

ROWS = [(collective, name) for collective, rows in ALGORITHMS.items() for name in rows]


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opsdist_cli", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)


def record_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert (done.returncode, done.stderr) == (0, "")
    record: dict[str, Any] = json.loads(done.stdout)
    validate(record)
    assert (record["exit_code"], record["status"], record["findings"]) == (0, "pass", [])
    return record


def test_the_plan_of_a_ring() -> None:
    done = explain("allreduce", "--algorithm", "ring", "-n", "5")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "ring: allreduce of 1 MiB on 5 ranks (262144 x float32 a rank)"
    first = lines.index("  step 0   fold   0 -e-> 1   1 -a-> 2   2 -b-> 3   3 -c-> 4   4 -d-> 0")
    assert lines[first + 1 : first + 5] == [
        "  step 1   fold   0 -2d-> 1   1 -2e-> 2   2 -2a-> 3   3 -2b-> 4   4 -2c-> 0",
        "  step 2   fold   0 -3c-> 1   1 -3d-> 2   2 -3e-> 3   3 -3a-> 4   4 -3b-> 0",
        "  step 3   fold   0 -4b-> 1   1 -4c-> 2   2 -4d-> 3   3 -4e-> 4   4 -4a-> 0",
        "  step 4   store  0 -A-> 1   1 -B-> 2   2 -C-> 3   3 -D-> 4   4 -E-> 0",
    ]
    assert "  proof                   proven: simulated with these ranks and elements" in done.stdout
    assert "  steps                   8" in lines
    assert "  sent by a rank          1.6 MiB at most" in lines
    # 8 messages of a fifth of 1 MiB: 8 (2 us + 209716 B / 10 GB/s).
    assert lines[-1] == "explain: predicted time 183.8 us (alpha 2 us a message, 10 GB/s a port; simulated plan)"
    assert all(len(line) < 100 for line in lines)


def test_the_record_of_one_algorithm() -> None:
    record = record_of(
        explain("all-reduce", "--algorithm", "two_shot", "-n", "4", "--size", "64", "--dtype", "fp32", "--json")
    )
    assert (record["collective"], record["algorithm"], record["count"], record["type"]) == (
        "allreduce", "two_shot", 16, "float32",
    )  # fmt: skip
    assert record["network"] == {"alpha": 2.0, "bandwidth": 10.0}
    assert record["prediction"]["steps"] == 1
    assert record["prediction"]["wire_bytes_per_rank"] == 2 * 64 * 3 // 4
    assert record["prediction"]["time"] == pytest.approx(6 * 2 + 96 / 10e9 * 1e6)
    (step,) = record["plan"]["ranks"][1]["steps"]
    assert step["folds"] == [{"into": ["recv", 4, 8], "operands": [0, ["send", 4, 8], 2, 3], "last": True}]
    assert [send["peer"] for send in step["sends"] if send["after"]] == [2, 3, 0]


def test_without_an_algorithm_all_are_compared() -> None:
    record = record_of(explain("reduce-scatter", "-n", "6", "--size", "6K", "--json"))
    assert (record["algorithm"], record["plan"], record["prediction"]) == (None, None, None)
    names = [row["name"] for row in record["algorithms"]]
    assert sorted(names) == sorted(ALGORITHMS["reduce_scatter"])
    times = [row["prediction"]["time"] for row in record["algorithms"] if row["prediction"]]
    assert times == sorted(times)
    assert (names[-1], record["algorithms"][-1]["unmet"]) == ("halving", "needs a power of two ranks, not 6")


def test_the_comparison_names_the_quickest() -> None:
    """A large buffer on many ranks: the least bytes win, in the fewest messages."""
    done = explain("allreduce", "-n", "64", "--size", "1G")
    lines = done.stdout.splitlines()
    assert lines[3].split() == ["algorithm", "steps", "sent", "by", "a", "rank", "predicted", "idea"]
    assert lines[4].split()[:2] == ["halving_doubling", "12"]
    assert lines[-1].startswith("explain: halving_doubling is predicted quickest; ")
    assert all(len(line) < 100 for line in lines)


def test_a_file_takes_the_record_and_stdout_stays_for_people(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    done = explain("barrier", "--algorithm", "linear", "-n", "3", "--json", str(path))
    assert done.stdout.startswith("linear: barrier of 3 ranks")
    record = json.loads(path.read_text())
    validate(record)
    assert (record["size"], record["root"]) == (0, None)


def test_the_network_can_be_said() -> None:
    arguments = ("broadcast", "--algorithm", "linear", "-n", "3", "--size", "1MB", "--json")
    record = record_of(explain(*arguments, "--alpha", "1ms", "--bandwidth", "8Gbps"))
    assert record["network"] == {"alpha": 1000.0, "bandwidth": 1.0}
    assert record["prediction"]["time"] == pytest.approx(2 * (1000 + 1000))


def test_groups_are_of_the_size_asked_for_or_the_most_up_to_8() -> None:
    arguments = ("allreduce", "--algorithm", "hierarchical", "-n", "12", "--size", "12K", "--json")
    assert record_of(explain(*arguments))["group_size"] == 6
    record = record_of(explain(*arguments, "--group-size", "4"))
    assert (record["group_size"], record["prediction"]["steps"]) == (4, 2 + 2 * 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("allreduc", "-n", "3"), "unknown operation 'allreduc': did you mean 'allreduce'?"),
        (("allreduce", "-n", "3", "--algorithm", "rign"), "unknown allreduce algorithm 'rign': did you mean 'ring'?"),
        (("reduce_scatter", "-n", "6", "--algorithm", "halving"), "by halving needs a power of two ranks, not 6"),
        (("allreduce", "-n", "8", "--algorithm", "hierarchical", "--group-size", "3"), "not of 3, 2"),
        (("broadcast", "-n", "4", "--root", "7"), "root 7 is not a rank of a world of 4"),
        (("alltoall", "-n", "4", "--in-place"), "alltoall has no in-place form"),
        (("allreduce",), "Missing option '-n'"),
        (("allreduce", "-n", "2", "--bandwidth", "10"), "'10' is not a bandwidth"),
        (("allreduce", "-n", "2", "--dtype", "flaot"), "unknown dtype 'flaot': did you mean 'float'?"),
    ],
)
def test_what_cannot_be_explained_is_refused(arguments: tuple[str, ...], words: str) -> None:
    done = explain(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


@pytest.mark.parametrize("word", ["allreduce", "all_reduce", "all-reduce", "AllReduce"])
def test_an_operation_may_be_spelt_in_many_ways(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", word, "-n", "2"]) == 0
    assert capsys.readouterr().out.startswith("allreduce of ")


@pytest.mark.parametrize(("collective", "name"), ROWS)
@pytest.mark.parametrize("ranks", [4, 65536])
def test_every_algorithm_at_any_size(
    collective: str, name: str, ranks: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", collective, "--algorithm", name, "-n", str(ranks), "--size", "64M"]) == 0
    out = capsys.readouterr().out
    assert ("step 0" in out) == (ranks == 4)
    assert ("not simulated beyond 64 ranks; proven for world sizes 1-17 by the tests" in out) == (ranks == 65536)
    assert out.splitlines()[-1].endswith("simulated plan)" if ranks == 4 else "closed form)")
    assert all(len(line) < 100 for line in out.splitlines())


def test_65536_ranks_from_the_command_line() -> None:
    record = record_of(explain("allreduce", "-n", "65536", "--size", "1G", "--json"))
    assert len(record["algorithms"]) == len(ALGORITHMS["allreduce"])
    assert {row["prediction"]["how"] for row in record["algorithms"]} == {"closed form"}
