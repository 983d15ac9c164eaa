"""How much memory a sweep takes before any is taken. Pure. May import: collectives, case, sweep, jobs.arena, world."""

from __future__ import annotations

from collectives.algorithms import algorithm_named
from suites import world
from suites.case import Case
from suites.jobs.arena import layout
from suites.sweep import Sweep


def needed(sweep: Sweep, ranks: int, beyond: int) -> int:
    """Bytes that all ranks together take for the largest round: its members' buffers are there at the same time."""
    largest: dict[tuple[object, ...], list[Case]] = {}
    for indexes in sweep.rounds:
        members = [sweep.cases[index] for index in indexes]
        key = (*((case.collective, case.backend, case.algorithm, case.in_place) for case in members),)
        largest[key] = max(largest.get(key, members), members, key=lambda cases: cases[0].count)
    most = max((sum(case_bytes(case, ranks, beyond) for case in members) for members in largest.values()), default=0)
    return most + ranks * world.RANK_OVERHEAD


def case_bytes(case: Case, ranks: int, beyond: int) -> int:
    """Of all ranks. What a library takes for itself is its own affair and not known."""
    total = 0
    for rank in range(ranks):
        scratch = 0
        if case.planned:
            scratch = algorithm_named(case.collective, case.algorithm).plan(case.shape(rank, ranks)).scratch
        total += layout(case, rank, ranks, beyond, scratch).total
    return total
