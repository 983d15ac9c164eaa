"""`--launcher mpirun`: what an MPI's mpiexec is told, and what is refused. Runs are in test_env_on_hosts.py."""

from __future__ import annotations

import shlex

import pytest

from opsdist_cli.mpirun import without
from tests.leftovers import RunSpace
from tests.opsdist_cli.env_launchers import missing, start
from tests.perf_process import OPSDIST

with_mpi = pytest.mark.skipif(missing("mpiexec") is not None, reason=f"{missing('mpiexec')}")


@with_mpi
def test_a_dry_run_shows_the_command_line(space: RunSpace) -> None:
    run = start(space, OPSDIST, "allreduce", "--launcher", "mpirun", "--hosts", "a:2,b:1", "--dry-run")
    assert run.code() == 0, run.stderr
    (line,) = run.stdout.splitlines()
    words = shlex.split(line)
    assert "a:2,b:1" in words
    assert words[words.index("opsdist_cli") + 1 :][:2] == ["perf", "allreduce"]
    assert words[-2:] == ["--launcher", "env"]
    assert words.count("--launcher") == 1


@with_mpi
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--hosts", "a,b"], "how many ranks? Give -n, --per-host, or slots"),
        (["--hosts", "a,b", "-n", "2", "--prologue", "true"], "has no --prologue"),
        (["--hosts", "a,b,c", "-n", "2"], "2 ranks do not reach all of 3 hosts"),
    ],
)
def test_what_cannot_be_is_refused(space: RunSpace, arguments: list[str], words: str) -> None:
    run = start(space, OPSDIST, "allreduce", "--launcher", "mpirun", *arguments)
    assert run.code() == 2
    assert words in run.stderr


def test_without_mpiexec_it_is_refused(space: RunSpace) -> None:
    mpiexec = {"OPSDIST_MPIEXEC": "nowhere/mpiexec"}
    run = start(space, OPSDIST, "allreduce", "--launcher", "mpirun", "-n", "2", variables=mpiexec)
    assert run.code() == 2
    assert "--launcher mpirun: no mpiexec: " in run.stderr


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["perf", "--hosts", "a", "allreduce"], ["perf", "allreduce"]),
        (["perf", "--hosts=a", "--size", "--hosts-like"], ["perf", "--size", "--hosts-like"]),
        (["perf", "--launcher"], ["perf"]),
    ],
)
def test_what_mpiexec_was_told_is_not_told_again(given: list[str], kept: list[str]) -> None:
    assert without(given, ("--hosts", "--launcher")) == kept
