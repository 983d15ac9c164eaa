"""Boards: where a launcher lets its processes post a text for the others, by the ways each launcher has.

What needs a library runs in a process of its own, so that this one stays free of threads and of MPI.
May import: the standard library, errors; modules of collectives by name, in processes.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from suites.errors import LaunchError

_CHILD_SECONDS = 30.0
"""Beyond the wait itself: a library is imported in it."""
_LEAVE_SECONDS = 2.0
_KEY = "opsdist"


class Board(Protocol):
    """`post` is for rank 0, `read` for all others. Both raise LaunchError, if need be after so many seconds."""

    @property
    def where(self) -> str: ...

    def post(self, text: str, seconds: float) -> None: ...

    def read(self, seconds: float) -> str: ...


@dataclass(frozen=True, slots=True)
class TorchStore:
    """The store that torchrun itself keeps for its workers."""

    address: str
    port: int
    key: str

    @property
    def where(self) -> str:
        return f"torchrun's store at {self.address}:{self.port}"

    def post(self, text: str, seconds: float) -> None:
        _child(["collectives.backends.torch.agentstore", "post", *self._words], text, seconds + _CHILD_SECONDS)

    def read(self, seconds: float) -> str:
        words = ["collectives.backends.torch.agentstore", "read", *self._words, f"{seconds:.1f}"]
        return _child(words, "", seconds + _CHILD_SECONDS)

    @property
    def _words(self) -> list[str]:
        return [self.address, str(self.port), self.key]


@dataclass(frozen=True, slots=True)
class OpenMpi:
    """A broadcast by MPI itself: Open MPI's launcher tells its processes nothing that would be simpler."""

    @property
    def where(self) -> str:
        return "a broadcast of Open MPI"

    def post(self, text: str, seconds: float) -> None:
        self._broadcast(text, seconds + _CHILD_SECONDS)

    def read(self, seconds: float) -> str:
        return self._broadcast("", seconds + _CHILD_SECONDS)

    @staticmethod
    def _broadcast(text: str, seconds: float) -> str:
        return _child(["collectives.backends.mpi.broadcast"], text, seconds, MPI4PY_MPIABI="openmpi")


@dataclass(frozen=True, slots=True)
class Pmi:
    """The key-value space of PMI-1, that mpiexec keeps: lines over a descriptor that it has left us.

    MPI itself may be initialised over it before or afterwards.
    """

    descriptor: int

    @property
    def where(self) -> str:
        return "mpiexec's key-value space"

    def post(self, text: str, seconds: float) -> None:
        self._exchange(text, seconds)

    def read(self, seconds: float) -> str:
        return self._exchange("", seconds)

    def _exchange(self, text: str, seconds: float) -> str:
        """Rank 0 puts it, all wait for each other, and get it. A value may have neither blanks nor equals signs."""
        with self._asking(seconds) as ask:
            try:
                space = ask("cmd=get_my_kvsname")["kvsname"]
                if text:
                    ask(f"cmd=put kvsname={space} key={_KEY} value={text.encode().hex()}")
                ask("cmd=barrier_in")
                value = ask(f"cmd=get kvsname={space} key={_KEY}")["value"]
            except (OSError, KeyError) as error:
                why = f"not all ranks came to mpiexec's key-value space within {seconds:g} s ({error!r})"
                raise LaunchError(why) from None
        return bytes.fromhex(value).decode()

    def withdraw(self) -> None:
        """Say that this rank leaves as it should: a rank's MPI that was killed has not, and some libraries never do. A
        mpiexec that has seen it begin would end all others for it."""
        with contextlib.suppress(OSError, LaunchError), self._asking(_LEAVE_SECONDS) as ask:
            ask("cmd=finalize")

    @contextlib.contextmanager
    def _asking(self, seconds: float) -> Iterator[Callable[[str], dict[str, str]]]:
        """Gives what asks a line and has its answer. Raises OSError, LaunchError."""
        with socket.socket(fileno=os.dup(self.descriptor)) as connection:
            connection.settimeout(seconds)
            with connection.makefile("rw", newline="\n") as lines:

                def ask(words: str) -> dict[str, str]:
                    lines.write(f"{words}\n")
                    lines.flush()
                    answer = lines.readline()
                    if not answer:
                        raise LaunchError("mpiexec has closed its key-value space")
                    return {name: value for name, _, value in (pair.partition("=") for pair in answer.split())}

                ask("cmd=init pmi_version=1 pmi_subversion=1")
                yield ask
            connection.setblocking(True)


def node_address(name: str) -> str:
    """By which Slurm itself reaches a node. Raises LaunchError."""
    told = _run(["scontrol", "--oneliner", "show", "node", name], "", _CHILD_SECONDS, {})
    found = re.search(r"NodeAddr=(\S+)", told)
    if not found:
        raise LaunchError(f"neither the resolver nor Slurm knows an address of {name}")
    return found[1]


def _child(words: list[str], text: str, seconds: float, **variables: str) -> str:
    return _run([sys.executable, "-P", "-m", *words], text, seconds, variables)


def _run(argv: list[str], text: str, seconds: float, variables: dict[str, str]) -> str:
    """What it prints. Raises LaunchError."""
    name = argv[0] if argv[0] != sys.executable else argv[3]
    try:
        done = subprocess.run(
            argv, input=text, capture_output=True, text=True, timeout=seconds, check=False,
            env={**os.environ, **variables},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{name}: {error}") from None
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise LaunchError(f"{name}: exit {done.returncode}: {last}")
    return done.stdout.strip()
