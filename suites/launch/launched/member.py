"""The side of all ranks but 0 in a world that another launcher has started: do as rank 0's process says, end with it.

Such a process forks nothing itself. It starts the parent of its rank (see dial.py) when a run begins, and on each host
the first of them starts the agent; then it sleeps. May import: local, dialin, meeting, protocol.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from collectives.placement import Launched
from suites.errors import LaunchError
from suites.launch import local
from suites.launch.dialin import ADDRESS, DIAL, RANK, TOKEN
from suites.launch.launched.meeting import MEETINGS, Found, Meeting
from suites.launch.launched.proof import wait_at_most
from suites.launch.protocol import BrokenFrame, Frame, FrameReader, pack, read_frame

_TURN_SECONDS = 0.2
_TICKET_SECONDS = 10.0
_SIGNALLED_SECONDS = 3.0
"""A launcher ends all its processes at once, and rank 0 then tells. One that was ended alone waits no longer for it."""
_LEAVE_SECONDS = 4.0
_PIECE = 1 << 16
_PR_SET_PDEATHSIG = 1
_PARENT_GONE = signal.SIGUSR2


@dataclass(frozen=True, slots=True)
class Presence:
    """A process of the launcher, as it tells rank 0 of itself. `node` is the same for those that could share memory."""

    rank: int
    size: int
    launcher: str
    node: str
    host: str
    pid: int
    version: str
    cpus: tuple[int, ...]
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, frame: Frame) -> Presence:
        """Raises TypeError, KeyError, ValueError."""
        told = {name: frame[name] for name in cls.__slots__}
        cpus = tuple(int(cpu) for cpu in told["cpus"])
        return cls(**{**told, "rank": int(told["rank"]), "cpus": cpus, "arguments": tuple(told["arguments"])})


def presence(launched: Launched, environ: Mapping[str, str] = os.environ) -> Presence:
    """This process."""
    place = launched.placement
    return Presence(
        place.rank, place.world_size, MEETINGS[launched.family.name].who, _node(),
        environ.get("SLURMD_NODENAME") or socket.gethostname(), os.getpid(), version("opsdist"),
        tuple(sorted(os.sched_getaffinity(0))), tuple(sys.argv[1:]),
    )  # fmt: skip


def _node() -> str:
    """The kernel, and of it the part in which abstract sockets and process ids mean the same to all."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = socket.gethostname()
    spaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "pid")]
    return " ".join([boot, *spaces])


def start_dial(frame: Frame) -> subprocess.Popen[bytes]:
    """The parent of this process's rank. It ends by itself, at the latest when this process does."""
    variables = {ADDRESS: frame["address"], TOKEN: frame["token"], RANK: str(frame["rank"])}
    # What the launcher has left open for MPI is left so.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", DIAL], env={**local.environment(), **variables}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, close_fds=False,
    )  # fmt: skip


def follow_parent() -> None:
    """When what has started this process is gone, without the launcher's having ended this one, that is as SIGTERM."""
    parent = os.getppid()

    def look(number: int, frame: object) -> None:
        # The kernel says so also when only a thread of the parent has ended.
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(_PARENT_GONE, look)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _PARENT_GONE)


def take_part(launched: Launched, meeting: Meeting, seconds: float) -> int:
    """Until rank 0 says that it is over: the exit code. Raises LaunchError when it is not found, or gone."""
    found = meeting.find(seconds)
    found.connection.sendall(pack({"type": "here", **asdict(presence(launched))}))
    wait_at_most(found.connection, 0.0)
    found.connection.setblocking(False)
    with _Signals() as signals:
        code = _Member(found, signals).serve()
        MEETINGS[launched.family.name].leave(os.environ)
    if code is None:
        place = launched.placement
        raise LaunchError(f"rank {place.rank} of {place.world_size}: rank 0's process is gone without a word")
    return code


class _Signals:
    """Notes SIGINT and SIGTERM, and wakes whoever waits for `descriptor`. It is rank 0 that decides what they mean."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.at = 0.0

    def __enter__(self) -> _Signals:
        self.descriptor, self._wake = os.pipe()
        for descriptor in (self.descriptor, self._wake):
            os.set_blocking(descriptor, False)
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.descriptor)
        os.close(self._wake)

    def _note(self, number: int, frame: object) -> None:
        if self.number is None:
            self.number, self.at = number, time.monotonic()
        with contextlib.suppress(OSError):
            os.write(self._wake, b"!")


class _Member:
    def __init__(self, found: Found, signals: _Signals) -> None:
        self._found, self._signals = found, signals
        self._reader = FrameReader()
        self._children: list[subprocess.Popen[bytes]] = []
        self._code: int | None = None
        self._told = 0.0
        """When it was said that it is over."""

    def serve(self) -> int | None:
        """The exit code; None where rank 0's process has ended without telling one. Raises LaunchError."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._found.connection, selectors.EVENT_READ)
            selector.register(self._signals.descriptor, selectors.EVENT_READ)
            while True:
                # As long as nothing is to be waited for, nothing wakes it: ranks are measured meanwhile.
                pending = self._code is not None or self._signals.number is not None
                for key, _ in selector.select(_TURN_SECONDS if pending else None):
                    if key.fd == self._signals.descriptor:
                        with contextlib.suppress(BlockingIOError):
                            os.read(key.fd, _PIECE)
                    elif not self._hear():
                        return self._leave()
                now = time.monotonic()
                if self._code is not None and now - self._told > _LEAVE_SECONDS:
                    return self._leave()
                if self._signals.number is not None and now - self._signals.at > _SIGNALLED_SECONDS:
                    return 128 + self._signals.number

    def _hear(self) -> bool:
        """Whether rank 0's process is still there."""
        self._children = [child for child in self._children if child.poll() is None]
        try:
            data = self._found.connection.recv(_PIECE)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        for frame in self._reader.feed(data):
            match frame["type"]:
                case "agent":
                    self._children.append(self._start_agent(frame))
                case "dial":
                    self._children.append(start_dial(frame))
                case "over":
                    self._code, self._told = int(frame["code"]), time.monotonic()
        return bool(data)

    def _start_agent(self, frame: Frame) -> subprocess.Popen[bytes]:
        """It speaks over a connection of its own, and may use the CPUs of all ranks of this host."""
        connection = self._found.again()
        wait_at_most(connection, _TICKET_SECONDS)
        try:
            connection.sendall(pack({"type": "agent", "ticket": frame["ticket"]}))
            read_frame(connection.fileno())  # that it is taken: whatever comes now is for the agent
        except (OSError, EOFError, BrokenFrame) as error:
            raise LaunchError(f"rank 0 does not take the connection of an agent: {error}") from None
        wait_at_most(connection, 0.0)

        def spread() -> None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, frame["cpus"])

        with connection:
            return subprocess.Popen(
                local.argv(), env=local.environment(), stdin=connection.fileno(), stdout=connection.fileno(),
                start_new_session=True, preexec_fn=spread,  # noqa: PLW1509 (there are no threads)
            )  # fmt: skip

    def _leave(self) -> int | None:
        """Rank 0's process has ended, and what was started for it does: the agent sees that, and the rank's parent the
        agent."""
        ends = time.monotonic() + _LEAVE_SECONDS
        for child in self._children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(ends - time.monotonic(), 0.0))
        for child in self._children:
            child.kill()
            child.wait()
        return self._code
