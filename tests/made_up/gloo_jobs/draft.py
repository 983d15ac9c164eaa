"""Jobs without a fault, drawn at random: layouts of groups, and programs that call in them in one order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.made_up.gloo_jobs.plan import OPERATIONS, WORLD, Call, Where, where_of

# ---- layouts


def _world(rng: random.Random, size: int) -> list[Sequence[int]]:
    return []


def _halves(rng: random.Random, size: int) -> list[Sequence[int]]:
    return [range(size // 2), range(size // 2, size)]


def _grid(rng: random.Random, size: int) -> list[Sequence[int]]:
    """Rows of two, and columns."""
    return [*(range(first, first + 2) for first in range(0, size, 2)), range(0, size, 2), range(1, size, 2)]


def _cube(rng: random.Random, size: int) -> list[Sequence[int]]:
    """Blocks of two by two in a row: pairs along the first side, pairs along the second, and the rows."""
    second = [(first + side, first + side + 2) for first in range(0, size, 4) for side in range(2)]
    rows = [range(corner, size, 4) for corner in range(4)]
    return [*(range(first, first + 2) for first in range(0, size, 2)), *second, *rows]


def _pairs(rng: random.Random, size: int) -> list[Sequence[int]]:
    return [(rank, rank + size // 2) for rank in range(size // 2)]


def _overlap(rng: random.Random, size: int) -> list[Sequence[int]]:
    """Any, without an order."""
    return [sorted(rng.sample(range(size), rng.randint(2, size - 1))) for _ in range(rng.randint(2, 4))]


LAYOUTS = {"world": _world, "halves": _halves, "grid": _grid, "cube": _cube, "pairs": _pairs, "overlap": _overlap}
_BY_FOUR = ("cube",)


def groups_of(layout: str, rng: random.Random, size: int) -> dict[str, tuple[int, ...]]:
    """By torch's names for them: in the order in which they are made, the world first."""
    made = [tuple(members) for members in LAYOUTS[layout](rng, size) if len(members) > 1]
    return {str(number): members for number, members in enumerate([tuple(range(size)), *made])}


# ---- programs


@dataclass
class Draft:
    """A job without a fault, for one to be put into. `rank` is to be at fault, at `index` of its program, which is
    a call of `group`, and not the first there."""

    rng: random.Random
    size: int
    layout: str
    groups: Mapping[str, tuple[int, ...]]
    programs: list[list[Call]]
    group: str
    rank: int
    index: int

    @property
    def where(self) -> Where:
        return where_of(self.programs[self.rank], self.index)


class Unfit(Exception):
    """This fault cannot be made in this job."""


def draft(rng: random.Random, least: int) -> Draft:
    """`least` is how many members the group of the fault has."""
    size = rng.choice((4, 4, 6, 8, 8, 12))
    layout = rng.choice([name for name in LAYOUTS if size % 4 == 0 or name not in _BY_FOUR])
    groups = groups_of(layout, rng, size)
    programs: list[list[Call]] = [[] for _ in range(size)]
    for call in _calls(rng, groups):
        for rank in groups[call.group]:
            programs[rank].append(call)
    group = rng.choice([name for name, members in groups.items() if len(members) >= least])
    rank = rng.choice(groups[group])
    places = [index for index, call in enumerate(programs[rank]) if call.group == group]
    if len(places) < 2:
        raise Unfit("a group that has hardly begun")
    return Draft(rng, size, layout, groups, programs, group, rank, rng.choice(places[1:]))


def _calls(rng: random.Random, groups: Mapping[str, tuple[int, ...]]) -> Iterator[Call]:
    """In one order for all ranks, so that nobody waits in a circle: rounds of a call in each group, some of them with
    one of the world."""
    names = [name for name in groups if name != WORLD] or [WORLD]
    for _ in range(rng.randint(4, 7)):
        for name in names:
            yield _call(rng, name, len(groups[name]))
        if rng.random() < 0.5:
            yield _call(rng, WORLD, len(groups[WORLD]))


def _call(rng: random.Random, group: str, members: int) -> Call:
    operation = rng.choice((*OPERATIONS, "all_reduce", "all_gather"))
    count = members * rng.choice((4, 16, 60, 128))  # a part for each member
    return Call(group, operation, count, rng.choice(("Float", "Float", "Int")), waits=rng.random() < 0.7)
