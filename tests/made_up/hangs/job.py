"""Jobs that hang, as they would: ranks whose programs hand calls to a device, which does them in order, until nobody
can go on. What each has recorded by then is what dumps and logs are made of, beside the truth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

Operation = Literal["allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall", "barrier"]


@dataclass(frozen=True)
class Step:
    """One call of a rank's program: a collective of a group, or a message to or from `peer` (a rank)."""

    group: str
    op: str
    count: int = 1024
    dtype: str = "Float"
    root: int | None = None
    peer: int | None = None
    stay: bool = False
    """The program goes no further than this."""
    jam: bool = False
    """The device does not come through it."""


@dataclass
class Made:
    """A call as the rank recorded it."""

    step: Step
    seq: int
    at: float
    state: str = "scheduled"
    ended: float | None = None


@dataclass
class Rank:
    number: int
    made: list[Made] = field(default_factory=list)
    done: int = 0
    """Of `made`, by the device."""
    at: int = 0
    """In the program."""


@dataclass(frozen=True)
class Truth:
    """What an answer is graded by. `culprits` are empty where nobody is to be named; `where` is (group, seq)."""

    name: str
    culprits: frozenset[int]
    where: tuple[str, int] | None
    sides: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Job:
    size: int
    groups: Mapping[str, tuple[int, ...]]
    ranks: Sequence[Rank]
    truth: Truth


def run(size: int, groups: Mapping[str, tuple[int, ...]], programs: Sequence[Sequence[Step]], ahead: int) -> list[Rank]:
    """Until nothing moves. A program runs at most `ahead` calls before its device."""
    ranks = [Rank(number) for number in range(size)]
    counters: dict[tuple[int, str, bool], int] = defaultdict(int)
    clock, moved = 1_000.0, True
    while moved:
        moved = False
        for rank in ranks:
            program = programs[rank.number]
            while rank.at < len(program) and len(rank.made) - rank.done < ahead and not program[rank.at].stay:
                step = program[rank.at]
                counters[rank.number, step.group, step.peer is not None] += 1
                clock += 0.001
                rank.made.append(Made(step, counters[rank.number, step.group, step.peer is not None], clock))
                rank.at += 1
                moved = True
        for rank in ranks:
            if rank.done < len(rank.made) and _ready(rank, ranks, groups):
                clock += 0.0005
                for other in _partners(rank, ranks, groups):
                    other.made[other.done].state, other.made[other.done].ended = "completed", clock
                    other.done += 1
                moved = True
    return ranks


def _partners(rank: Rank, ranks: Sequence[Rank], groups: Mapping[str, tuple[int, ...]]) -> list[Rank]:
    head = rank.made[rank.done].step
    if head.peer is not None:
        return [rank, ranks[head.peer]]
    return [ranks[member] for member in groups[head.group]]


