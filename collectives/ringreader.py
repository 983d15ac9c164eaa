"""Ring and Entry: the calls that a rank has recorded, read from its ring or a snapshot of it (see ring.py).

The rank may have died in the middle of a word, and the file may be cut: what cannot be right is left out, and what is
not known is None. May import: ring, the literal tables, transport.base's words, the standard library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collectives import ring
from collectives.dtypes import DTYPES, OPERATORS
from collectives.errors import CollectiveError
from collectives.ops import COLLECTIVES
from collectives.transport.base import CallTag

_MOST_RANKS = 1 << 24

Peers = tuple[int, ...]


class RecorderError(CollectiveError, ValueError):
    """What was given is no ring."""


@dataclass(frozen=True, slots=True)
class Group:
    """`ranks` are of the world, in the group's order."""

    name: str
    ranks: Peers


@dataclass(frozen=True, slots=True)
class Frame:
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A call. What has no name in the ring is None, as is what this kind of call does not have.

    `root` is a rank of the group, all other ranks are of the world. `peer` is the other one of a send or recv. `step`
    is the plan's under way, or the last; `waits` and `sends` are whom messages of this step come from and go to. Times
    are seconds of the host's monotonic clock; `exited` is None while the call is under way.
    """

    number: int
    group: Group | None
    sequence: int
    collective: str | None
    algorithm: str | None
    dtype: str | None
    operator: str | None
    root: int | None
    count: int
    bytes: int | None
    peer: int | None
    step: int
    steps: int | None
    waits: Peers | None
    sends: Peers | None
    entered: float | None
    exited: float | None
    outcome: str
    frame: Frame | None


@dataclass(frozen=True, slots=True)
class Ring:
    """What one rank has recorded, oldest call first.

    `whole` says that its names are all there: where they are cut off, nobody knows of which groups the calls are.
    `dropped` are the calls before those, about. `read_at` is when the snapshot was taken, or the clocks were last
    looked at; `epoch` is what makes its times those of the host's clock of the day. Seconds.
    """

    rank: int
    world_size: int
    pid: int
    host: str | None
    groups: tuple[Group, ...]
    entries: tuple[Entry, ...]
    dropped: int
    read_at: float | None
    epoch: float | None
    whole: bool


def read(data: bytes) -> Ring:
    """Raises RecorderError for what is no ring, and for nothing else."""
    if len(data) < ring.RECORDS_AT:
        raise RecorderError(f"{len(data)} bytes are no ring of recorded calls")
    magic, version, clock, rank, world_size, pid, number = ring.HEADER.unpack_from(data)
    if magic != ring.MAGIC:
        raise RecorderError("no ring of recorded calls: it does not begin like one")
    if version != ring.VERSION or number != ring.RECORDS:
        raise RecorderError(f"a ring of recorded calls of version {version}; this opsdist reads {ring.VERSION}")
    times = _Times.of(data, clock)
    names = _Names.of(data)
    entries = sorted(
        (_entry(fields, names, times) for fields in _records(data, names.programs)), key=lambda entry: entry.number
    )
    (given,) = ring.NUMBER.unpack_from(data, ring.ENTERED_AT)
    first = entries[0].number if entries else given + 1
    return Ring(
        rank, world_size, pid, names.host, tuple(names.groups.values()), tuple(entries), min(first - 1, given),
        times.read_at, times.epoch, names.whole,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Times:
    """How ticks become seconds: two readings of the clocks, or the one there is."""

    clock: int
    start: ring.Reading
    latest: ring.Reading | None

    @classmethod
    def of(cls, data: bytes, clock: int) -> _Times:
        start = ring.Reading(*ring.READING.unpack_from(data, ring.STARTED_AT))
        latest = ring.Reading(*ring.READING.unpack_from(data, ring.LATEST_AT))
        mark, *reading = ring.TRAILER.unpack_from(data, len(data) - ring.TRAILER.size)
        if mark == ring.SNAPSHOT:
            latest = ring.Reading(*reading)
        later = latest.ticks > start.ticks and latest.monotonic > start.monotonic
        return cls(clock, start, latest if later else None)

    @property
    def read_at(self) -> float | None:
        return self.latest.monotonic / 1e9 if self.latest else None

    @property
    def epoch(self) -> float | None:
        return (self.latest.realtime - self.latest.monotonic) / 1e9 if self.latest else None

    def seconds(self, ticks: int) -> float | None:
        if self.clock == ring.MONOTONIC:
            return ticks / 1e9
        if self.latest is None:
            return None
        passed, took = self.latest.monotonic - self.start.monotonic, self.latest.ticks - self.start.ticks
        return (self.start.monotonic + (ticks - self.start.ticks) * passed // took) / 1e9


@dataclass(frozen=True, slots=True)
class _Program:
    group: int
    collective: str
    algorithm: str
    bytes: int
    peer: int | None
    steps: int
    waits: tuple[Peers, ...] | None
    sends: tuple[Peers, ...] | None


@dataclass(frozen=True, slots=True)
class _Names:
    whole: bool
    host: str | None
    groups: Mapping[int, Group]
    programs: Mapping[int, _Program]
    frames: Mapping[int, Frame]

    @classmethod
    def of(cls, data: bytes) -> _Names:
        (length,) = ring.NUMBER.unpack_from(data, ring.NAMES_LENGTH_AT)
        end = ring.NAMES_AT + min(length, ring.NAMES)
        host: str | None = None
        found: dict[str, dict[int, Any]] = {kind: {} for kind in _KINDS}
        for line in data[ring.NAMES_AT : end].split(b"\n"):
            try:
                told = json.loads(line)
                kind = next(iter(told))
                if kind == "host":
                    host = _text(told[kind])
                else:
                    found[kind][_number(told[kind])] = _KINDS[kind](told)
            except (ValueError, TypeError, KeyError, LookupError, StopIteration, RecursionError):
                continue  # torn, or of a kind that this version does not know
        return cls(len(data) >= end, host, found["group"], found["program"], found["frame"])


def _group(told: Mapping[str, Any]) -> Group:
    return Group(_text(told["name"]), _ranks(told["ranks"]))


def _program(told: Mapping[str, Any]) -> _Program:
    peer = None if told["peer"] is None else _number(told["peer"])
    waits, sends = (None if told[which] is None else tuple(map(_ranks, told[which])) for which in ("waits", "sends"))
    group, collective, algorithm = _number(told["group"]), _text(told["collective"]), _text(told["algorithm"])
    return _Program(group, collective, algorithm, _number(told["bytes"]), peer, _number(told["steps"]), waits, sends)


def _frame(told: Mapping[str, Any]) -> Frame:
    return Frame(_text(told["file"]), _number(told["line"]), _text(told["function"]))


_KINDS = {"group": _group, "program": _program, "frame": _frame}
"""The first field of a line of names -> what it tells."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _ranks(value: Any) -> Peers:
    ranks = tuple(map(_number, value))
    if any(rank >= _MOST_RANKS for rank in ranks):
        raise ValueError
    return ranks


