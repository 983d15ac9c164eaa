"""What leads to an agent: a process of this host with its pipes, or a connection that is there already.

May import: the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, Protocol


class Way(Protocol):
    """Frames are read from `source` and written to `sink`, which never blocks; people's words come from `words`."""

    source: int
    words: int | None
    sink: int | None
    """None once it was hung up."""

    @property
    def pid(self) -> int | None:
        """Of the process here, where there is one."""

    def hang_up(self) -> None:
        """Cut the agent's lifeline: say nothing more, and hear on."""

    def exit_code(self, seconds: float) -> int | None:
        """Of the process here, as subprocess tells it; None where it has not ended by then, or there is none."""

    def kill(self) -> None:
        """End what is here of it, which for a host that is this one is the agent itself."""

    def close(self) -> None:
        """Let go of it."""


class ProcessWay:
    """A process: the agent itself, or ssh or srun."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it. Raises OSError."""
        self._process = subprocess.Popen(
            argv, env=dict(environment), start_new_session=True, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.source = _descriptor(self._process.stdout)
        self.words: int | None = _descriptor(self._process.stderr)
        self.sink: int | None = _descriptor(self._process.stdin)
        os.set_blocking(self.sink, False)

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def hang_up(self) -> None:
        if self._process.stdin:
            self.sink = None
            self._process.stdin.close()

    def exit_code(self, seconds: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        self.sink = None
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


class SocketWay:
    """A connection to an agent that somebody else has started."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        connection.setblocking(False)
        self.source = connection.fileno()
        self.words: int | None = None
        # A selector takes each descriptor once, and this one both ways.
        self.sink: int | None = os.dup(self.source)

    @property
    def pid(self) -> int | None:
        return None

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._close_sink()

    def exit_code(self, seconds: float) -> int | None:
        return None

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._close_sink()
        self._socket.close()

    def _close_sink(self) -> None:
        if self.sink is not None:
            os.close(self.sink)
            self.sink = None


def _descriptor(stream: IO[bytes] | None) -> int:
    assert stream
    return stream.fileno()
