"""The record of a run: findings, verdict and report, to and from JSON.

Everything else in opsdist speaks seconds, bytes and bytes/second; only this file turns them into the units of the
record (microseconds and GB/s = 1e9 bytes/s). May import: the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from typing import Any

from suites import stats
from suites.case import Case

SCHEMA_VERSION = 1


class Status(StrEnum):
    """How a check ended. Missing data is never a pass."""

    PASS = "pass"
    INFO = "info"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """The judgement of one check about one subject.

    `subject` holds any of host, rank, device, link; `evidence` holds what was read or measured, JSON values only.
    """

    check: str
    status: Status
    message: str
    subject: Mapping[str, Any] = field(default_factory=dict)
    remedy: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "status": str(self.status),
            "subject": dict(self.subject),
            "message": self.message,
            "remedy": self.remedy,
            "evidence": dict(self.evidence),
        }


def by_host(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Those that are about a host, by its name."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        if "host" in finding.subject:
            found.setdefault(finding.subject["host"], []).append(finding)
    return found


IMPLAUSIBLE = 1.10
"""An efficiency above this is measured once more, and then is no result."""


def implausible(efficiency: float | None) -> bool:
    return efficiency is not None and efficiency > IMPLAUSIBLE


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The least time the case could take. `bus_bw` is the bus bandwidth that this time would mean."""

    time: float
    bus_bw: float | None
    source: str


@dataclass(frozen=True, slots=True)
class WrongData:
    """What one rank's checks found."""

    rank: int
    count: int
    index: int
    expected: float
    got: float
    checked: int
    failed: int

    @property
    def how_often(self) -> str:
        return "always" if self.failed == self.checked else f"sometimes ({self.failed} of {self.checked} checks)"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One case as measured. Rates are None for a barrier, bus bandwidth also for one rank."""

    case: Case
    samples: tuple[float, ...]
    bytes_moved: int
    alg_bw: float | None
    bus_bw: float | None
    wrong: tuple[WrongData, ...] | None
    """None: not checked."""
    iterations: int
    iterations_asked: int
    ceiling: Ceiling | None
    efficiency: float | None
    late_rank: int | None
    overhead: float
    sets: int
    again: bool
    """It, or what took turns with it, was implausible at first and measured once more."""
    round: int = 0
    """Which round of cases it was measured in, and so with whom it took turns."""
    passes: tuple[int, ...] = ()
    """Samples of each pass of the round, in order."""
    clock_error: float | None = None
    """How far entries on different hosts may be put wrong to each other; None where all ranks read one clock."""
    neighbour_bw: float | None = None
    """What each host sent to the next one, in bytes/s, where a ceiling between hosts was measured."""

    @property
    def time(self) -> float:
        return stats.median(self.samples)

    @property
    def implausible(self) -> bool:
        return implausible(self.efficiency)


def exit_code(statuses: Iterable[Status], *, strict: bool = False) -> int:
    """The exit of a run: 1 (failed) wins over 3 (no verdict) wins over 0. With `strict` a warning is a failure.

    A run in which nothing was judged has no verdict.
    """
    seen = set(statuses) - {Status.SKIP}
    if Status.FAIL in seen or (strict and Status.WARN in seen):
        return 1
    return 3 if not seen or Status.ERROR in seen else 0


STATUS_OF_EXIT = {0: "pass", 1: "fail"}


@dataclass(slots=True)
class Report:
    """One run. `body` holds the keys its kind adds (results, hosts, counts ...)."""

    kind: str
    command: list[str]
    started: datetime
    findings: list[Finding] = field(default_factory=list)
    body: dict[str, Any] = field(default_factory=dict)
    ended: datetime | None = None
    exit_code: int = 3

    def record(self) -> dict[str, Any]:
        """The JSON object of contract.md: plain numbers, absent is null, never NaN."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": self.kind,
            "opsdist": version("opsdist"),
            "command": list(self.command),
            "started": timestamp(self.started),
            "ended": timestamp(self.ended or now()),
            "status": STATUS_OF_EXIT.get(self.exit_code, "error"),
            "exit_code": self.exit_code,
            "findings": [finding.record() for finding in self.findings],
            **self.body,
        }


def now() -> datetime:
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def microseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e6


def gigabytes_per_second(rate: float | None) -> float | None:
    """bytes/second to GB/s, decimal."""
    return None if rate is None else rate / 1e9


def measurement_record(measurement: Measurement, base: Measurement | None = None) -> dict[str, Any]:
    """The object S of contract.md: times in us, bandwidths in GB/s. `base` is what its time is compared with."""
    samples, ceiling = measurement.samples, measurement.ceiling
    interval, p99 = stats.interval95(samples), stats.p99(samples)
    wrong = measurement.wrong
    return {
        "time": microseconds(measurement.time),
        "time_min": microseconds(min(samples)),
        "time_mean": microseconds(sum(samples) / len(samples)),
        "time_max": microseconds(max(samples)),
        "time_p95": microseconds(stats.percentile(samples, 95)),
        "time_p99": microseconds(p99),
        "time_ci95": interval and [microseconds(bound) for bound in interval],
        "samples": len(samples),
        "alg_bw": gigabytes_per_second(measurement.alg_bw),
        "bus_bw": gigabytes_per_second(measurement.bus_bw),
        "nwrong": None if wrong is None else sum(rank.count for rank in wrong),
        "iterations": measurement.iterations,
        "iterations_asked": measurement.iterations_asked,
        "ceiling": ceiling
        and {
            "time": microseconds(ceiling.time),
            "bus_bw": gigabytes_per_second(ceiling.bus_bw),
            "source": ceiling.source,
        },
        "efficiency": measurement.efficiency,
        "time_ratio": base and measurement.time / base.time,
        "late_rank": measurement.late_rank,
        "clock_error": microseconds(measurement.clock_error),
        "harness_overhead": microseconds(measurement.overhead),
        "buffer_sets": measurement.sets,
        "measured_again": measurement.again,
    }
