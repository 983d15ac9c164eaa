"""The controller's side of a run: starts agents, hands on what ranks report, and ends everything on the first fault.

The first fault wins: it is kept with its time, everybody else is stopped, and what others report afterwards is kept
too, as evidence. Whatever goes wrong, an agent that fails included, is a Fault. Every wait is bounded: a run in which
no rank reports and none uses CPU is a fault of its own.
May import: absence, complaints, deadlines, openings, job, link, ending, frames, protocol, seen, snapshots,
verdict's Fault.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any

from suites.launch import complaints, deadlines
from suites.launch.absence import Absence
from suites.launch.ending import end_all
from suites.launch.frames import ANSWERS, FROM_AGENTS, GREETING, check, check_shape, check_turn
from suites.launch.job import Event, Job, Output, Report
from suites.launch.link import AgentCommand, Link, raise_descriptors
from suites.launch.openings import Openings
from suites.launch.protocol import BrokenFrame, Frame
from suites.launch.seen import Roll, Seen
from suites.launch.snapshots import unpacked
from suites.verdict import Fault, Kind


@dataclass(slots=True)
class Supervisor:
    """One run on the agents of `commands`, one a host. Closing it, as leaving it as a context does, ends every process.

    `greet` starts the agents; then `events` has them start the ranks.
    """

    commands: Sequence[AgentCommand]
    summon: Callable[[int, Frame], None] = lambda node, frame: None
    """Has the ranks of a node, that others have started, dial its agent: told its number and the frame `waiting`."""
    faults: list[Fault] = field(default_factory=list)
    survivors: list[tuple[str, int]] = field(default_factory=list)
    """Host and process id of what could not be ended, or on another host is not known to have."""
    rings: dict[int, bytes] = field(default_factory=dict)
    """What ranks had recorded when they were stopped, and where the job wants it when they ended."""
    _links: list[Link] = field(default_factory=list)
    _openings: Openings = field(default_factory=Openings)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _job: Job | None = None
    _phase: str = "start"
    """Before ranks run."""
    _awaited: str = ""
    """The type of answer that agents owe."""
    _answer_seconds: float = 0.0
    _answer_by: float = 0.0
    """When an answer is too late; whoever says what it is at has more time."""
    _roll: Roll = field(default_factory=Roll)
    _store: str | None = None
    """Where the ranks meet, once somebody serves it."""
    _faulted: float | None = None
    """When the first fault was seen."""
    _stop_at: float | None = None
    _stopped: float | None = None
    _moved: float = 0.0
    _excused: float = 0.0
    """Until when it is known whether anything ran here."""
    _absence: Absence = field(init=False)

    def __post_init__(self) -> None:
        self._absence = Absence(self._beat)

    def open(self) -> None:
        raise_descriptors()
        self._links = [Link(command, self._selector) for command in self.commands]
        self._openings.add(len(self._links))
        self._moved = time.monotonic()
        if self._far:
            self._absence.start()

    def close(self) -> None:
        """End every process of the run; at once when it is interrupted meanwhile."""
        try:
            self._stop()
            for _ in self._serve(lambda: all(link.over for link in self._opened)):
                pass
        finally:
            self._absence.close()
            self.survivors = end_all(self._opened, self._roll, deadlines.STOP_SECONDS)
            self._selector.close()

    def __enter__(self) -> Supervisor:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def hellos(self) -> list[Frame]:
        """What the agents said of themselves and their hosts; of those that are there."""
        return [link.hello for link in self._links if link.hello is not None]

    @property
    def pids(self) -> dict[int, int]:
        """Process ids of the ranks that were started."""
        return self._roll.pids

    @property
    def phases(self) -> dict[int, str]:
        return {rank: seen.phase for rank, seen in self._roll.ranks.items()}

    @property
    def _far(self) -> bool:
        """Whether there are agents of other hosts."""
        return any(command.far for command in self.commands)

    @property
    def _opened(self) -> list[Link]:
        return [link for link in self._links if link.way]

    def greet(self, seconds: float) -> Iterator[Output]:
        """Start the agents and hear the greeting of each, within so many seconds from its start.

        One that fails does not end it, so that all that fail are named at once: see `faults`.
        """
        for event in self._serve(
            lambda: not self._openings and not any(link.connecting for link in self._links), seconds
        ):
            assert isinstance(event, Output)  # no rank was started that could report
            yield event

    def ask(self, phase: str, questions: Sequence[Frame], seconds: float) -> Iterator[Output]:
        """Ask each agent something, and hear its answer: see `answers`, which has none where there is a fault.
        `phase` is what the run is at, for people. `seconds` without a word of any of them are too long."""
        self._phase = phase
        self._awaited = ANSWERS.get(questions[0]["type"], "") if questions else ""
        for link, question in zip(self._links, questions, strict=True):
            link.answer = None
            link.tell(question)
        self._answer_seconds, self._answer_by = seconds, time.monotonic() + seconds
        for event in self._serve(
            lambda: all(link.answer or link.over for link in self._links) or time.monotonic() > self._answer_by
        ):
            assert isinstance(event, Output)  # no rank was started that could report
            yield event
        for link in self._links:
            if link.answer is None and not link.over:
                self._agent_fault(link, f"has not answered within {seconds:g} s")

    @property
    def answers(self) -> list[Frame | None]:
        return [link.answer for link in self._links]

    def events(self, job: Job) -> Iterator[Event]:
        """What ranks report and print, until all have ended. Afterwards `faults` says whether they ended well."""
        self._job = job
        self._roll = Roll({placement.rank: Seen() for placement in job.placements})
        self._moved = time.monotonic()
        for number, link in enumerate(self._links):
            link.ranks = [placement.rank for placement in job.placements if placement.node == number]
            link.tell(job.frame(number))
        yield from self._serve(lambda: all(link.over for link in self._opened))
        for link in self._opened:
            yield from self._said(link, link.last_words())

    def _serve(self, done: Callable[[], bool], greeting: float | None = None) -> Iterator[Event]:
        """Until it is done, or everything was told to stop and is waited for no longer."""
        self._excused = time.monotonic()
        while True:
            if greeting is not None:
                self._open_some()
            # A process that was suspended, or a machine, wakes up to what had been said meanwhile.
            asked = self._excuse(deadlines.BUSY_SECONDS)
            if done() or self._overdue():
                return
            ready = self._selector.select(deadlines.TURN_SECONDS)
            self._excuse(deadlines.TURN_SECONDS + deadlines.ABSENT_SECONDS)
            for key, _ in ready:
                for event in key.data():
                    with self._absence:
                        yield event
                    self._excuse(deadlines.ABSENT_SECONDS)
            self._watch(asked, greeting)

    def _overdue(self) -> bool:
        return self._stopped is not None and time.monotonic() - self._stopped > deadlines.STOP_SECONDS

    def _excuse(self, allowed: float) -> float:
        """Gives the time. Where more than what is allowed has passed since this was done last, the caller was away, or
        nothing ran: what happened meanwhile is still unread, so no deadline may pass because of it."""
        now = time.monotonic()
        seconds, self._excused = now - self._excused, now
        if seconds > allowed:
            self._moved += seconds
            for link in self._links:
                link.heard += seconds
                link.opened += seconds
            self._answer_by += seconds
            self._stop_at = None if self._stop_at is None else self._stop_at + seconds
            self._stopped = None if self._stopped is None else self._stopped + seconds
        return now

    # --- starting agents

    def _open_some(self) -> None:
        """Start agents whose turn it is, as long as not too many are being started."""
        for number in self._openings.due(sum(link.connecting for link in self._links)):
            link = self._links[number]
            try:
                link.open(partial(self._on_frames, link), partial(self._on_words, link))
            except OSError as error:
                link.over = True
                self._agent_fault(link, f"cannot start {link.command.argv[0]}: {error.strerror}")

    def _again(self, link: Link) -> bool:
        """Try once more to reach a host; whether there is a try left."""
        number = self._links.index(link)
        if not self._openings.again(number):
            return False
        link.release(1.0)
        self._links[number] = Link(link.command, self._selector)
        return True

    # --- what agents say

    def _on_words(self, link: Link) -> Iterator[Event]:
        """What the agent prints, which libraries do, and before its greeting what leads to it."""
        yield from self._said(link, link.read_words())

    def _said(self, link: Link, text: str) -> Iterator[Event]:
        if text and (link.hello or not link.command.far):
            yield Output(None, "stderr", text, link.host)

    def _on_frames(self, link: Link) -> Iterator[Event]:
        try:
            for frame in link.read_frames():
                check(frame, FROM_AGENTS)
                check_turn(frame, greeted=link.hello is not None, awaited=self._awaited, ranks=link.ranks)
                yield from self._take(link, frame)
        except (BrokenFrame, AttributeError, KeyError, TypeError, ValueError) as error:
            self._agent_fault(link, f"does not speak the protocol: {error}")
            link.over = True
            link.deafen()
        if link.closed and not link.over:
            yield from self._on_agent_end(link)

    def _take(self, link: Link, frame: Frame) -> Iterator[Event]:
        match frame["type"]:
            case "hello":
                yield from self._on_hello(link, frame)
            case "started":
                self._roll[frame["rank"]].pid = frame["pid"]
                self._go()
            case "serving":
                self._store = frame["store"]
                self._go()
            case "listening" | "knocked" | "looked":
                link.answer = frame
            case "clocked":
                link.answer = {**frame, "heard": time.time_ns()}
            case "asking":
                self._answer_by = time.monotonic() + self._answer_seconds
                yield Output(None, "asking", frame["line"], link.host)
            case "waiting":
                self.summon(self._links.index(link), frame)
            case "helpers":
                link.helpers += frame["pids"]
            case "rank":
                yield from self._on_rank(frame["rank"], frame["content"])
            case "output":
                yield Output(frame["rank"], frame["stream"], frame["text"], link.host)
            case "exit":
                self._on_exit(frame)
            case "alive":
                if self._roll.on_beat(frame, time.monotonic()) and self._job and not self._job.spins:
                    self._moved = time.monotonic()
            case "recorded":
                self.rings[frame["rank"]] = unpacked(frame["data"])
            case "broken":
                found = {"error": frame["error"], "traceback": "".join(frame["traceback"])}
                self._agent_fault(link, f"failed: {frame['message']}", **found)
                link.told_why = True
            case "unheard":
                self._fault(complaints.unheard(link.host, frame["seconds"]))
            case "ended":
                self._on_ended(link)

    def _on_hello(self, link: Link, frame: Frame) -> Iterator[Event]:
        link.hello = frame
        self._moved = time.monotonic()
        if before := link.noise + link.words:
            yield Output(None, "noise", before, link.host)
        if frame["version"] != version("opsdist"):
            self._agent_fault(
                link, f"is of opsdist {frame['version']}, and here is {version('opsdist')}",
                notes=(f"install opsdist {version('opsdist')} on {link.host}, where Python is {frame['python']}",),
            )  # fmt: skip
        else:
            check_shape("hello", frame, GREETING)

    def _on_ended(self, link: Link) -> None:
        """It says that all of its ranks are gone, and goes itself."""
        link.over = True
        link.ended = self._stopped is not None or not (self._job is None or self._roll.any_silent(link.ranks))
        if not link.ended and not link.told_why:
            self._agent_fault(link, "has ended before its ranks")

    def _go(self) -> None:
        """Once all ranks of all hosts are there, they may meet."""
        if self._store is not None and self._roll.all_started:
            for link in self._links:
                link.tell({"type": "go", "store": self._store})

    def _on_agent_end(self, link: Link) -> Iterator[Event]:
        """It has closed its stdout without a word: it is gone, or no agent any more."""
        link.over = True
        if self._stopped is not None or link.told_why:
            return
        code = link.exit_code(1.0)
        yield from self._said(link, link.last_words())
        if link.command.explain:
            words = link.words if link.hello else f"{link.noise}\n{link.words}"
            trouble = link.command.explain(words, code, link.host, greeted=link.hello is not None)
            if not (link.hello is None and trouble.passing and self._again(link)):
                self._fault(trouble.fault(link.host))
            return
        signal_number = -code if code is not None and code < 0 else None
        self._agent_fault(link, "ended without a word", code=None if signal_number else code, signal=signal_number)

    def _agent_fault(self, link: Link, message: str, **found: Any) -> None:
        kind: Kind = "agent" if self.pids else "launch"
        phase = "" if self.pids else self._phase
        pid = link.way.pid if link.way and not link.command.far else None
        message = f"the agent on {link.host or 'this host'} {message}"
        self._fault(Fault(None, kind, phase, message=message, pid=pid, host=link.host, **found))

    def _on_rank(self, rank: int, content: Frame) -> Iterator[Event]:
        seen = self._roll[rank]
        self._moved = time.monotonic()
        match content["type"]:
            case "phase":
                seen.phase = content["phase"]
            case "finished":
                seen.finished = True
            case "failure":
                seen.failed = True
                fault = complaints.of_rank(rank, seen, content, self._host_at())
                # Of ranks that differ, all are to have come to where they do: the majority may be right.
                patient = fault.waiting_for or fault.error == "MismatchError"
                self._fault(fault, deadlines.GRACE_SECONDS if patient else 0.0)
            case _:
                yield Report(rank, content)

    def _host_at(self) -> dict[str, str]:
        """Whose the addresses are by which ranks of other hosts are reached."""
        return dict(zip(self._job.addresses if self._job else (), [link.host for link in self._links], strict=False))

    def _on_exit(self, frame: Frame) -> None:
        seen = self._roll[frame["rank"]]
        seen.ended = True
        if not (seen.finished or seen.failed or frame["stopped"]):
            self._fault(complaints.of_exit(seen, frame))

    # --- deadlines

    def _fault(self, fault: Fault, grace: float = 0.0) -> None:
        self.faults.append(fault)
        now = time.monotonic()
        if self._faulted is None:
            self._faulted = now
        if self._stop_at is None or self._stop_at > now + grace:
            self._stop_at = now + grace

    def _watch(self, now: float, greeting: float | None) -> None:
        """`now` is when it was asked last for what agents have said: whatever they said until then has been read."""
        if self._stopped is not None:
            return
        self._beat()
        if greeting is not None:
            for link in [link for link in self._links if link.connecting and now - link.opened > greeting]:
                link.over = True
                link.kill()
                # It may still hang in something that leads to the agent: its words may tell.
                self._agent_fault(link, complaints.ungreeted(link.words + link.noise, greeting))
        elif self._job and self._stop_at is not None:
            # Reports are waited for only where one may still come.
            if not self._roll.awaited or now >= max(self._stop_at, self._patience()):
                self._blame_silent(now)
                self._stop()
        else:
            self._watch_silence(now)

    def _beat(self) -> None:
        """To those of this host too: a job tells all agents alike how long they may hear nothing."""
        for link in self._links if self._far else ():
            link.beat()

    def _watch_silence(self, now: float) -> None:
        job, living = self._job, [link for link in self._opened if not link.over]
        for link in living:
            patience = job.lifeline if link.command.far and job and job.lifeline else deadlines.AGENT_SECONDS
            if now - link.heard > patience:
                link.over = True
                if link.command.far:
                    self._fault(complaints.unreachable(link.host, now - link.heard))
                else:
                    self._agent_fault(link, f"has said nothing for {deadlines.AGENT_SECONDS:g} s")
        patience = job.timeout + deadlines.SILENCE_SECONDS if job else 0.0
        if job and living and max(link.heard for link in living) - self._moved > patience:
            self._fault(complaints.silence(patience))

    def _patience(self) -> float:
        """Until when reports are waited for after a rank ran into its deadline."""
        if not all(fault.waiting_for for fault in self.faults) or self._faulted is None or self._job is None:
            return 0.0
        return deadlines.of_reports(self._faulted, self._roll.last_busy(), self._job.timeout)

    def _blame_silent(self, now: float) -> None:
        """When ranks ran into deadlines, note the state of those that did not report. Those of a host that nothing is
        heard of could not: that is the host's or the network's, not theirs."""
        if self._job is None or not any(fault.waiting_for or fault.kind == "silence" for fault in self.faults):
            return
        excused: set[int] = set()
        for link in self._opened:
            if link.command.far and not link.over and now - link.heard > deadlines.QUIET_SECONDS:
                link.over = True  # it is not waited for, to stop, any more
                self._fault(complaints.unreachable(link.host, now - link.heard))
                excused.update(link.ranks)
        idle_since = now - self._job.timeout if self._job.spins else None
        self.faults += [fault for fault in self._roll.silent(idle_since) if fault.rank not in excused]

    # --- the end

    def _stop(self) -> None:
        if self._stopped is None:
            self._stopped = time.monotonic()
            self._openings.clear()
            for link in self._links:
                if self._job:
                    # Done before what follows ends the ranks. Whoever interrupts a run may do so because it hangs.
                    link.tell({"type": "record"})
                link.stop()
