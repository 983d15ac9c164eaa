"""How much memory a sweep takes before any is taken. Pure. May import: collectives, case, sweep, jobs.arena, world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from collectives.algorithms import algorithm_named
from suites import world
from suites.case import Case
from suites.jobs.arena import layout
from suites.sweep import Sweep


def needed(sweep: Sweep, counts: Sequence[int], beyond: int) -> list[int]:
    """Bytes that the ranks of each host take together, with so many ranks on each, for the largest round: its members'
    buffers are there at the same time."""
    ranks, first, found = sum(counts), 0, []
    largest: dict[tuple[object, ...], list[Case]] = {}
    for indexes in sweep.rounds:
        members = [sweep.cases[index] for index in indexes]
        key = (*((case.collective, case.backend, case.algorithm, case.in_place) for case in members),)
        largest[key] = max(largest.get(key, members), members, key=lambda cases: cases[0].count)
    for count in counts:
        mine = range(first, first + count)
        first += count
        rounds = (sum(case_bytes(case, mine, ranks, beyond) for case in members) for members in largest.values())
        found.append(max(rounds, default=0) + count * world.RANK_OVERHEAD)
    return found


def case_bytes(case: Case, mine: Iterable[int], ranks: int, beyond: int) -> int:
    """Of some of the ranks. What a library takes for itself is its own affair and not known."""
    total = 0
    for rank in mine:
        scratch = 0
        if case.planned:
            scratch = algorithm_named(case.collective, case.algorithm).plan(case.shape(rank, ranks)).scratch
        total += layout(case, rank, ranks, beyond, scratch).total
    return total
