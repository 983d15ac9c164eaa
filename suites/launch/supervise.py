"""The controller's side of a run: starts agents, hands on what ranks report, and ends everything on the first fault.

The first fault wins: it is kept with its time, everybody else is stopped, and what others report afterwards is kept
too, as evidence. Every wait is bounded: a run in which no rank reports and none uses CPU is a fault of its own.
May import: protocol, errors, verdict's Fault.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any

from collectives.placement import Placement
from suites.errors import LaunchError
from suites.launch.protocol import BrokenFrame, Frame, FrameReader, pack
from suites.verdict import Fault

HELLO_SECONDS = 30.0
SILENCE_SECONDS = 10.0
"""Beyond the ranks' own deadline, how long nothing at all may happen."""
GRACE_SECONDS = 2.0
"""After a rank ran into its deadline, the others' own reports are waited for: who stays silent is suspect."""
STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Job:
    """What the ranks are to do. `store` is the address to serve the rendezvous on; times are in seconds."""

    name: str
    arguments: Mapping[str, Any]
    placements: Sequence[Placement]
    cpus: Sequence[Sequence[int] | None]
    token: str
    store: str
    timeout: float

    def frame(self) -> Frame:
        return {
            "type": "job",
            "job": self.name,
            "arguments": dict(self.arguments),
            "placements": [asdict(placement) for placement in self.placements],
            "cpus": [list(cpus) if cpus else None for cpus in self.cpus],
            "token": self.token,
            "store": self.store,
            "timeout": self.timeout,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A frame a rank's job sent."""

    rank: int
    content: Frame


@dataclass(frozen=True, slots=True)
class Output:
    """What a rank, or an agent (rank None), printed."""

    rank: int | None
    stream: str
    text: str


@dataclass(slots=True)
class _Seen:
    """What is known of one rank."""

    pid: int | None = None
    phase: str = "start"
    state: str | None = None
    finished: bool = False
    ended: bool = False
    failed: bool = False


@dataclass(slots=True)
class Supervisor:
    """One run on one agent. Use as a context: leaving it ends every process of the run, at once on a second Ctrl-C."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    job: Job
    host: str = ""
    faults: list[Fault] = field(default_factory=list)
    survivors: list[int] = field(default_factory=list)
    """Processes of the run that could not be ended."""
    _agent: subprocess.Popen[bytes] | None = None
    _reader: FrameReader = field(default_factory=FrameReader)
    _ranks: dict[int, _Seen] = field(default_factory=dict)
    _stop_at: float | None = None
    _stopped: float | None = None
    _ended: bool = False
    _moved: float = 0.0
    _cpu: float = 0.0

    def __enter__(self) -> Supervisor:
        self._ranks = {placement.rank: _Seen() for placement in self.job.placements}
        self._moved = time.monotonic()
        try:
            self._agent = subprocess.Popen(
                list(self.argv), env=dict(self.environment), start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise LaunchError(f"cannot start {self.argv[0]}: {error.strerror}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stop()
            deadline = time.monotonic() + STOP_SECONDS
            for _ in self._events(deadline):
                pass
        finally:
            self._kill()

    @property
    def pids(self) -> dict[int, int]:
        """Process ids of the ranks that were started."""
        return {rank: seen.pid for rank, seen in self._ranks.items() if seen.pid is not None}

    @property
    def phases(self) -> dict[int, str]:
        return {rank: seen.phase for rank, seen in self._ranks.items()}

    def events(self) -> Iterator[Report | Output]:
        """What ranks report and print, until all have ended. Afterwards `faults` says whether they ended well.

        Raises LaunchError when the agent itself fails.
        """
        self._tell(self.job.frame())
        yield from self._events(None)
        if not self._ended and not self.faults:
            raise LaunchError(f"the agent on {self.host or 'this host'} ended without a word")

    def _events(self, deadline: float | None) -> Iterator[Report | Output]:
        agent = self._agent
        assert agent is not None
        assert agent.stdout is not None
        assert agent.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(agent.stdout, selectors.EVENT_READ)
            selector.register(agent.stderr, selectors.EVENT_READ)
            while selector.get_map() and not self._ended:
                if deadline is not None and time.monotonic() > deadline:
                    return
                for key, _ in selector.select(0.1):
                    data = os.read(key.fd, 1 << 18)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is agent.stderr:
                        yield Output(None, "stderr", data.decode(errors="replace"))
                    else:
                        yield from self._take(data)
                self._watch()

    def _take(self, data: bytes) -> Iterator[Report | Output]:
        try:
            for frame in self._reader.feed(data):
                match frame["type"]:
                    case "started":
                        self._ranks[frame["rank"]].pid = frame["pid"]
                    case "rank":
                        yield from self._on_rank(frame["rank"], frame["content"])
                    case "output":
                        yield Output(frame["rank"], frame["stream"], frame["text"])
                    case "exit":
                        self._on_exit(frame)
                    case "alive":
                        self._on_beat(frame)
                    case "ended":
                        self._ended = True
        except BrokenFrame as error:
            raise LaunchError(f"the agent on {self.host or 'this host'} does not speak the protocol: {error}") from None

    def _on_rank(self, rank: int, content: Frame) -> Iterator[Report]:
        seen = self._ranks[rank]
        self._moved = time.monotonic()
        match content["type"]:
            case "phase":
                seen.phase = content["phase"]
            case "finished":
                seen.finished = True
            case "failure":
                seen.failed = True
                waiting = tuple(content["waiting_for"])
                self._fault(
                    Fault(
                        rank, "failure", seen.phase, error=content["error"], message=content["message"],
                        notes=tuple(content["notes"]), waiting_for=waiting, peer=content["peer"], pid=seen.pid,
                        traceback="".join(content["traceback"]),
                    ),
                    GRACE_SECONDS if waiting else 0.0,
                )  # fmt: skip
            case _:
                yield Report(rank, content)

    def _on_exit(self, frame: Frame) -> None:
        seen = self._ranks[frame["rank"]]
        seen.ended = True
        if seen.finished or seen.failed or frame["stopped"]:
            return
        fault = Fault(frame["rank"], "exit", seen.phase, code=frame["code"], signal=frame["signal"], pid=seen.pid)
        self._fault(fault, 0.0)

    def _on_beat(self, frame: Frame) -> None:
        for rank, state in frame["states"].items():
            self._ranks[int(rank)].state = state
        if frame["cpu_seconds"] > self._cpu:
            self._cpu, self._moved = frame["cpu_seconds"], time.monotonic()

    def _fault(self, fault: Fault, grace: float) -> None:
        self.faults.append(fault)
        now = time.monotonic()
        if self._stop_at is None or self._stop_at > now + grace:
            self._stop_at = now + grace

    def _watch(self) -> None:
        """Deadlines."""
        now = time.monotonic()
        everybody = all(seen.failed or seen.ended for seen in self._ranks.values())
        if self._stop_at is not None and (now >= self._stop_at or everybody):
            self._blame_silent()
            self._stop()
        patience = self.job.timeout + SILENCE_SECONDS if self.pids else HELLO_SECONDS
        if self._stopped is None and self._stop_at is None and now - self._moved > patience:
            self._fault(Fault(None, "silence", "", message=f"nothing happened for {patience:g} s"), 0.0)

    def _blame_silent(self) -> None:
        """When ranks ran into deadlines, note the state of those that did not report."""
        if self._stopped is not None or not any(fault.waiting_for or fault.kind == "silence" for fault in self.faults):
            return
        for rank, seen in self._ranks.items():
            if not (seen.failed or seen.ended or seen.finished):
                self.faults.append(Fault(rank, "silent", seen.phase, state=seen.state, pid=seen.pid))

    def _stop(self) -> None:
        if self._stopped is None:
            self._stopped = time.monotonic()
            self._tell({"type": "stop"})
            if self._agent and self._agent.stdin:
                with contextlib.suppress(OSError):
                    self._agent.stdin.close()

    def _tell(self, frame: Frame) -> None:
        assert self._agent is not None
        assert self._agent.stdin is not None
        try:
            self._agent.stdin.write(pack(frame))
            self._agent.stdin.flush()
        except (OSError, ValueError):
            pass  # it is gone, which its silence will tell

    def _kill(self) -> None:
        """The agent's end is the end of its ranks: they are killed with it by the kernel."""
        agent = self._agent
        if agent is None:
            return
        if not self._ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(agent.pid, signal.SIGKILL)
            for rank, pid in self.pids.items():
                if not self._ranks[rank].ended:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
        for stream in (agent.stdin, agent.stdout, agent.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            agent.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.survivors.append(agent.pid)
