"""What PyTorch's own analysis of flight recorder dumps prints (torchfrtrace, fr_trace), pasted or kept as a log.

The texts are those of torch/distributed/flight_recorder/components/{builder,types}.py and of tools/flight_recorder
before: a headline, then a line for each thing that is known of the call. Ranks are those of the world. Its "culprit" is
only who differs from the rank that was looked at first, so that it is a side here.
May import: facts, line, operations, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import operation
from suites.diagnose.facts import ANOTHER, Absent, Disagreement, Fact, Group, Side, Who
from suites.diagnose.ranks import MOST_RANKS, listed

_HEADS = (
    re.compile(r"Not all ranks joining collective(?:, sequence number:)? (?P<seq>\d{1,18})(?: at entry \d{1,18})?\s*$"),
    re.compile(r"Collective (?:sequence number: )?(?P<seq>\d{1,18})(?: at entry \d{1,18})? has errors\s*$"),
)
_ROW = re.compile(
    r"(?:^|\s)(?P<key>group info|collective|missing ranks|expected ranks|world size|error msg): (?P<value>.{1,60000})"
)
_RANKS = re.compile(r"\{(?P<ranks>\d[\d, ]{0,60000})\}")
_CULPRIT = re.compile(
    r"Culprit rank (?P<rank>\d{1,7}); Error type: (?P<kind>[A-Z_]{1,60})"
    r"(?:.{0,400}?found collective type: '(?P<op>\w{1,60})')?"
)
_SAME_STATE = "COLLECTIVE_STATE_MISMATCH"
"""Some have ended the call, others not: they did not disagree on what it is."""
_ASPECTS = {"COLLECTIVE_TYPE_MISMATCH": "operation", "COLLECTIVE_DTYPE_MISMATCH": "dtype"}
_LONGEST = 24
"""Lines below a headline."""


@dataclass(slots=True)
class _Report:
    """Of one call."""

    line: Line
    seq: int
    rows: dict[str, str] = field(default_factory=dict)
    lines: int = 0


@dataclass(slots=True)
class FlightRecorderReport:
    """Reads it."""

    wakes: tuple[str, ...] = ("Not all ranks joining collective", " has errors")
    awake: bool = False
    _open: _Report | None = None

    def feed(self, line: Line) -> Iterable[Fact]:
        found = next((found for head in _HEADS if (found := head.search(line.text))), None)
        if found is not None:
            yield from self.end()
            self._open = _Report(line, int(found["seq"]))
        elif (within := self._open) is not None:
            within.lines += 1
            if row := _ROW.search(line.text):
                within.rows.setdefault(row["key"], row["value"].strip())
            if within.lines >= _LONGEST or "collective stack trace" in line.text:
                yield from self.end()
        self.awake = self._open is not None

    def end(self) -> Iterator[Fact]:
        done, self._open = self._open, None
        if done is None or "group info" not in done.rows:
            return
        key, _, name = done.rows["group info"].partition(":")
        expected = _ranks(done.rows.get("expected ranks", ""))
        place, op = done.line.place(), operation(done.rows.get("collective", "").partition(":")[2] or "?")
        size = len(expected) or _number(done.rows.get("expected ranks")) or _number(done.rows.get("world size"))
        yield Group(key, place, name, size, expected or None)
        if missing := _ranks(done.rows.get("missing ranks", "")):
            present = tuple(rank for rank in expected if rank not in missing)
            yield Absent(place, _people(missing), _people(present), key, done.seq, op)
        yield from _disagreement(done, key, op, expected)


def _disagreement(done: _Report, key: str, op: str, expected: tuple[int, ...]) -> Iterator[Fact]:
    said = [one for one in _CULPRIT.finditer(done.rows.get("error msg", "")) if one["kind"] != _SAME_STATE]
    if not said:
        return
    others = {int(one["rank"]): operation(one["op"]) if one["op"] else ANOTHER for one in said}
    sides = [Side(op, _people(tuple(rank for rank in expected if rank not in others)))]
    for what in sorted(set(others.values())):
        sides.append(Side(what, _people(tuple(sorted(rank for rank, one in others.items() if one == what)))))
    aspect = _ASPECTS.get(said[0]["kind"], "count")
    yield Disagreement(done.line.place(), tuple(sides), aspect, key, done.seq, op)


def _ranks(text: str) -> tuple[int, ...]:
    found = _RANKS.search(text)
    return tuple(sorted(rank for rank in set(listed(found["ranks"])) if rank < MOST_RANKS)) if found else ()


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and int(text) <= MOST_RANKS else None


def _people(ranks: tuple[int, ...]) -> tuple[Who, ...]:
    return tuple(Who(rank=rank) for rank in ranks)
