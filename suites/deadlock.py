"""The flow of `diagnose deadlock` without a path: place ranks, have them run the exercise, judge, report.

Everything that can be refused is refused before a rank starts; however the run ends, there is a record.
May import: collectives, and this package.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from suites import world
from suites.diagnose.record import finding
from suites.exercise import Group, calls_of, script
from suites.jobs.exercise import buffer_bytes
from suites.lateness import Entered
from suites.launch import crew
from suites.launch.job import Output, Report
from suites.launch.starters import spinning, starter_for
from suites.livejudge import Position, Seen, WrongResult, bare, body_of, undecided, verdict_of
from suites.report import Report as Record
from suites.report import exit_code
from suites.strikes import resolve
from suites.verdict import Fault, judge

_BACKENDS = ("builtin",)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for. `timeout` is the time without progress of any rank, in seconds; injections as `resolve`
    wants them."""

    ranks: int | None = None
    per_host: int | None = None
    layout: str = "all"
    timeout: float = 20.0
    inject: Sequence[Mapping[str, Any]] = ()
    record: bool = False
    """What ranks have recorded is wanted, however it ends."""


@dataclass(frozen=True, slots=True)
class Started:
    """The ranks have met."""

    pids: Mapping[int, int]


class DeadlockRun:
    """One run. Building it refuses what cannot be done; `events` does it; `record` tells, at any time."""

    def __init__(
        self, options: Options, command: Sequence[str], started: datetime, hosts: crew.Crew | None = None
    ) -> None:
        """`hosts` are connected, and by default this one alone. The run closes them."""
        self.options, self._command, self._started = options, list(command), started
        self.crew = hosts or crew.here()
        self._starter = self.crew.starter(starter_for(_BACKENDS))
        asked = world.Asked(options.ranks, options.per_host)
        self.world = world.choose(self.crew.facts, asked, self.crew.slots, True, self._need)
        self.calls = script(self.world.size, options.layout)
        self.strikes = [resolve(wanted, self.calls, options.layout, self.world.host_of) for wanted in options.inject]
        self.seen = Seen(self.calls, self.world.host_of, options.timeout)
        self.tracebacks: list[str] = []
        self._ready: set[int] = set()

    def events(self) -> Generator[Started | Output, None, None]:
        """Launch and run it. Ends early when a rank is lost or nothing moves. Closing it ends every process of the
        run, so a caller that may be interrupted closes it: see contextlib.closing."""
        arguments = {"layout": self.options.layout, "strikes": [asdict(strike) for strike in self.strikes]}
        job = self.crew.job(
            "exercise",
            arguments,
            self.world,
            self.options.timeout,
            self._starter,
            spins=spinning(_BACKENDS),
            record=self.options.record,
        )
        try:
            for event in self.crew.run(job):
                if isinstance(event, Output):
                    yield event
                elif self._on_report(event):
                    yield Started(self.crew.pids)
        finally:
            self.seen.pids = self.crew.pids
            self.crew.close()
            self.seen.rings = self.crew.rings
            self.seen.faults = self.crew.faults
            self.tracebacks = [fault.traceback for fault in self.crew.faults if fault.traceback]

    def groups(self) -> list[Group]:
        """Those whose calls are exercised."""
        return list({call.group.name: call.group for call in self.calls}.values())

    def verdict(self) -> dict[str, Any]:
        return verdict_of(self.seen)

    def record(self, code: int | None = None) -> Record:
        """Of a run that has ended; `code` where something else than the verdict decides how."""
        body = body_of(self.seen)
        at = {position.rank: position for position in self.seen.positions}
        body["stands"] = body["stands"] or self._stands(body["verdict"], at)
        seen = sorted({*at, *self.seen.entered, *self.seen.rings})
        body["sources"]["ranks"] = {"seen": seen, "size": self.world.size}
        return _record(self._command, self._started, body, code)

    def _stands(self, verdict: Mapping[str, Any], at: Mapping[int, Position]) -> list[dict[str, Any]]:
        """By what ranks have said that they do next, culprits first."""
        culprits = [culprit.get("rank") for culprit in verdict["culprits"]]
        return [
            {
                "rank": rank, "host": self.world.host_of[rank], "pid": self.seen.pids.get(rank), "group": place.group,
                "seq": place.seq, "op": place.op, "step": None, "frame": None, "state": _state(verdict, rank),
            }
            for rank, place in sorted(at.items(), key=lambda item: (item[0] not in culprits, item[0]))
        ]  # fmt: skip

    def _on_report(self, event: Report) -> bool:
        """Take note of it; whether with it all ranks have met."""
        rank, content = event.rank, event.content
        match content["type"]:
            case "ready":
                self._ready.add(rank)
                return len(self._ready) == self.world.size
            case "wrong":
                told = {key: value for key, value in content.items() if key != "type"}
                self.seen.wrong.append(WrongResult(rank, **told))
            case "done":
                self.seen.entered[rank] = [Entered(*stamps) for stamps in content["stamps"]]
        return False

    def _need(self, counts: Sequence[int]) -> list[int]:
        """Bytes that the ranks of each host take together at the most."""
        size = sum(counts)
        each = 2 * buffer_bytes(calls_of(script(size, self.options.layout), 0)) + world.RANK_OVERHEAD
        return [count * each for count in counts]


def unlaunched(command: Sequence[str], started: datetime, faults: Sequence[Fault], code: int | None) -> Record:
    """The record of a run whose hosts were not all reached: no rank was started."""
    verdict = judge(faults, ()) if faults else undecided("it was ended before any rank was started")
    return _record(command, started, bare(verdict), code)


def _record(command: Sequence[str], started: datetime, body: dict[str, Any], code: int | None) -> Record:
    found = finding(body)
    code = exit_code([found.status]) if code is None else code
    return Record("diagnose", list(command), started, findings=[found], exit_code=code, body=body)


def _state(verdict: Mapping[str, Any], rank: int) -> str:
    if rank in verdict["waiting"]:
        return "waiting"
    return "culprit" if rank in [culprit.get("rank") for culprit in verdict["culprits"]] else "seen"
