"""Ranks as real processes that know their place from OPSDIST_* variables, as any launcher's would."""

from __future__ import annotations

import contextlib
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.leftovers import RunSpace

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


@dataclass(frozen=True)
class Ended:
    """How one rank ended."""

    code: int
    stdout: str
    stderr: str


def program(name: str) -> list[str]:
    """The command of a rank that runs a function of programs.py."""
    return [sys.executable, "-m", "tests.collectives.programs", name]


def free_port() -> int:
    """One that was free a moment ago; another process may take it, but hardly in this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run_ranks(
    space: RunSpace, command: list[str], size: int, ranks: Iterable[int] | None = None, **variables: str
) -> dict[int, Ended]:
    """Run the command as these ranks (all, unless told) of a world; how each ended."""
    shared = {
        "OPSDIST_WORLD_SIZE": str(size), "OPSDIST_STORE": f"ipc://@opsdist-test-{secrets.token_hex(8)}",
        "OPSDIST_TOKEN": secrets.token_hex(8), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables,
    }  # fmt: skip
    ended = {}
    with contextlib.ExitStack() as stack:
        started = {}
        for rank in range(size) if ranks is None else ranks:
            environment = space.environment(OPSDIST_RANK=str(rank), **shared)
            started[rank] = stack.enter_context(
                subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            )
            stack.callback(started[rank].kill)
        for rank, process in started.items():
            stdout, stderr = process.communicate(timeout=PATIENCE)
            ended[rank] = Ended(process.returncode, stdout, stderr)
    return ended


def assert_well(ended: dict[int, Ended]) -> None:
    """Every rank has left with exit 0."""
    assert all(rank.code == 0 for rank in ended.values()), "\n".join(rank.stderr for rank in ended.values())
