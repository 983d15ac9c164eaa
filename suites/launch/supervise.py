"""The controller's side of a run: starts agents, hands on what ranks report, and ends everything on the first fault.

The first fault wins: it is kept with its time, everybody else is stopped, and what others report afterwards is kept
too, as evidence. Whatever goes wrong, an agent that fails included, is a Fault. Every wait is bounded: a run in which
no rank reports and none uses CPU is a fault of its own.
May import: job, protocol, probes, verdict's Fault.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from probes import process
from probes.host import LocalHost
from suites.launch.job import Job, Output, Report
from suites.launch.protocol import BrokenFrame, Frame, FrameReader, LineReader, pack
from suites.launch.seen import Seen
from suites.verdict import Fault

AGENT_SECONDS = 30.0
"""How long an agent may say nothing; it has a heartbeat of a second once it runs."""
SILENCE_SECONDS = 10.0
"""Beyond the ranks' own deadline, how long no rank may do anything."""
GRACE_SECONDS = 2.0
"""After a rank ran into its deadline, the others' own reports are waited for: who stays silent is suspect."""
STOP_SECONDS = 10.0
_HELPER_SECONDS = 1.0
_BUSY_SECONDS = 0.1
"""CPU between two heartbeats from which on a rank is at work, not waiting."""
_ABSENT_SECONDS = 0.05
"""From here on, time the caller takes for an event is not held against agent and ranks."""


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
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _outbox: bytearray = field(default_factory=bytearray)
    _reader: FrameReader = field(default_factory=FrameReader)
    _lines: LineReader = field(default_factory=LineReader)
    _ranks: dict[int, Seen] = field(default_factory=dict)
    _helpers: list[int] = field(default_factory=list)
    """Processes beside the agent and the ranks."""
    _faulted: float | None = None
    """When the first fault was seen."""
    _stop_at: float | None = None
    _stopped: float | None = None
    _over: bool = False
    """Nothing more comes from the agent."""
    _ended: bool = False
    """It has said so itself."""
    _moved: float = 0.0
    _heard: float = 0.0

    def __enter__(self) -> Supervisor:
        self._ranks = {placement.rank: Seen() for placement in self.job.placements}
        self._moved = self._heard = time.monotonic()
        try:
            agent = subprocess.Popen(
                list(self.argv), env=dict(self.environment), start_new_session=True, bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            self._agent_fault(f"cannot start {self.argv[0]}: {error.strerror}")
            return self
        self._agent = agent
        assert agent.stdin
        assert agent.stdout
        assert agent.stderr
        os.set_blocking(agent.stdin.fileno(), False)
        self._selector.register(agent.stdout, selectors.EVENT_READ, self._on_frames)
        self._selector.register(agent.stderr, selectors.EVENT_READ, self._on_words)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stop()
            for _ in self._events():
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
        """What ranks report and print, until all have ended. Afterwards `faults` says whether they ended well."""
        self._tell(self.job.frame())
        yield from self._events()

    def _events(self) -> Iterator[Report | Output]:
        while self._agent and not self._over and not self._overdue():
            for key, _ in self._selector.select(0.1):
                for event in key.data():
                    given = time.monotonic()
                    yield event
                    self._excuse(time.monotonic() - given)
            self._watch()
        if self._agent and self._over:
            yield from self._last_words()

    def _overdue(self) -> bool:
        """Whether an agent that was told to stop is waited for no longer."""
        return self._stopped is not None and time.monotonic() - self._stopped > STOP_SECONDS

    def _excuse(self, seconds: float) -> None:
        """The caller was away: what happened meanwhile is still unread, so no deadline may pass because of it."""
        if seconds > _ABSENT_SECONDS:
            self._moved += seconds
            self._heard += seconds
            self._stop_at = None if self._stop_at is None else self._stop_at + seconds
            self._stopped = None if self._stopped is None else self._stopped + seconds

    def _on_words(self) -> Iterator[Output]:
        """What the agent prints, which libraries do."""
        assert self._agent
        assert self._agent.stderr
        data = os.read(self._agent.stderr.fileno(), 1 << 16)
        if not data:
            self._selector.unregister(self._agent.stderr)
        if text := self._lines.feed(data):
            yield Output(None, "stderr", text)

    def _on_frames(self) -> Iterator[Report | Output]:
        assert self._agent
        assert self._agent.stdout
        data = os.read(self._agent.stdout.fileno(), 1 << 18)
        if not data:
            self._selector.unregister(self._agent.stdout)
            self._on_agent_end()
            return
        try:
            for frame in self._reader.feed(data):
                self._heard = time.monotonic()
                yield from self._take(frame)
        except (BrokenFrame, AttributeError, KeyError, TypeError, ValueError) as error:
            self._agent_fault(f"does not speak the protocol: {error}")
            self._over = True

    def _take(self, frame: Frame) -> Iterator[Report | Output]:
        match frame["type"]:
            case "hello":
                self._moved = time.monotonic()
            case "started":
                self._ranks[frame["rank"]].pid = frame["pid"]
            case "helpers":
                self._helpers += frame["pids"]
            case "rank":
                yield from self._on_rank(frame["rank"], frame["content"])
            case "output":
                yield Output(frame["rank"], frame["stream"], frame["text"])
            case "exit":
                self._on_exit(frame)
            case "alive":
                self._on_beat(frame)
            case "broken":
                self._agent_fault(f"failed: {frame['message']}", traceback="".join(frame["traceback"]))
            case "ended":
                self._over = self._ended = True

    def _last_words(self) -> Iterator[Output]:
        """What is left in the stderr of an agent that is done."""
        assert self._agent
        while any(key.fileobj is self._agent.stderr for key, _ in self._selector.select(0)):
            yield from self._on_words()
        if text := self._lines.feed(b""):
            yield Output(None, "stderr", text)

    def _on_agent_end(self) -> None:
        """It has closed its stdout without a word: it is gone, or no agent any more."""
        self._over = True
        if self._stopped is not None:
            return
        assert self._agent
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._agent.wait(1.0)
        code = self._agent.returncode
        signal_number = -code if code is not None and code < 0 else None
        self._agent_fault("ended without a word", code=None if signal_number else code, signal=signal_number)

    def _agent_fault(self, message: str, **found: Any) -> None:
        where = f"the agent on {self.host or 'this host'}"
        phase = "" if self.pids else "start"
        pid = self._agent.pid if self._agent else None
        self._fault(Fault(None, "agent", phase, message=f"{where} {message}", pid=pid, **found), 0.0)

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
        now = time.monotonic()
        for rank, state in frame["states"].items():
            self._ranks[int(rank)].state = state
        for rank, used in frame["cpu_seconds"].items():
            seen = self._ranks[int(rank)]
            if used > seen.cpu and not self.job.spins:
                self._moved = now
            if used - seen.cpu >= _BUSY_SECONDS:
                seen.busy = now
            seen.cpu = used

    def _fault(self, fault: Fault, grace: float) -> None:
        self.faults.append(fault)
        now = time.monotonic()
        if self._faulted is None:
            self._faulted = now
        if self._stop_at is None or self._stop_at > now + grace:
            self._stop_at = now + grace

    def _watch(self) -> None:
        """Deadlines."""
        now = time.monotonic()
        if self._stopped is not None:
            return
        if self._stop_at is not None:
            # Reports are waited for only where one may still come.
            awaited = any(seen.silent and not seen.stopped for seen in self._ranks.values())
            if not awaited or now >= max(self._stop_at, self._patience()):
                self._blame_silent()
                self._stop()
        elif now - self._heard > AGENT_SECONDS:
            self._agent_fault(f"has said nothing for {AGENT_SECONDS:g} s")
        elif self.pids and self._heard - self._moved > self.job.timeout + SILENCE_SECONDS:
            patience = self.job.timeout + SILENCE_SECONDS
            self._fault(Fault(None, "silence", "", message=f"nothing happened for {patience:g} s"), 0.0)

    def _patience(self) -> float:
        """Until when reports are waited for after a rank ran into its deadline.

        Those that were at work until shortly before ran into theirs later, and are no culprits. But one that works
        for ever gets no longer than a deadline of its own.
        """
        if not all(fault.waiting_for for fault in self.faults) or self._faulted is None:
            return 0.0
        most = self._faulted + self.job.timeout + GRACE_SECONDS
        late = [seen.busy for seen in self._ranks.values() if seen.silent and not seen.stopped]
        return min(max(late, default=0.0) + self.job.timeout + GRACE_SECONDS, most)

    def _blame_silent(self) -> None:
        """When ranks ran into deadlines, note the state of those that did not report."""
        if not any(fault.waiting_for or fault.kind == "silence" for fault in self.faults):
            return
        idle_since = time.monotonic() - self.job.timeout
        for rank, seen in self._ranks.items():
            if seen.silent:
                idle = self.job.spins and seen.busy < idle_since
                self.faults.append(Fault(rank, "silent", seen.phase, state=seen.state, idle=idle, pid=seen.pid))

    def _stop(self) -> None:
        """Tell the agent, and cut its lifeline: the frame for one that reads, the cut for one that does not."""
        if self._stopped is None and self._agent:
            self._stopped = time.monotonic()
            if not self._outbox:
                self._tell({"type": "stop"})
            assert self._agent.stdin
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._agent.stdin)
            self._agent.stdin.close()

    def _tell(self, frame: Frame) -> None:
        """Never waits: what the agent does not take now is sent when it does."""
        if self._agent:
            self._outbox += pack(frame)
            self._write()

    def _write(self) -> Iterable[Output]:
        assert self._agent
        assert self._agent.stdin
        stdin = self._agent.stdin
        try:
            del self._outbox[: os.write(stdin.fileno(), self._outbox)]
        except BlockingIOError:
            pass
        except OSError:
            self._outbox.clear()  # it is gone, which its silence will tell
        waiting = stdin in self._selector.get_map()
        if self._outbox and not waiting:
            self._selector.register(stdin, selectors.EVENT_WRITE, self._write)
        elif waiting and not self._outbox:
            self._selector.unregister(stdin)
        return ()

    def _kill(self) -> None:
        """The agent's end is the end of its ranks: they are killed with it by the kernel."""
        agent = self._agent
        if agent is None:
            self._selector.close()
            return
        if not self._ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(agent.pid, signal.SIGKILL)
            self._await_helpers()
            for rank, pid in self.pids.items():
                if not self._ranks[rank].ended:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
            for pid in self._helpers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._selector.close()
        for stream in (agent.stdin, agent.stdout, agent.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()
        deadline = time.monotonic() + STOP_SECONDS
        with contextlib.suppress(subprocess.TimeoutExpired):
            agent.wait(STOP_SECONDS)
        self.survivors = self._living()
        while self.survivors and time.monotonic() < deadline:
            time.sleep(0.01)
            self.survivors = self._living()

    def _await_helpers(self) -> None:
        """They end their ranks and clean up after them, once their agent is gone."""
        host, deadline = LocalHost(), time.monotonic() + _HELPER_SECONDS
        while any(_lives(host, pid) for pid in self._helpers) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _living(self) -> list[int]:
        """Processes of this run that are still there."""
        assert self._agent
        pids = [pid for rank, pid in self.pids.items() if not self._ranks[rank].ended]
        if self._agent.returncode is None:
            pids.append(self._agent.pid)
        if not self._ended:
            pids += self._helpers
        host = LocalHost()
        return [pid for pid in pids if _lives(host, pid)]


def _lives(host: LocalHost, pid: int) -> bool:
    return not (process.state(host, pid) or "Z").startswith(("Z", "X"))
