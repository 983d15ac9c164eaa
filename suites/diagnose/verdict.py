"""A verdict, and all that it rests on, before it becomes a record.

May import: complaints, facts, graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from suites.diagnose.complaints import Complaint
from suites.diagnose.facts import Class, Place, Subject
from suites.diagnose.graph import Wait

Confidence = Literal["certain", "likely", "hypothesis"]


@dataclass(frozen=True, slots=True)
class At:
    """A call of a group."""

    group: str
    seq: int | None
    op: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`culprits` and `suspects` are people by number; `about` are hosts, devices, links and files at fault."""

    name: Class
    confidence: Confidence
    explanation: str
    culprits: frozenset[int] = frozenset()
    about: tuple[Subject, ...] = ()
    suspects: frozenset[int] = frozenset()
    waiting: frozenset[int] = frozenset()
    at: At | None = None
    sides: Sequence[tuple[str, frozenset[int]]] = ()
    initiating: Complaint | None = None
    place: Place | None = None
    """Where it shows, where nobody complains."""
    next_checks: tuple[str, ...] = ()
    waits: Sequence[Wait] = ()
    """The edges that it rests on."""
    missing_evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
