"""Short words for plans written by hand in tests, and the shortest way to prove them."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms import Algorithm
from collectives.ops import COLLECTIVES
from collectives.schedule import Fold, Plan, Receive, Send, Shape, Span, Step
from collectives.simulate import Outcome, simulate

Groups = tuple[tuple[int, ...], ...]


def s(start: int, stop: int) -> Span:
    return Span("send", start, stop)


def r(start: int, stop: int) -> Span:
    return Span("recv", start, stop)


def x(start: int, stop: int) -> Span:
    return Span("scratch", start, stop)


def step(*parts: Send | Receive | Fold) -> Step:
    """A step of these parts, each kind in the order given."""
    return Step(
        sends=tuple(part for part in parts if isinstance(part, Send)),
        receives=tuple(part for part in parts if isinstance(part, Receive)),
        folds=tuple(part for part in parts if isinstance(part, Fold)),
    )


def copy(rank: int, source: Span, target: Span) -> Step:
    return step(Send(rank, (source,)), Receive(rank, (target,)))


def prove(
    collective: str, count: int, *ranks: Sequence[Step], scratch: int = 0, in_place: bool = False, root: int = 0
) -> Outcome:
    """Prove the steps of all ranks. Raises PlanError."""
    row = COLLECTIVES[collective]
    size = len(ranks)
    shapes = [row.shape(rank, size, count, root=root, in_place=in_place) for rank in range(size)]
    return simulate([Plan(tuple(steps), scratch) for steps in ranks], row, shapes, count)


def equal_groups(size: int, group: int) -> Groups:
    """Consecutive ranks, `group` in each."""
    return tuple(tuple(range(first, first + group)) for first in range(0, size, group))


def round_robin(size: int, group: int) -> Groups:
    """`group` ranks in each, dealt out like cards."""
    return tuple(tuple(range(first, size, size // group)) for first in range(size // group))


def made(algorithm: Algorithm, shapes: Sequence[Shape]) -> list[Plan]:
    return [algorithm.plan(shape) for shape in shapes]


def shapes_of(
    algorithm: Algorithm, size: int, count: int, *, root: int = 0, groups: Groups = (), in_place: bool = False
) -> list[Shape]:
    row = COLLECTIVES[algorithm.collective]
    return [row.shape(rank, size, count, root=root, groups=groups, in_place=in_place) for rank in range(size)]


def groupings(algorithm: Algorithm, size: int) -> list[Groups]:
    """Every way to make equal groups of consecutive ranks, for an algorithm that needs groups; else none at all."""
    if algorithm.name != "hierarchical":
        return [()]
    return [equal_groups(size, group) for group in range(1, size + 1) if size % group == 0]
