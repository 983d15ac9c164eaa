"""What NCCL's RAS subsystem answers: `ncclras -v` as text, `ncclras -f json` as JSON.

Counts are of calls that were launched, so equal ones do not mean health, and unequal ones are normal while a job runs:
the text lists the minority, who may be ahead. Numbers of ranks beyond the communicator's size, which some versions
print, make an answer worthless.
May import: facts, line, operations, source.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import operation
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import (
    Absent,
    Call,
    Fact,
    Group,
    Identity,
    Level,
    Place,
    Seen,
    Signature,
    Subject,
    Trouble,
    Unread,
    Who,
)  # fmt: skip

_COMMUNICATOR = re.compile(r"^\s*#\d{1,4}-\d{1,4} \((?P<key>[0-9a-f]{8,20})\) (?P<state>[A-Z]+)")
_DIFFERENT = re.compile(r"ranks have different (?P<op>\w{2,40}) operation counts")
_LAUNCHED = re.compile(r"(?P<number>\d{1,9}) ranks? ha(?:ve|s) launched up to operation (?P<seq>\d{1,18})")
_MISSING = re.compile(
    r"Missing communicator data from (?P<number>\d{1,9}) ranks?|(?P<dead>\d{1,9}) ranks? .{0,40}(?:dead|unresponsive)"
)
_RANK = re.compile(
    r"Rank (?P<rank>\d{1,12}) --"
    r"(?: GPU (?P<gpu>\S{1,20}) managed by process (?P<pid>\d{1,10}) on node (?P<node>\S{1,255}))?"
)
_MOST_RANKS = 1 << 20
_IMPOSSIBLE = (
    "RAS output inconsistent (ranks that no communicator has): a fault of NCCL 2.26.5 and 2.27.3, among others"
)


@dataclass(slots=True)
class _Said:
    """Of one communicator, as far as it was read."""

    key: str
    line: Line
    op: str = "unknown"
    counts: dict[int, int] = field(default_factory=dict)
    """Operation -> ranks that have launched up to it."""
    at: int | None = None
    """What is listed next."""
    listed: dict[int, list[Who]] = field(default_factory=lambda: defaultdict(list))
    missing: bool = False
    absent: list[Who] = field(default_factory=list)


@dataclass(slots=True)
class RasText:
    """Of one source."""

    wakes: tuple[str, ...] = (") MISMATCH", ") INCOMPLETE", ") ERROR", ") DEAD", ") TIMEOUT", ") OK", ") RUNNING")
    awake: bool = False
    _said: _Said | None = None
    _broken: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        if found := _COMMUNICATOR.search(line.text):
            yield from self.end()
            self._said, self.awake = _Said(f"comm {found['key']}", line), True
            yield Seen(line.place(), "answer of NCCL RAS")
            return
        said = self._said
        if said is None:
            return
        if found := _DIFFERENT.search(line.text):
            said.op = operation(found["op"])
        elif found := _LAUNCHED.search(line.text):
            said.at, said.missing = int(found["seq"]), False
            said.counts[said.at] = int(found["number"])
        elif _MISSING.search(line.text):
            said.missing, said.at = True, None
        elif found := _RANK.search(line.text):
            self._rank(found, said, line)

    def _rank(self, found: re.Match[str], said: _Said, line: Line) -> None:
        rank, size = int(found["rank"]), sum(said.counts.values())
        if rank >= (size or _MOST_RANKS):
            self._broken = True
            return
        who = Who(
            host=found["node"], pid=int(found["pid"]) if found["pid"] else None,
            device=f"gpu{found['gpu']}" if found["gpu"] else None, group=said.key, group_rank=rank,
        )  # fmt: skip
        if said.missing:
            said.absent.append(who)
        elif said.at is not None:
            said.listed[said.at].append(who)

    def end(self) -> Iterable[Fact]:
        said, self._said, self.awake = self._said, None, False
        if said is None:
            return
        if self._broken:
            yield Unread(said.line.file, _IMPOSSIBLE)
            return
        yield from _judged(said)


def _judged(said: _Said) -> Iterator[Fact]:
    """Who has launched less is behind, whoever is listed."""
    place, size = said.line.place(), sum(said.counts.values())
    if size:
        yield Group(said.key, place, f"communicator {said.key}", size)
    for who in (*said.absent, *(who for some in said.listed.values() for who in some)):
        yield Identity(who, place)
    if said.absent:
        yield Absent(place, tuple(said.absent), group=said.key)
    if len(said.counts) < 2:
        return
    ahead, behind = max(said.counts), min(said.counts)
    late = _ranks_at(said, behind, size)
    if late:
        yield Absent(place, late, _ranks_at(said, ahead, size), said.key, ahead, said.op)


def _ranks_at(said: _Said, seq: int, size: int) -> tuple[Who, ...]:
    """Listed ones, or all others where only the others are listed."""
    if said.listed.get(seq):
        return tuple(said.listed[seq])
    elsewhere = {who.group_rank for at, some in said.listed.items() if at != seq for who in some}
    if len(said.counts) == 2 and elsewhere:
        return tuple(Who(group=said.key, group_rank=rank) for rank in range(size) if rank not in elsewhere)
    return ()


def reader() -> RasText:
    """For one source."""
    return RasText()


# ---- JSON


def recognises(head: bytes, name: str) -> bool:
    """Whether it begins like `ncclras -f json`."""
    return head.lstrip()[:1] == b"{" and (b'"communicators"' in head or b'"collective_counts"' in head)


def read(source: Source) -> Iterable[Fact]:
    """Of each communicator who has launched what, and who does not answer."""
    with source.open() as stream:
        try:
            told = json.loads(stream.read())
        except (ValueError, RecursionError) as error:
            return [Unread(source.name, f"cut off or damaged ({error})")]
    communicators = told.get("communicators") if isinstance(told, dict) else None
    if not isinstance(communicators, list):
        return [Unread(source.name, "no answer of NCCL RAS")]
    place = Place(source.name)
    found: list[Fact] = [Seen(place, "answer of NCCL RAS")]
    for communicator in communicators:
        if isinstance(communicator, dict):
            found += _of_communicator(communicator, place)
    return found


def _of_communicator(told: Mapping[str, Any], place: Place) -> Iterator[Fact]:
    key, size = f"comm {told.get('hash', 'unknown')}", told.get("size")
    size = size if isinstance(size, int) and 0 < size <= _MOST_RANKS else None
    yield Group(key, place, f"communicator {told.get('hash', '')}", size)
    ranks = [row for name in ("ranks", "missing_ranks") for row in _rows(told.get(name))]
    if size is not None and any(_number(row.get("rank")) is None or row["rank"] >= size for row in ranks):
        yield Unread(place.file, _IMPOSSIBLE)
        return
    for row in _rows(told.get("ranks")):
        who = _who(row, key)
        yield Identity(who, place)
        counts = row.get("collective_counts")
        total = 0
        for op, number in counts.items() if isinstance(counts, dict) else ():
            if _number(number) is not None:
                total += number
                yield Call(who, place, f"{key} {operation(str(op))}", number, Signature(operation(str(op))))
        status = row.get("status")
        if isinstance(status, dict) and status.get("async_error") not in (None, 0, "", "ncclSuccess", "SUCCESS", False):
            yield Trouble(
                who, place, Level.CASCADE, f"its communicator has an error: {str(status['async_error'])[:80]}",
                known_as="ras.async_error",
            )  # fmt: skip
    absent = _rows(told.get("missing_ranks"))
    for row in absent:
        who, status = _who(row, key), row.get("status")
        dead = isinstance(status, dict) and bool(status.get("considered_dead"))
        yield Identity(who, place)
        if dead:
            yield Trouble(
                who, place, Level.INITIATING, "its process does not answer, and is considered dead", "crashed",
                (Subject("rank", who),), known_as="ras.dead",
            )  # fmt: skip
    if absent:
        yield Absent(place, tuple(_who(row, key) for row in absent), group=key)


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _who(row: Mapping[str, Any], key: str) -> Who:
    host, device = row.get("host"), _number(row.get("cuda_dev"))
    return Who(
        host=str(host) if host else None, pid=_number(row.get("pid")),
        device=None if device is None else f"gpu{device}",
        group=key, group_rank=_number(row.get("rank")),
    )  # fmt: skip
