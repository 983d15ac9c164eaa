"""`opsdist diagnose deadlock` with real ranks: healthy, with faults, ended from outside; a slice of the soak."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from collectives import native
from opsdist_cli import main
from opsdist_cli.livediagnosis import OWN
from suites.launch.supervise import Supervisor
from tests.leftovers import run_space, until
from tests.schema import validate
from tests.soak.injected import OPSDIST, PATIENCE, Injection, diagnose, faults_of, inject

TIMEOUT = 3.0
NAMED = [
    Injection("missing", 4, "grid", 2),
    Injection("exit0", 2, "world", 1, "first"),
    Injection("sleep", 4, "halves", 3, "last"),
    Injection("raise", 4, "grid", 0),
    Injection("kill", 3, "halves", 1),
    Injection("stop inside", 4, "world", 2),
    Injection("corrupt", 4, "halves", 2),
    Injection("slow", 4, "grid", 3, "first"),
]
WITH_RINGS = [
    Injection("stop", 4, "grid", 1),
    Injection("mismatch-op", 4, "world", 3),
    Injection("mismatch-size", 4, "grid", 1),
    Injection("mismatch-dtype", 4, "halves", 0),
    Injection("mismatch-root", 4, "world", 2),
    Injection("reorder", 4, "halves", 2),
    Injection("reorder over two", 4, "grid", 1),
    Injection("cycle", 4, "grid", 1),
]
"""What only the ranks' flight recorders tell."""


def _answer(injection: Injection, folder: Path) -> list[str]:
    with run_space(folder) as space:
        outcome = inject(space, injection, TIMEOUT)
    validate(outcome.record)
    assert outcome.code == 1
    return faults_of(injection, outcome)


@pytest.mark.parametrize("injection", NAMED, ids=str)
def test_class_culprit_and_collective_are_those_of_the_fault(injection: Injection, tmp_path: Path) -> None:
    assert _answer(injection, tmp_path) == []


@pytest.mark.parametrize("injection", WITH_RINGS, ids=str)
def test_where_ranks_stand_tells_more(injection: Injection, tmp_path: Path) -> None:
    if injection.name == "reorder over two" and native.core() is None:
        pytest.skip("without the native core messages do not wait for their receivers, and nobody hangs")
    assert _answer(injection, tmp_path) == []


@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
def test_nothing_is_wrong_with_healthy_ranks(ranks: int, tmp_path: Path) -> None:
    with run_space(tmp_path) as space:
        outcome = diagnose(space, "run", "-n", str(ranks), "--timeout", f"{TIMEOUT}s")
    validate(outcome.record)
    assert (outcome.code, outcome.verdict["class"], outcome.culprits) == (0, "none", [])


def test_it_says_first_what_it_does_not_do(tmp_path: Path) -> None:
    with run_space(tmp_path) as space:
        (space.folder / "dump_0").write_text("x")
        found = {"TORCH_FR_DUMP_TEMP_FILE": str(space.folder / "dump_")}
        done = subprocess.run(
            [*OPSDIST, "-n", "2"], check=True, env=space.environment(**found), capture_output=True, text=True,
            timeout=PATIENCE,
        )  # fmt: skip
    lines = done.stdout.splitlines()
    assert OWN in lines[0]
    assert any("dump_*" in line and "opsdist diagnose deadlock" in line for line in lines[1:4])


def test_ended_from_outside_it_has_no_verdict_and_leaves_nothing(tmp_path: Path) -> None:
    with run_space(tmp_path) as space:
        path, words = space.folder / "run.json", space.folder / "words"
        with words.open("w") as stderr:
            command = [*OPSDIST, "-n", "2", "-v", "--inject", "sleep", "--json", str(path)]
            process = subprocess.Popen(command, env=space.environment(), stdout=subprocess.DEVNULL, stderr=stderr)
        until(lambda: "ranks started" in words.read_text(), PATIENCE, "the start of the ranks")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143
        assert '"class": "undecided"' in path.read_text()
        (kept,) = (space.folder / "state" / "opsdist").iterdir()
        assert f"opsdist diagnose deadlock {kept}" in words.read_text()
        assert {found.name for found in kept.iterdir()} == {"rank-0.ring", "rank-1.ring", "run.json"}


@pytest.mark.parametrize("injected", ["link-down", "kill:rank=7", "kill:group=row9", "kill:at=99", "kil"])
def test_a_fault_that_would_never_strike_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], injected: str
) -> None:
    monkeypatch.setattr(Supervisor, "__enter__", None)  # no rank may be started
    assert main.run(["diagnose", "deadlock", "-n", "2", "--inject", injected]) == 2
    told = capsys.readouterr()
    assert "--inject" in told.err
    assert told.out == ""
