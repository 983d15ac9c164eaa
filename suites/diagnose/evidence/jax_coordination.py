"""The coordination service of JAX: which tasks did not come to a barrier, and which have stopped to send heartbeats.

The texts are those of xla/tsl/distributed_runtime/coordination/coordination_service.cc. The service sees all tasks, of
which each is a process, and lists some by name on the lines below; of many it names the first few only.
May import: facts, line, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import NOBODY, Absent, Fact, Group, Level, Subject, Trouble, Who, World
from suites.diagnose.ranks import MOST_RANKS

_BARRIER = re.compile(r"Barrier timed out\. (?:Barrier_id|Id): (?P<name>\S{1,200}?)\.?(?:\s|$)")
_CAME = re.compile(r"# of tasks that reached the barrier: (?P<came>\d{1,7})/(?P<size>\d{1,7})")
_FIRST = re.compile(r"first task at the barrier: \S{0,100}/task:(?P<rank>\d{1,7})")
_SILENT = "tasks are unhealthy (stopped sending heartbeats)"
_TASK = re.compile(r"^\s{0,20}/job:\S{1,80}/task:(?P<rank>\d{1,7})\s*$")
_ONE_SILENT = re.compile(r"/task:(?P<rank>\d{1,7}) heartbeat timeout\. This indicates that the remote task has failed")
_LONGEST = 4096
"""Lines of a list."""
_MOST_NAMED = 19
"""Tasks in a list: one of fewer is whole."""
_REMEDY = ("what the named tasks wrote last, and whether their host was taken away (preemption, eviction, memory)",)


@dataclass(slots=True)
class _List:
    """Of tasks, that is being read."""

    line: Line
    barrier: str | None
    """Nothing where it is of those that are silent."""
    tasks: list[int] = field(default_factory=list)
    came: int | None = None
    size: int | None = None
    first: int | None = None
    lines: int = 0


@dataclass(slots=True)
class Coordination:
    """Reads them. Every task that waits is told the same, so that it is kept once."""

    wakes: tuple[str, ...] = ("Barrier timed out.", _SILENT, "heartbeat timeout. This indicates")
    awake: bool = False
    _open: _List | None = None
    _given: set[tuple[str | None, tuple[int, ...]]] = field(default_factory=set)

    def feed(self, line: Line) -> Iterable[Fact]:
        found = _BARRIER.search(line.text)
        if found or _SILENT in line.text:
            yield from self.end()
            self._open = _List(line, found["name"] if found else None)
        elif (one := _ONE_SILENT.search(line.text)) and int(one["rank"]) < MOST_RANKS:
            yield _silent(line, int(one["rank"]))
        if self._open is not None and not _goes_on(self._open, line):
            yield from self.end()
        self.awake = self._open is not None

    def end(self) -> Iterator[Fact]:
        done, self._open = self._open, None
        if done is None or not done.tasks or (done.barrier, tuple(done.tasks)) in self._given:
            return
        self._given.add((done.barrier, tuple(done.tasks)))
        if done.barrier is None:
            yield from (_silent(done.line, rank) for rank in done.tasks)
        else:
            yield from _absent(done, done.barrier)


def _goes_on(within: _List, line: Line) -> bool:
    within.lines += 1
    if found := _CAME.search(line.text):
        within.came, within.size = int(found["came"]), int(found["size"])
    if found := _FIRST.search(line.text):
        within.first = int(found["rank"])
    if found := _TASK.match(line.text):
        if int(found["rank"]) < MOST_RANKS and int(found["rank"]) not in within.tasks:
            within.tasks.append(int(found["rank"]))
        return within.lines < _LONGEST
    return not within.tasks and within.lines <= 8


def _absent(done: _List, barrier: str) -> Iterator[Fact]:
    place, absent = done.line.place(), tuple(Who(rank=rank) for rank in sorted(done.tasks))
    present = set() if done.first is None else {done.first}
    if done.size is not None and done.came is not None and done.size <= MOST_RANKS:
        yield World(done.size, place)
        if len(done.tasks) == done.size - done.came:
            present = {*range(done.size)}
    elif len(done.tasks) < _MOST_NAMED:
        present |= {*range(max(done.tasks))}
    who = tuple(Who(rank=rank) for rank in sorted(present - {*done.tasks}))
    key = f"JAX {barrier}"
    yield Group(key, place, barrier, done.size)
    yield Absent(place, absent, who, key, None, "barrier")
    words = f"{'a task' if len(absent) == 1 else f'{len(absent)} tasks'} of JAX did not come to barrier {barrier}"
    yield Trouble(done.line.who, place, Level.TIMEOUT, words, remedy=_REMEDY, known_as="jax.barrier")


def _silent(line: Line, rank: int) -> Trouble:
    """Its process or host has ended, or hangs as a whole: an earlier fault of its own tells which."""
    who = Who(rank=rank)
    return Trouble(
        NOBODY, line.place(), Level.TRANSPORT, f"task {rank} of JAX sends no heartbeats any more", "crashed",
        (Subject("rank", who),), _REMEDY, "jax.heartbeat",
    )  # fmt: skip
