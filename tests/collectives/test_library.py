"""Collectives as a library: the program of the package's docstring, run as it stands there."""

from __future__ import annotations

import inspect
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import collectives
from collectives.errors import CollectiveError
from collectives.ringreader import Ring, read
from tests.collectives.processes import PATIENCE, ROOT, assert_well, free_port, run_ranks
from tests.leftovers import RunSpace


def five_lines() -> str:
    """The indented program of the docstring."""
    text = inspect.getdoc(collectives) or ""
    lines = [line for line in text.splitlines() if not line or line.startswith("    ")]
    return textwrap.dedent("\n".join(lines)).strip()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_program_of_the_docstring(space: RunSpace, size: int) -> None:
    ended = run_ranks(space, [sys.executable, "-c", five_lines()], size)
    assert_well(ended)
    total = size * (size + 1) / 2
    assert {rank: each.stdout.split() for rank, each in ended.items()} == {
        rank: [str(rank), str(total)] for rank in range(size)
    }


def test_without_a_launcher_it_is_a_world_of_one(space: RunSpace) -> None:
    alone = subprocess.run(
        [sys.executable, "-c", five_lines()], env=space.environment(PYTHONPATH=str(ROOT)), capture_output=True,
        text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert alone.stdout.split() == ["0", "1.0"]


def test_tcp_works_as_well(space: RunSpace) -> None:
    store = f"tcp://127.0.0.1:{free_port()}"
    assert_well(run_ranks(space, [sys.executable, "-c", five_lines()], 2, OPSDIST_STORE=store))


@pytest.mark.parametrize(("missing", "timeout"), [(0, 1.5), (1, 6.0), (2, 6.0)])
def test_a_rank_that_does_not_come_is_named_by_all(space: RunSpace, missing: int, timeout: float) -> None:
    """Those that come do so within the deadline, or the store is gone again with rank 0."""
    program = five_lines().replace("open()", f"open(timeout={timeout})")
    present = [rank for rank in range(3) if rank != missing]
    ended = run_ranks(space, [sys.executable, "-c", program], 3, present)
    for each in ended.values():
        assert each.code == 1
        assert "RendezvousError" in each.stderr
        # Without rank 0 there is no store that could tell who is missing.
        assert (f": rank {missing}\n" if missing else "did not answer") in each.stderr


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"OPSDIST_RANK": "0"}, "OPSDIST_WORLD_SIZE"),
        ({"OPSDIST_RANK": "2", "OPSDIST_WORLD_SIZE": "2"}, "not a rank"),
        ({"OPSDIST_RANK": "0", "OPSDIST_WORLD_SIZE": "2"}, "OPSDIST_STORE is not set"),
        ({"OPSDIST_RANK": "0", "OPSDIST_WORLD_SIZE": "2", "OPSDIST_STORE": "nonsense"}, "cannot listen on nonsense"),
        ({"OPSDIST_RANK": "1", "OPSDIST_WORLD_SIZE": "2", "OPSDIST_STORE": "nonsense"}, "cannot connect to nonsense"),
    ],
)
def test_a_wrong_environment_is_refused(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CollectiveError, match=words):
        collectives.open(timeout=0.2)


def test_the_readme_shows_the_same_program() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert shown.split() == five_lines().split()


def recorded(folder: Path) -> dict[int, Ring]:
    return {found.rank: found for found in (read(path.read_bytes()) for path in folder.glob("rank-*.ring"))}


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_what_ranks_have_called_is_in_files_when_one_was_killed(space: RunSpace, by: str) -> None:
    folder = space.folder / "rings"
    program = f"""
import os, signal, numpy, collectives
with collectives.open(timeout=1.0{f", record={str(folder)!r}" if by == "argument" else ""}) as comm:
    comm.barrier()
    if comm.rank == 1:
        comm.group([1]).barrier()
        os.kill(os.getpid(), signal.SIGKILL)
    comm.allreduce(numpy.ones(3))
"""
    variables = {"OPSDIST_RECORD": str(folder)} if by == "variable" else {}
    ended = run_ranks(space, [sys.executable, "-c", program], 2, **variables)
    assert (ended[0].code, ended[1].code) == (1, -signal.SIGKILL)
    rings = recorded(folder)
    assert [(entry.collective, entry.outcome) for entry in rings[0].entries] == [
        ("barrier", "done"), ("allreduce", "lost" if "PeerLost" in ended[0].stderr else "timed out"),
    ]  # fmt: skip
    assert [len(entry.group.ranks) for entry in rings[1].entries if entry.group] == [2, 1]
    assert rings[0].entries[1].frame is not None
    assert (rings[0].entries[1].frame.file, rings[0].entries[1].frame.line) == ("<string>", 8)


def test_a_folder_that_nothing_can_be_recorded_in_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CollectiveError, match="cannot record to"):
        collectives.open(record=str(tmp_path / "file"))
