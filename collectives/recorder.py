"""Recorder: what a rank's engine records its calls with, in the ring that ring.py describes.

The native core writes the records of its calls itself; here are their names, and the records of the portable engine.
May import: ring, schedule, transport.base's words, the standard library.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from struct import Struct
from types import CodeType, FrameType
from typing import Any

from collectives import ring
from collectives.errors import MismatchError, PeerLost, TransportTimeout
from collectives.schedule import Plan, Step
from collectives.transport.base import CallTag

_OWN = str(Path(__file__).parent) + os.sep
_MOST_PEERS = 4096
"""Numbers of waits, or of sends, from which on they are left out."""
_MOST_BUSY = 64
_STEP, _ENDED = Struct("<I"), Struct("<Q")
_LEFT_AT, _STEP_AT, _OUTCOME_AT = 16, 52, 60
_OUTCOMES: dict[type[Exception], str] = {
    TransportTimeout: "timed out",
    MismatchError: "mismatch",
    PeerLost: "lost",
}


@dataclass(frozen=True, slots=True)
class Named:
    """A call as it is bound. `group` is the number of its name; `peer` is the other rank of a point-to-point call."""

    group: int
    collective: str
    algorithm: str
    dtype: str
    operator: str | None
    root: int | None
    count: int
    bytes: int
    peer: int | None = None


class Recorder:
    """The ring of one rank. `descriptor` leads to its memory, which nobody else sees where there is none; it is the
    caller's to close. Raises ResourceError."""

    def __init__(self, rank: int, world_size: int, descriptor: int | None = None) -> None:
        self.memory = ring.mapped(descriptor)
        clock = ring.best_clock()
        ticks = ring.ticker(clock)
        assert ticks
        self._ticks = ticks
        self._lock = threading.Lock()
        self._known: dict[Any, int] = {}
        self._numbers = dict.fromkeys(("group", "program", "frame"), 0)
        # The pages of the records are there before anything is timed.
        self.memory[: ring.NAMES_AT] = bytes(ring.NAMES_AT)
        ring.HEADER.pack_into(
            self.memory, 0, ring.MAGIC, ring.VERSION, clock, rank, world_size, os.getpid(), ring.RECORDS
        )
        for at in (ring.STARTED_AT, ring.LATEST_AT):
            self._read_clocks(at)
        self._append({"host": socket.gethostname()})

    def group(self, name: str, ranks: Sequence[int]) -> int:
        """The number of a group's name. `ranks` are of the world."""
        key = (name, tuple(ranks))
        return self._number("group", key, lambda: {"name": name, "ranks": list(ranks)})

    def program(self, named: Named, plan: Plan, ranks: Sequence[int], member: int) -> int:
        """The number of a call's name. The plan is that of a member of the group `ranks`."""
        waits = _peers(plan, ranks, member, Step.sources)
        sends = _peers(plan, ranks, member, Step.targets)
        described = {**asdict(named), "steps": len(plan.steps), "waits": waits, "sends": sends}
        return self._number("program", (named, len(plan.steps), waits, sends), lambda: described)

    def frame(self) -> int:
        """The number of the innermost frame outside this package: who has called it."""
        frame: FrameType | None = sys._getframe(1)
        while frame and _inside(frame.f_code):
            frame = frame.f_back
        if frame is None:
            return 0
        key = (frame.f_code, frame.f_lasti)
        found = self._known.get(key)
        if found is None:
            code = frame.f_code
            described = {"file": code.co_filename, "line": frame.f_lineno, "function": code.co_qualname}
            found = self._known[key] = self._number("frame", tuple(described.values()), lambda: described)
        return found

    def enter(self, call: CallTag, group: int, program: int, frame: int) -> Record:
        """A call begins."""
        return self.begin(call.word, call.count, call.sequence, group, program, frame)

    def begin(self, word: int, count: int, sequence: int, group: int, program: int, frame: int) -> Record:
        """A call begins, whose tag is taken apart already."""
        with self._lock:
            number = self._take_number()
        if number % (ring.RECORDS // 2) == 1:
            self._read_clocks(ring.LATEST_AT)
        at = _place(number)
        ring.NUMBER.pack_into(self.memory, at, 0)
        fields = (word, count, group, sequence, program, 0, frame, 0)
        ring.RECORD.pack_into(self.memory, at, 0, self._ticks(), 0, *fields)
        ring.NUMBER.pack_into(self.memory, at, number)
        return Record(self.memory, at, self._ticks)

    def _take_number(self) -> int:
        """The next whose record is not that of a call under way."""
        (last,) = ring.NUMBER.unpack_from(self.memory, ring.ENTERED_AT)
        number = int(last)
        for number in range(last + 1, last + 1 + _MOST_BUSY):
            turn, *_, outcome = ring.RECORD.unpack_from(self.memory, _place(number))
            if not turn or outcome:
                break
        ring.NUMBER.pack_into(self.memory, ring.ENTERED_AT, number)
        return number

    def _read_clocks(self, at: int) -> None:
        reading = ring.read_clocks(self._ticks)
        ring.READING.pack_into(self.memory, at, reading.ticks, reading.monotonic, reading.realtime)

    def _number(self, kind: str, key: Any, describe: Callable[[], dict[str, Any]]) -> int:
        """Of what has this key, which is described once; 0 for what found no room."""
        with self._lock:
            found = self._known.get(key)
            if found is None:
                number = self._numbers[kind] + 1
                found = number if self._append({kind: number, **describe()}) else 0
                self._numbers[kind] = max(self._numbers[kind], found)
                self._known[key] = found
            return found

    def _append(self, named: dict[str, Any]) -> bool:
        line = json.dumps(named, separators=(",", ":")).encode() + b"\n"
        (length,) = ring.NUMBER.unpack_from(self.memory, ring.NAMES_LENGTH_AT)
        if length + len(line) > ring.NAMES:
            return False
        at = ring.NAMES_AT + length
        self.memory[at : at + len(line)] = line
        ring.NUMBER.pack_into(self.memory, ring.NAMES_LENGTH_AT, length + len(line))
        return True


def recording(folder: str, rank: int, world_size: int) -> Recorder:
    """One whose ring is a file of a folder. Raises ResourceError."""
    descriptor = ring.file(folder, rank)
    try:
        return Recorder(rank, world_size, descriptor)
    finally:
        os.close(descriptor)


class Record:
    """One call in the ring, as it goes on."""

    __slots__ = ("_at", "_memory", "_ticks")

    def __init__(self, memory: Any, at: int, ticks: Callable[[], int]) -> None:
        self._memory, self._at, self._ticks = memory, at, ticks

    def at_step(self, step: int) -> None:
        _STEP.pack_into(self._memory, self._at + _STEP_AT, step)

    def leave(self, error: BaseException | None) -> None:
        ended = (name for kind, name in _OUTCOMES.items() if isinstance(error, kind))
        name = next(ended, "interrupted") if error else "done"
        _ENDED.pack_into(self._memory, self._at + _LEFT_AT, self._ticks())
        _STEP.pack_into(self._memory, self._at + _OUTCOME_AT, ring.OUTCOMES.index(name))


@contextmanager
def unless_broken_off(record: Record) -> Iterator[None]:
    """Around the first part of a call: it goes on afterwards, unless something breaks it off."""
    try:
        yield
    except BaseException as error:
        record.leave(error)
        raise


@contextmanager
def left(record: Record) -> Iterator[None]:
    """Around the last part of a call."""
    with unless_broken_off(record):
        yield
    record.leave(None)


def _place(number: int) -> int:
    return ring.RECORDS_AT + (number - 1) % ring.RECORDS * ring.RECORD.size


@cache
def _inside(code: CodeType) -> bool:
    return code.co_filename.startswith(_OWN)


def _peers(
    plan: Plan, ranks: Sequence[int], member: int, of: Callable[[Step], set[int]]
) -> tuple[tuple[int, ...], ...] | None:
    """Ranks of the world, a step; None where they are very many."""
    peers = tuple(tuple(ranks[peer] for peer in sorted(of(step) - {member})) for step in plan.steps)
    return peers if sum(map(len, peers)) <= _MOST_PEERS else None
