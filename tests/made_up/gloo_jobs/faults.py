"""The faults: each changes the programs of a draft, and says what is true of the job then."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tests.made_up.gloo_jobs.draft import Draft, Unfit, draft
from tests.made_up.gloo_jobs.plan import OPERATIONS, Plan, Stop, Truth, Where, index_of, where_of


@dataclass(frozen=True)
class Fault:
    """`least` is of how many members: two of them cannot tell which of them errs."""

    put: Callable[[Draft], Truth]
    least: int = 2


def planned(seed: int, fault: str | None = None) -> Plan:
    """The job of a seed. Seeds that follow each other go through all faults."""
    name = fault or list(FAULTS)[seed % len(FAULTS)]
    rng = random.Random(seed)
    while True:
        try:
            job = draft(rng, FAULTS[name].least)
            truth = FAULTS[name].put(job)
        except Unfit:
            continue
        # A short memory has lost the beginning, as that of a job that ran for days.
        entries = rng.choice((2000, 2000, 60, 12))
        # The name is made of the members and of how many groups a rank has by then: they agree in regular layouts only.
        local = rng.random() < 0.2 and job.layout != "overlap"
        return Plan(seed, job.size, job.layout, job.groups, job.programs, name, truth, entries, local)


# ---- ranks that do not come


def _stop(job: Draft, rank: int, index: int, how: Stop) -> Where:
    job.programs[rank][index] = replace(job.programs[rank][index], stop=how)
    return where_of(job.programs[rank], index)


def _missing(calls: Mapping[int, Where]) -> Truth:
    return Truth(frozenset({"missing"}), frozenset(calls), tuple(sorted(set(calls.values()))))


def _stops(how: Stop) -> Fault:
    return Fault(lambda job: _missing({job.rank: _stop(job, job.rank, job.index, how)}))


def _two(job: Draft) -> Truth:
    """Two do not come to one call."""
    other = job.rng.choice([member for member in job.groups[job.group] if member != job.rank])
    places = {job.rank: job.index, other: index_of(job.programs[other], job.where)}
    return _missing({rank: _stop(job, rank, index, "sleep") for rank, index in places.items()})


def _two_groups(job: Draft) -> Truth:
    """Two stop, each where it is, at about the same time."""
    other = job.rng.choice([rank for rank in range(job.size) if rank != job.rank])
    near, last = job.index + job.rng.randint(-2, 2), len(job.programs[other]) - 1
    if last < 1:
        raise Unfit("it has hardly anything to call")
    places = {job.rank: job.index, other: max(1, min(near, last))}
    return _missing({rank: _stop(job, rank, index, "sleep") for rank, index in places.items()})


# ---- calls that do not fit


def _mismatch(job: Draft, where: Where) -> Truth:
    return Truth(frozenset({"mismatch"}), frozenset({job.rank}), (where,))


def _everybody_reduces(job: Draft) -> None:
    """Makes the call one whose count and type are seen."""
    where = job.where
    for member in job.groups[job.group]:
        index = index_of(job.programs[member], where)
        job.programs[member][index] = replace(job.programs[member][index], operation="all_reduce")


def _operation(job: Draft) -> Truth:
    call = job.programs[job.rank][job.index]
    others = [name for name in OPERATIONS if name != call.operation]
    job.programs[job.rank][job.index] = replace(call, operation=job.rng.choice(others))
    return _mismatch(job, job.where)


def _count(job: Draft) -> Truth:
    if job.programs[job.rank][job.index].operation in ("barrier", "all_to_all"):
        _everybody_reduces(job)
    call = job.programs[job.rank][job.index]
    job.programs[job.rank][job.index] = replace(call, count=call.count + 2 * len(job.groups[job.group]))
    return _mismatch(job, job.where)


def _dtype(job: Draft) -> Truth:
    if job.programs[job.rank][job.index].operation == "barrier":
        _everybody_reduces(job)
    job.programs[job.rank][job.index] = replace(job.programs[job.rank][job.index], dtype="Double")
    return _mismatch(job, job.where)


def _swap(job: Draft) -> Truth:
    """Makes two calls of a group in the other order."""
    program, later = job.programs[job.rank], job.index
    first = max(index for index in range(later) if program[index].group == job.group)
    if program[first].signature == program[later].signature:
        raise Unfit("nobody would see it")
    program[first], program[later] = program[later], program[first]
    return _mismatch(job, where_of(program, first))


# ---- calls in another order


_OUT_OF_STEP = frozenset({"missing", "mismatch", "cycle"})


def _skip(job: Draft) -> Truth:
    """Leaves a call out, and is one ahead from there. What shows is whatever comes of it."""
    where = job.where
    del job.programs[job.rank][job.index]
    return Truth(_OUT_OF_STEP, frozenset({job.rank}), (where,), anywhere=True)


def _order(job: Draft) -> Truth:
    """Makes two calls of different groups in the other order, where everybody waits for both."""
    program = job.programs[job.rank]
    places = [index for index in range(1, len(program) - 1) if program[index].group != program[index + 1].group]
    if not places:
        raise Unfit("it has but one group")
    index = job.rng.choice(places)
    calls = (where_of(program, index), where_of(program, index + 1))
    for where in calls:
        for member in job.groups[where[0]]:
            place = index_of(job.programs[member], where)
            job.programs[member][place] = replace(job.programs[member][place], waits=True)
    program[index], program[index + 1] = program[index + 1], program[index]
    return Truth(_OUT_OF_STEP, frozenset({job.rank}), calls, anywhere=True)


FAULTS: Mapping[str, Fault] = {
    "sleep": _stops("sleep"), "raise": _stops("raise"), "exit": _stops("exit"), "kill": _stops("kill"),
    "busy": _stops("busy"), "two": Fault(_two, 3), "two groups": Fault(_two_groups), "operation": Fault(_operation, 3),
    "count": Fault(_count, 3), "dtype": Fault(_dtype, 3), "swap": Fault(_swap), "skip": Fault(_skip, 3),
    "order": Fault(_order),
}  # fmt: skip
