"""What a rule is, and what it may say.

A rule is data: what it checks and why, its thresholds with their sources, the remedy, and a pure function from facts to
judgements. Facts are those of the record of `info`: section -> facts, JSON values. May import: suites.report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from suites.report import Status

Facts = Mapping[str, Any]
"""The record's facts of one host; a section that was not asked for is absent, what is unknown is None."""


class Scope(StrEnum):
    """What a rule looks at: one host; the same host now and earlier; all hosts of a fleet, which may be one."""

    HOST = "host"
    SNAPSHOTS = "snapshots"
    FLEET = "fleet"


class Outcome(StrEnum):
    """`UNKNOWN`: what the rule needs was not told. `ERROR`: it was asked for, and no answer came."""

    OK = "ok"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Judged:
    """One judgement, about a device where the rule looks at devices. `status` and `remedy` are those of the rule unless
    given; `host` is only needed by a rule that looks at a fleet."""

    outcome: Outcome
    message: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    host: str | None = None
    status: Status | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number or word that a rule compares with; `source` says who recommends it."""

    value: float | str
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Case:
    """What a rule is asked about. `limits`: its thresholds' values. `earlier`: the facts of the same host before, for
    rules over snapshots. `fleet`: name -> facts, for rules over a fleet."""

    facts: Facts
    limits: Mapping[str, Any]
    earlier: Facts = field(default_factory=dict)
    fleet: Mapping[str, Facts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """`status`: what it is when broken. `needs`: the sections it reads, and it is silent where one was not asked for;
    none are those of the rules that look at whatever is there.
    The `remedy` is what to do, in a sentence or two."""

    name: str
    summary: str
    why: str
    remedy: str
    status: Status
    needs: tuple[str, ...]
    judge: Callable[[Case], Iterator[Judged]]
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    scope: Scope = Scope.HOST


def ok(device: str | None = None, host: str | None = None) -> Judged:
    return Judged(Outcome.OK, device=device, host=host)


def broken(
    message: str,
    evidence: Mapping[str, Any],
    device: str | None = None,
    *,
    host: str | None = None,
    status: Status | None = None,
    remedy: str | None = None,
) -> Judged:
    return Judged(Outcome.BROKEN, message, evidence, device, host, status, remedy)


def unknown(reason: str, evidence: Mapping[str, Any] | None = None, device: str | None = None) -> Judged:
    return Judged(Outcome.UNKNOWN, reason, evidence or {}, device)
