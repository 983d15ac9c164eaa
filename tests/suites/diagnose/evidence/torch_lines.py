"""Logs as readers of lines get them."""

from __future__ import annotations

from typing import TypeVar

from suites.diagnose.evidence.line import Line, LineReader
from suites.diagnose.facts import NOBODY, Fact, Who

Kind = TypeVar("Kind")


def told(reader: LineReader, text: str, who: Who = NOBODY) -> list[Fact]:
    """All facts of a source."""
    facts: list[Fact] = []
    for number, line in enumerate(text.split("\n"), 1):
        if reader.awake or any(wake in line for wake in reader.wakes):
            facts += reader.feed(Line(line, number, "job.log", who))
    return [*facts, *reader.end()]


def of(kind: type[Kind], facts: list[Fact]) -> list[Kind]:
    """Those of one kind."""
    return [fact for fact in facts if isinstance(fact, kind)]
