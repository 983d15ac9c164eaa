"""Running a tool of a host: with a deadline, in a session of its own, and whatever it writes.

May import: the standard library.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

_DEATH_SECONDS = 1.0
_REST_SECONDS = 1.0
"""How long what a tool has written may be on its way after its end."""
_MOST = 16 << 20
"""Bytes of one stream that are kept: no tool says as much, and one that runs wild must not fill the memory."""
MAY_NOT, _CANNOT = 126, 127
"""The exit codes of shells for a program that may not be run, and for one that cannot be."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said. `exit_code` is None when it had not ended by the deadline and was killed, and negative when
    a signal ended it. `cut`: it said more than is kept."""

    exit_code: int | None
    stdout: str
    stderr: str
    cut: bool = False


def run(argv: Sequence[str], timeout: float) -> Answer | None:
    """None when there is no such program. One that is there and cannot be started answers as a shell does of it."""
    program = shutil.which(argv[0])  # found out without a fork, since most tools are on few hosts
    if program is None:
        there = shutil.which(argv[0], os.F_OK)
        return None if there is None else Answer(_unrunnable(there), "", f"{there}: permission denied to run it")
    try:
        process = subprocess.Popen(
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Answer(_CANNOT, "", f"{program}: it cannot be started: {getattr(error, 'strerror', None) or error}")
    ends = time.monotonic() + timeout
    said = _Said(process)
    try:
        said.listen(ends)
        code = _code(process, ends)
    except BaseException:
        _kill(process)
        raise
    if code is None:
        _kill(process)
        said.listen(time.monotonic() + _DEATH_SECONDS)
    return said.answer(code)


def _unrunnable(program: str) -> int:
    """One that nobody may execute is no program; another user may execute the others."""
    try:
        return MAY_NOT if os.stat(program).st_mode & 0o111 else _CANNOT
    except OSError:
        return MAY_NOT


class _Said:
    """What a process writes, on both streams. Closed by `answer`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        assert process.stderr
        self._process = process
        self._streams = (process.stdout, process.stderr)
        self._kept = {stream.fileno(): bytearray() for stream in self._streams}
        self._open = set(self._kept)
        self._cut = False

    def listen(self, ends: float) -> None:
        """Until both streams have ended, or the time has, or the process and what it wrote. What a tool leaves running
        may hold its streams open for ever."""
        with selectors.DefaultSelector() as waiting:
            for stream in self._open:
                waiting.register(stream, selectors.EVENT_READ)
            death = _death(self._process)
            if death is not None:
                waiting.register(death, selectors.EVENT_READ)
            try:
                while self._open and (left := ends - time.monotonic()) > 0:
                    for key, _ in waiting.select(left):
                        if key.fd == death:
                            waiting.unregister(death)
                            ends = min(ends, time.monotonic() + _REST_SECONDS)
                        elif not self._take(key.fd):
                            waiting.unregister(key.fd)
            finally:
                if death is not None:
                    os.close(death)

    def _take(self, stream: int) -> bool:
        """Whether there may be more."""
        chunk = os.read(stream, 1 << 16)
        kept = self._kept[stream]
        room = _MOST - len(kept)
        kept += chunk[:room]
        self._cut |= len(chunk) > room
        if not chunk:
            self._open.discard(stream)
        return bool(chunk)

    def answer(self, code: int | None) -> Answer:
        for stream in self._streams:
            stream.close()
        stdout, stderr = (kept.decode("utf-8", "replace") for kept in self._kept.values())
        return Answer(code, stdout, stderr, self._cut)


def _death(process: subprocess.Popen[bytes]) -> int | None:
    """What becomes readable when the process ends; None where the kernel has no such thing."""
    try:
        return os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return None


def _code(process: subprocess.Popen[bytes], ends: float) -> int | None:
    try:
        return process.wait(max(0.0, ends - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The whole session, so that nothing of it goes on. One that waits in its driver does not die of it, so that is
    not waited for."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_DEATH_SECONDS)
