"""The flow of `perf`: resolve and prove what is asked, launch, gather, judge, report.

Everything that can be refused is refused before a rank starts. Results are handed on as they arrive, and what has
arrived is in the report, however the run ends. May import: collectives, and this package.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from suites import backing, compare, linkrate, need, world
from suites.case import Case
from suites.diagnose.live import judged
from suites.errors import UsageError
from suites.expect import judge_floors, judge_plausibility
from suites.launch import crew, reach
from suites.launch.job import Output, Report
from suites.launch.starters import spinning, starter_for
from suites.measure import Floor, floor, measure
from suites.perfrecord import judge_data, link_record, lost, options_record, row_record
from suites.report import Finding, Status, exit_code, now
from suites.report import Report as Record
from suites.sweep import Options, Row, Sweep, plan, prove


@dataclass(frozen=True, slots=True)
class Started:
    """The ranks have met."""

    pids: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the run is: how far in which case, and how many cases are behind it, which may be a fraction."""

    case: Case
    done: int
    of: int
    behind: float


Event = Row | Started | Progress | Output


class PerfRun:
    """One run. Building it refuses what cannot be done; `events` does it; `record` tells, at any time."""

    def __init__(
        self, options: Options, command: Sequence[str], started: datetime, hosts: crew.Crew | None = None
    ) -> None:
        """`hosts` are connected, and by default this one alone. The run closes them."""
        self.options, self._command, self._started = options, list(command), started
        self.crew = hosts or crew.here()
        self.facts = self.crew.facts
        self._backends = backing.ready(options.backends)
        self.backends = tuple(backend.name for backend in self._backends)
        self._starter = self.crew.starter(starter_for(self.backends))
        asked = world.Asked(options.ranks, options.per_host)
        self.world = world.choose(self.facts, asked, self.crew.slots, options.bind == "core", self._need)
        self.beyond = self._beyond(self.world.counts)
        self._sweep = self._plan(self.world.counts)
        self.rows, self.cases = self._sweep.rows, self._sweep.cases
        if not self.cases:
            reasons = sorted({f"{row.collective} {row.algorithm}: {row.skipped}" for row in self.rows})
            raise UsageError("nothing can be measured: " + "; ".join(reasons))
        for injection in options.inject:
            self._refuse_idle(injection)
        prove(self.rows, self.cases, self.world.counts)
        self._blocks: dict[tuple[str, int], list[Row]] = {}
        """The rows of one collective and size, which are compared."""
        for row in self.rows:
            self._blocks.setdefault((row.collective, row.size), []).append(row)
        self._row_of = {index: row for row in self.rows for index in row.cases.values()}
        self._floors: dict[str, Floor] = {}
        """By backend, once the ranks have met."""
        self.libraries: dict[str, str] = {}
        self._transports: dict[int, list[str]] = {}
        self._behind: dict[int, float] = {}
        """What part is done of each case that is under way."""
        self._over = 0
        """Cases that are done."""
        self.pids: dict[int, int] = {}
        self.peaks: dict[int, int] = {}
        """The most memory that each rank ever had resident, in bytes, where it came to its end."""
        self.verdict: dict[str, Any] | None = None
        self.findings: list[Finding] = []
        self._shown = 0
        """Rows handed on so far, in order."""
        self.tracebacks: list[str] = []

    def events(self) -> Generator[Event, None, None]:
        """Launch and measure. Ends early, with a verdict, when a rank is lost. Closing it ends every process of the
        run, so a caller that may be interrupted closes it: see contextlib.closing."""
        job = self.crew.job(
            "perf", self._arguments(), self.world, self.options.timeout,
            self._starter, spins=spinning(self.backends), record=self.options.record,
        )  # fmt: skip
        reports: dict[int, dict[int, dict[str, Any]]] = {}
        ready: dict[str, dict[int, dict[str, Any]]] = {backend: {} for backend in self._running}
        try:
            for event in self.crew.run(job):
                if isinstance(event, Output):
                    yield event
                    continue
                yield from self._on_report(event, ready, reports)
            if not self.crew.faults:
                yield from self._complete_rows()
        finally:
            self.pids = self.crew.pids
            self.crew.close()
        if faults := self.crew.faults:
            self.verdict = judged(faults, self.crew.rings, self.world.host_of)["verdict"]
            self.tracebacks = [fault.traceback for fault in faults if fault.traceback]

    def _on_report(
        self,
        event: Report,
        ready: dict[str, dict[int, dict[str, Any]]],
        reports: dict[int, dict[int, dict[str, Any]]],
    ) -> Iterator[Event]:
        content = event.content
        match content["type"]:
            case "ready":
                ready[content["backend"]][event.rank] = content
                if all(len(ranks) == self.world.size for ranks in ready.values()):
                    self._on_ready(ready)
                    self.pids = self.crew.pids
                    yield Started(self.pids)
            case "peak":
                self.peaks[event.rank] = content["bytes"]
            case "progress":
                index, done, of = content["index"], content["done"], content["of"]
                self._behind[index] = done / of
                yield Progress(self.cases[index], done, of, self._over + sum(self._behind.values()))
            case "case" | "skipped":
                of_case = reports.setdefault(content["index"], {})
                of_case[event.rank] = content
                if len(of_case) == self.world.size:
                    yield from self._on_case(content["index"], of_case)

    def _on_ready(self, ready: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> None:
        """What the ranks have loaded, how they reach each other by it, and what each backend costs at the least."""
        for backend, ranks in ready.items():
            self._floors[backend] = floor(ranks)
            # All ranks name the same one, unless something is very wrong, which then is to be seen.
            self.libraries[backend] = "; ".join(dict.fromkeys(ranks[rank]["library"] for rank in sorted(ranks)))
        for rank in range(self.world.size):
            self._transports[rank] = list(dict.fromkeys(ranks[rank]["transport"] for ranks in ready.values()))

    def _on_case(self, index: int, reports: Mapping[int, Mapping[str, Any]]) -> Iterator[Row]:
        row = self._row_of[index]
        self._behind.pop(index, None)
        self._over += 1
        if reports[0]["type"] == "skipped":
            row.skipped = reports[0]["reason"]
        else:
            case = self.cases[index]
            base = self._floors[case.backend]
            row.results[case.in_place] = measure(
                case, reports, base, self.options.peak, self.options.check, self.world.counts
            )
        yield from self._complete_rows()

    def _complete_rows(self) -> Iterator[Row]:
        """Rows whose turn it is, those that are skipped among them. Rows that are compared wait for each other."""
        while self._shown < len(self.rows):
            row = self.rows[self._shown]
            awaited = self._blocks[row.collective, row.size] if len(self.backends) > 1 else [row]
            if not all(row.complete for row in awaited):
                break
            self._shown += 1
            yield row

    def unshown(self) -> list[Row]:
        """Complete rows that were not handed on: the run ended before what they are compared with was measured."""
        return [row for row in self.rows[self._shown :] if row.results and row.complete]

    def judge(self, *, strict: bool = False) -> int:
        """Turn what was measured into findings and the exit code."""
        measurements = [result for row in self.rows for result in row.results.values()]
        findings = reach.judge(self.crew.links)
        if "builtin" in self.backends:
            findings += backing.judge_cores(self.facts)
        findings += linkrate.judge([m.neighbour_bw for m in measurements if m.neighbour_bw], self.crew.links)
        findings += [finding for m in measurements for finding in judge_data(m, self.world.host_of)]
        findings += judge_plausibility(measurements)
        findings += judge_floors(self.options.floors, measurements)
        if self.verdict:
            findings.append(lost(self.verdict))
        elif missing := len(self.cases) - len(measurements):
            reasons = sorted({row.skipped for row in self.rows if row.skipped and row.cases}) or ["the run ended early"]
            message = f"{missing} of {len(self.cases)} cases were not measured: {'; '.join(reasons)}"
            remedy = "ask for fewer sizes, or give more time with --budget"
            findings.append(Finding("perf.cases", Status.ERROR, message, remedy=remedy, evidence={"missing": missing}))
        if not self.options.check and measurements:
            findings.append(Finding("perf.data", Status.INFO, "results were not checked (--no-check)"))
        elif measurements and not any(m.wrong for m in measurements):
            findings.append(Finding("perf.data", Status.PASS, f"all results of {len(measurements)} cases are right"))
        self.findings = findings
        return exit_code((finding.status for finding in findings), strict=strict)

    def record(self, code: int) -> Record:
        return Record(
            "perf",
            self._command,
            self._started,
            findings=self.findings,
            exit_code=code,
            body={
                "world": self._world_record(),
                "config": self._config(),
                "libraries": dict(self.libraries),
                "results": [self.row_record(row) for row in self.rows if row.complete or row.results],
                "comparison": self._comparison(),
                "verdict": self.verdict,
            },
        )

    def row_record(self, row: Row) -> dict[str, Any]:
        """A row as an object of the record's `results`; with several backends, as compared so far."""
        rows = self._blocks[row.collective, row.size] if len(self.backends) > 1 else []
        bases = [compare.fastest(rows, self.backends[0], in_place) for in_place in (False, True)]
        return row_record(row, self.options, bases)

    def _comparison(self) -> list[dict[str, Any]]:
        blocks = self._blocks.values()
        found = [entry for rows in blocks for entry in compare.compare(rows, self.backends)]
        return [compare.comparison_record(entry) for entry in found]

    @property
    def _running(self) -> list[str]:
        """Backends that have something to run, which the ranks therefore open."""
        return list(dict.fromkeys(case.backend for case in self.cases))

    def _plan(self, counts: Sequence[int]) -> Sweep:
        return plan(self.options, self._backends, counts)

    def _refuse_idle(self, injection: Mapping[str, Any]) -> None:
        """A fault that would never happen proves nothing. Raises UsageError."""
        rank, at, ranks = injection["rank"], injection["at"], self.world.size
        if not 0 <= rank < ranks:
            raise UsageError(f"--inject: rank {rank} is not in a world of {ranks}")
        if at.isdecimal() and int(at) >= self.options.loop:
            raise UsageError(f"--inject: there is no iteration {at} among {self.options.loop}, counted from 0")
        if injection["fault"] == "corrupt" and at == "rendezvous":
            raise UsageError("--inject: corrupt wants an iteration: at=first, at=middle or a number")
        if injection["fault"] == "corrupt" and not any(case.shape(rank, ranks).recv.count for case in self.cases):
            raise UsageError(f"--inject: rank {rank} receives nothing that could be corrupted")
        if injection["fault"] == "corrupt" and not self.options.check:
            raise UsageError("--inject: with --no-check nobody looks for corrupted data")

    def _arguments(self) -> dict[str, Any]:
        options = self.options
        settings = {
            "loop": options.loop, "warmup": options.warmup, "sync": options.sync, "check": options.check,
            "beyond": self.beyond, "loop_asked": options.loop_asked, "budget": self._left(), "peak": options.peak,
            "buffers": options.buffers, "counts": self.world.counts,
        }  # fmt: skip
        return {
            "cases": [asdict(case) for case in self.cases],
            "rounds": [list(members) for members in self._sweep.rounds],
            "settings": settings,
            "inject": [dict(injection) for injection in options.inject],
        }

    def _left(self) -> float | None:
        """Seconds of the time budget."""
        if self.options.budget is None:
            return None
        return max(self.options.budget - (now() - self._started).total_seconds(), 0.0)

    def _beyond(self, counts: Sequence[int]) -> int:
        """What each rank's rotation must exceed, so that the ranks of every host push everything out of its caches:
        together twice their size, less where memory is short."""
        if self.options.cache == "warm":
            return 0
        hosts = list(zip(self.facts, counts, strict=True))
        beyond = max(-(-2 * host.cache // ranks) for host, ranks in hosts)
        room = [host.available // ranks for host, ranks in hosts if host.available is not None]
        return min(beyond, *(share // 4 // len(self.backends) for share in room))

    def _need(self, counts: Sequence[int]) -> list[int]:
        """Bytes that the ranks of each host take together at the most."""
        return need.needed(self._plan(counts), counts, self._beyond(counts))

    def _world_record(self) -> dict[str, Any]:
        several = len(self.world.hosts) > 1
        ranks = [
            {
                "rank": place.rank,
                "node": place.node,
                "local_rank": place.local_rank,
                "pid": self.pids.get(place.rank),
                "peak_memory_bytes": self.peaks.get(place.rank),
                "cpu": list(cpus) if cpus else None,
                "addresses": [self.crew.addresses[place.node]] if self.crew.addresses else [],
                "transport": {
                    "node": ", ".join(self._transports.get(place.rank, ())) or None,
                    "network": "tcp" if several and self._transports else None,
                },
            }
            for place, cpus in zip(self.world.placements, self.world.cpus, strict=True)
        ]
        nodes = [
            {
                "name": name,
                "ranks": [place.rank for place in self.world.placements if place.node == node],
                "link": link_record(self.crew.links.get(name)),
            }
            for node, name in enumerate(self.world.hosts)
        ]
        launcher = self.crew.launcher
        return {"size": self.world.size, "launcher": launcher, "nodes": nodes, "ranks": ranks, "why": self.world.why}

    def _config(self) -> dict[str, Any]:
        config = options_record(self.options)
        config["backends"], config["ranks"] = list(self.backends), self.world.size
        config["rotation_bytes"], config["cache_bytes"] = self.beyond, max(host.cache for host in self.facts)
        return config
