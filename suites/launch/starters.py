"""STARTERS: how an agent gets its ranks, as name -> "module:class" of a Starter, and what agent and starter share.

May import: the standard library, protocol.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

from suites.launch.protocol import Frame, FrameReader, LineReader

STARTERS: dict[str, str] = {
    "fork": "suites.launch.fork:ForkStarter",
    "mpiexec": "suites.launch.mpiexec:MpiexecStarter",
    "env": "suites.launch.env:EnvStarter",
}
_WANTS = {"mpi": "mpiexec"}
"""backend -> starter, where it is not fork."""
_SPINS = ("mpi",)
"""Backends whose waiting ranks use CPU all the same."""


@dataclass(slots=True)
class Stream:
    """One stream that a rank prints to."""

    name: str
    lines: LineReader = field(default_factory=LineReader)


@dataclass(slots=True)
class Member:
    """The agent's side of one rank. `pid` leads a process group of its own."""

    rank: int
    pid: int
    socket: socket.socket
    outputs: dict[int, Stream]
    """By read end, those that are still open."""
    ring: int | None = None
    """Leads to what it records, where it does and lets the agent see it. Open until the agent ends."""
    reader: FrameReader = field(default_factory=FrameReader)
    alive: bool = True
    finished: bool = False
    """It has said that its job is done."""
    left: float | None = None
    """When it closed its end: it is gone, or about to be."""


class Host(Protocol):
    """What an agent does for its starter. `private` are descriptors that no rank may keep."""

    selector: selectors.BaseSelector
    """What is registered here has a function of the descriptor as its data."""

    def private(self) -> list[int]: ...

    def on_started(self, members: Sequence[Member]) -> None:
        """All ranks are there, each waiting for `go`."""

    def on_ended(self, member: Member, code: int) -> None:
        """Below 0 it is the number of a signal."""

    def on_helpers(self, pids: Sequence[int]) -> None:
        """Processes that there are beside agent and ranks."""

    def on_words(self, text: str) -> None:
        """What these processes print."""

    def on_waiting(self, address: str, token: str) -> None:
        """Ranks that are there already are to dial here."""


class Starter(Protocol):
    """Starts the ranks of one job and learns of their ends. It lives in the agent's loop, so it never waits long.

    What it raises ends the agent, and with it the job.
    """

    def __init__(self, host: Host) -> None: ...

    def start(self, job: Frame) -> None:
        """Begin; `on_started` follows, at once or later."""

    def turn(self) -> None:
        """Called every now and then: deadlines."""

    def reaped(self, pid: int, code: int) -> None:
        """A child of the agent has ended."""

    def terminate(self, member: Member) -> None:
        """Ask a rank to end."""

    def leave(self) -> bool:
        """All ranks have ended: whether everything else that was started has ended too."""

    def kill(self) -> None:
        """End at once what was started, ranks apart."""


def starter_named(name: str) -> type[Starter]:
    """Raises KeyError."""
    module, attribute = STARTERS[name].split(":")
    starter: type[Starter] = getattr(import_module(module), attribute)
    return starter


def starter_for(backends: Iterable[str]) -> str:
    """What ranks must be started by, to use these backends in one process."""
    return next((_WANTS[name] for name in backends if name in _WANTS), "fork")


def spinning(backends: Iterable[str]) -> bool:
    """Whether the CPU that a rank uses may be that of its waiting."""
    return any(name in _SPINS for name in backends)


def signal_group(pid: int, *numbers: signal.Signals) -> None:
    """To a rank's own process group."""
    with contextlib.suppress(ProcessLookupError):
        for number in numbers:
            os.killpg(pid, number)
