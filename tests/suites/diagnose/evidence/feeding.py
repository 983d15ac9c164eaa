"""Facts that a line reader takes from text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from suites.diagnose.evidence.line import Line, LineReader
from suites.diagnose.facts import NOBODY, Fact, Who


def fed(reader: LineReader, text: str, file: str = "job.log", who: Who = NOBODY) -> list[Fact]:
    """All facts, lines being given as a log's reader does: to who is awake, or has a word of its own in them."""
    found: list[Fact] = []
    for number, words in enumerate(text.splitlines(), 1):
        if reader.awake or any(wake in words for wake in reader.wakes):
            found += reader.feed(Line(words, number, file, who))
    return [*found, *reader.end()]


def only(facts: Iterable[Fact], kind: type) -> list[Any]:
    """Those of one kind."""
    return [fact for fact in facts if isinstance(fact, kind)]