def _ready(rank: Rank, ranks: Sequence[Rank], groups: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether all that take part have come to it, with the same call, and no device jams."""
    head = rank.made[rank.done]
    for other in _partners(rank, ranks, groups):
        if other.done == len(other.made):
            return False
        theirs = other.made[other.done]
        if theirs.step.jam or theirs.step.group != head.step.group:
            return False
        if head.step.peer is not None:
            fits = theirs.step.peer is not None and (other is rank or theirs.step.peer == rank.number)
            if not fits or (other is not rank and theirs.step.op == head.step.op):
                return False
        elif theirs.seq != head.seq or _called(theirs.step) != _called(head.step):
            return False
    return True


def _called(step: Step) -> tuple[str, int, str, int | None]:
    return step.op, step.count, step.dtype, step.root


# ---- layouts


def world(size: int) -> dict[str, tuple[int, ...]]:
    return {"0": tuple(range(size))}


def halves(size: int) -> dict[str, tuple[int, ...]]:
    return {**world(size), "1": tuple(range(size // 2)), "2": tuple(range(size // 2, size))}


def grid(size: int) -> dict[str, tuple[int, ...]]:
    """Rows and columns that overlap, rows of two."""
    rows = {str(1 + row): (2 * row, 2 * row + 1) for row in range(size // 2)}
    columns = {str(1 + size // 2 + column): tuple(range(column, size, 2)) for column in range(2)}
    return {**world(size), **rows, **columns}


LAYOUTS = {"world": world, "halves": halves, "grid": grid}

_CYCLE: tuple[tuple[str, int], ...] = (
    ("allreduce", 4096), ("allgather", 512), ("reduce_scatter", 2048), ("allreduce", 16), ("broadcast", 8192),
    ("alltoall", 64),
)  # fmt: skip


def healthy(size: int, groups: Mapping[str, tuple[int, ...]], rounds: int) -> list[list[Step]]:
    """Every rank calls in all of its groups, in one order, round after round."""
    programs: list[list[Step]] = [[] for _ in range(size)]
    for number in range(rounds):
        for index, (name, ranks) in enumerate(sorted(groups.items(), key=lambda item: (len(item[1]), item[0]))):
            op, count = _CYCLE[(number + index) % len(_CYCLE)]
            for rank in ranks:
                programs[rank].append(Step(name, op, count, root=0 if op == "broadcast" else None))
    return programs


def index_of(program: Sequence[Step], group: str, seq: int) -> int:
    """Where in a program the `seq`th collective of a group stands, from 1."""
    places = [index for index, step in enumerate(program) if step.group == group and step.peer is None]
    return places[seq - 1]


# ---- faults


def missing(size: int, layout: str, culprits: Sequence[int], group: str, seq: int, ahead: int) -> Job:
    """Their programs stop before a call."""
    groups = LAYOUTS[layout](size)
    programs = healthy(size, groups, seq + 4)
    for rank in culprits:
        index = index_of(programs[rank], group, seq)
        programs[rank][index] = replace(programs[rank][index], stay=True)
    return Job(size, groups, run(size, groups, programs, ahead), Truth("missing", frozenset(culprits), (group, seq)))


def stuck(size: int, layout: str, culprits: Sequence[int], group: str, seq: int, ahead: int) -> Job:
    """Their devices stop before a call, and their programs go on handing them more. What the others have of it by then
    is over: the culprit's device took part, and did not come back."""
    groups = LAYOUTS[layout](size)
    programs = healthy(size, groups, seq + 4)
    ranks = run(size, groups, [list(program) for program in programs], ahead)
    for rank in culprits:
        index = index_of(programs[rank], group, seq)
        programs[rank][index + 1] = replace(programs[rank][index + 1], jam=True)
    ranks = run(size, groups, programs, ahead)
    for rank in culprits:
        last = ranks[rank].made[ranks[rank].done - 1]
        last.state, last.ended = "scheduled", None
        ranks[rank].done -= 1
    return Job(size, groups, ranks, Truth("stuck", frozenset(culprits), (group, seq)))


def joined(size: int, layout: str, group: str, seq: int, ahead: int) -> Job:
    """The network takes all of a call, and it does not end."""
    groups = LAYOUTS[layout](size)
    programs = healthy(size, groups, seq + 4)
    for rank in groups[group]:
        index = index_of(programs[rank], group, seq)
        programs[rank][index] = replace(programs[rank][index], jam=True)
    return Job(size, groups, run(size, groups, programs, ahead), Truth("joined", frozenset(), (group, seq)))


def mismatch(size: int, layout: str, culprits: Sequence[int], group: str, seq: int, ahead: int, how: str) -> Job:
    """They call something else, in one of `operation`, `count`, `dtype`."""
    groups = LAYOUTS[layout](size)
    programs = healthy(size, groups, seq + 4)
    for rank in culprits:
        index = index_of(programs[rank], group, seq)
        step = programs[rank][index]
        other = {"operation": {"op": "reduce" if step.op != "reduce" else "allreduce", "root": None},
                 "count": {"count": step.count + 1}, "dtype": {"dtype": "Half"}}[how]  # fmt: skip
        programs[rank][index] = replace(step, **other)
    named = frozenset(culprits) if 2 * len(culprits) < len(groups[group]) else frozenset()
    truth = Truth("mismatch", named, (group, seq), frozenset(culprits))
    return Job(size, groups, run(size, groups, programs, ahead), truth)


def opposite_order(size: int, seq: int, ahead: int) -> Job:
    """Ranks 0 and 3 enter their columns before their rows, all others the other way round: 0 waits for 2 in a column,
    2 for 3 in a row, 3 for 1 in the other column, and 1 for 0 in the other row."""
    groups = grid(size)
    programs = healthy(size, groups, seq + 4)
    for rank, row, column in ((0, "1", str(1 + size // 2)), (3, "2", str(2 + size // 2))):
        one, other = index_of(programs[rank], row, seq), index_of(programs[rank], column, seq)
        programs[rank][one], programs[rank][other] = programs[rank][other], programs[rank][one]
    return Job(size, groups, run(size, groups, programs, ahead), Truth("cycle", frozenset(range(4)), None))


def message_circle(size: int) -> Job:
    """Each receives from the one before before it sends to the next."""
    groups = world(size)
    programs = [
        [
            Step("0", "allreduce"),
            Step("0", "recv", peer=(rank - 1) % size),
            Step("0", "send", peer=(rank + 1) % size),
        ]
        for rank in range(size)
    ]
    return Job(size, groups, run(size, groups, programs, 1), Truth("cycle", frozenset(range(size)), None))