def _records(data: bytes, programs: Mapping[int, _Program]) -> Iterator[tuple[int, ...]]:
    """Those that are whole: of their place, with an outcome that there is, and of a program of their group."""
    whole = (min(len(data), ring.NAMES_AT) - ring.RECORDS_AT) // ring.RECORD.size
    for place in range(whole):
        fields = ring.RECORD.unpack_from(data, ring.RECORDS_AT + place * ring.RECORD.size)
        turn, group, program, outcome = fields[0], fields[5], programs.get(fields[7]), fields[-1]
        mixed = program is not None and program.group != group
        if turn and (turn - 1) % ring.RECORDS == place and outcome < len(ring.OUTCOMES) and not mixed:
            yield fields


def _entry(fields: Sequence[int], names: _Names, times: _Times) -> Entry:
    turn, entered, left, signature, count, group, sequence, program, step, frame, outcome = fields
    call, named = CallTag.of_word(signature, count, sequence), names.programs.get(program)
    collective = _named(call.collective, COLLECTIVES)
    row = COLLECTIVES.get(collective or "")
    waits, sends = (
        peers[step] if peers is not None and step < len(peers) else None
        for peers in ((named.waits, named.sends) if named else (None, None))
    )
    return Entry(
        number=turn,
        group=names.groups.get(group),
        sequence=sequence,
        collective=named.collective if named else collective,
        algorithm=named.algorithm if named else None,
        dtype=_named(call.dtype, DTYPES),
        operator=_named(call.operator, OPERATORS) if row and row.reduces else None,
        root=call.root if row and row.rooted else None,
        count=count,
        bytes=named.bytes if named else None,
        peer=named.peer if named else None,
        step=step,
        steps=named.steps if named else None,
        waits=waits,
        sends=sends,
        entered=times.seconds(entered),
        exited=times.seconds(left) if outcome and left >= entered else None,
        outcome=ring.OUTCOMES[outcome],
        frame=names.frames.get(frame),
    )


def _named(index: int, table: Mapping[str, Any] | Sequence[str]) -> str | None:
    names = list(table)
    return names[index] if index < len(names) else None
