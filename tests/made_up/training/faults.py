"""Faults put into the programs of a job, and the truth of what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from random import Random

from suites.diagnose.facts import Class
from tests.made_up.training.mesh import Mesh
from tests.made_up.training.program import Collective, Fail, Hang, Messages, Step, Stop
from tests.made_up.training.streams import Run

Program = list[Step]
Programs = list[Program]

_OF_ONE_SIZE = frozenset(("all_reduce", "_all_gather_base", "_reduce_scatter_base"))


@dataclass(frozen=True)
class Fault:
    """What was done: to whom, and in which collective where it is in one."""

    name: Class
    """Of the verdict that it asks for."""
    ranks: frozenset[int] = frozenset()
    where: tuple[str, int] | None = None


@dataclass(frozen=True)
class Truth:
    """What the fault made of the job. `culprits` are those whose fault it came to: who was stopped by another before
    its own fault is a victim."""

    name: Class
    culprits: frozenset[int]
    where: tuple[str, int] | None = None
    circle: frozenset[int] = frozenset()
    """Those who wait for each other, the culprit among them."""


Maker = Callable[[Random, Mesh, Programs], Fault | None]
"""Puts a fault into the programs, where it can be made in them."""


def _nothing(random: Random, mesh: Mesh, programs: Programs) -> Fault:
    return Fault("none")


def _halt(number: int, within: int | None, step: Step, name: Class) -> Maker:
    """So many ranks come to this instead of going on, at most so many steps from each other, or anywhere."""
    return _put(number, within, lambda _, program, index: program.insert(index, step), name)


def _failing(number: int) -> Maker:
    """The devices of so many ranks fail; their hosts go on for a few calls before they see it."""

    def fail(random: Random, program: Program, index: int) -> None:
        program.insert(min(index + random.randint(0, 20), len(program)), Stop())
        program.insert(index, Fail(random.randint(0, 15)))

    return _put(number, 2, fail, "stuck")


def _put(number: int, within: int | None, change: Callable[[Random, Program, int], None], name: Class) -> Maker:
    """Change the programs of so many ranks, at most so many steps from each other, or anywhere."""

    def make(random: Random, mesh: Mesh, programs: Programs) -> Fault | None:
        if mesh.size <= number:
            return None
        ranks = random.sample(range(mesh.size), number)
        first = _inside(random, programs[ranks[0]])
        for rank in ranks:
            program = programs[rank]
            index = _inside(random, program) if within is None else first + random.randint(0, within)
            change(random, program, min(index, len(program) - 1))
        return Fault(name, frozenset(ranks))

    return make


def _inside(random: Random, program: Sequence[Step]) -> int:
    """Mostly while it trains; else from the start to the end."""
    if random.random() < 0.3:
        return random.randrange(len(program))
    return random.randrange(len(program) // 4, len(program) * 3 // 4)


def _device_lost(random: Random, mesh: Mesh, programs: Programs) -> Fault | None:
    rank = random.randrange(mesh.size)
    found = _some_collective(random, programs[rank], lambda call: call.awaited)
    if found is None:
        return None
    index, call = found
    programs[rank][index] = replace(call, last=True)
    return Fault("stuck", frozenset((rank,)))


def _other_operation(random: Random, mesh: Mesh, programs: Programs) -> Fault | None:
    def other(call: Collective) -> Collective:
        return replace(call, op="_all_gather_base" if call.op.startswith("all_reduce") else "all_reduce")

    return _differing(random, mesh, programs, lambda call: True, other)


def _other_size(random: Random, mesh: Mesh, programs: Programs) -> Fault | None:
    def other(call: Collective) -> Collective:
        return replace(call, count=call.count + len(mesh.group(call.group).ranks))

    return _differing(random, mesh, programs, lambda call: call.op in _OF_ONE_SIZE, other)


def _differing(
    random: Random,
    mesh: Mesh,
    programs: Programs,
    fits: Callable[[Collective], bool],
    other: Callable[[Collective], Collective],
) -> Fault | None:
    """One rank calls something else."""
    rank = random.randrange(mesh.size)
    found = _some_collective(random, programs[rank], fits)
    if found is None:
        return None
    index, call = found
    programs[rank][index] = other(call)
    return Fault("mismatch", frozenset((rank,)), (call.group, _seq(programs[rank], index)))


def _left_out_call(random: Random, mesh: Mesh, programs: Programs) -> Fault | None:
    """One rank takes what others call next for what they are in."""
    rank = random.randrange(mesh.size)
    found = _some_collective(random, programs[rank], lambda call: call.awaited)
    if found is None:
        return None
    programs[rank].pop(found[0])
    return Fault("mismatch", frozenset((rank,)))


def _lost_by_network(random: Random, mesh: Mesh, programs: Programs) -> Fault | None:
    rank = random.randrange(mesh.size)
    found = _some_collective(random, programs[rank], lambda call: True)
    if found is None:
        return None
    index, call = found
    programs[rank][index] = replace(call, lost=True)
    return Fault("joined", where=(call.group, _seq(programs[rank], index)))


def _some_collective(
    random: Random, program: Sequence[Step], fits: Callable[[Collective], bool]
) -> tuple[int, Collective] | None:
    """With its index; not of the first steps."""
    begin = len(program) // 4
    places = [
        (index, step)
        for index, step in enumerate(program)
        if index > begin and isinstance(step, Collective) and fits(step)
    ]
    return random.choice(places) if places else None


def _seq(program: Sequence[Step], index: int) -> int:
    """The number of the collective at this place, in its group."""
    call = program[index]
    assert isinstance(call, Collective)
    return sum(isinstance(step, Collective) and step.group == call.group for step in program[: index + 1])


def _swapped(random: Random, mesh: Mesh, programs: Programs) -> Fault | None:
    """One rank calls in two groups in the other order than its fellows in both."""
    rank = random.randrange(mesh.size)
    program = programs[rank]

    def fellows(one: Step, other: Step) -> bool:
        if not (isinstance(one, Collective) and isinstance(other, Collective)) or one.group == other.group:
            return False
        both = set(mesh.group(one.group).ranks) & set(mesh.group(other.group).ranks)
        return len(both) > 1 and one.awaited and other.awaited

    places = [index for index in range(len(program) - 1) if fellows(program[index], program[index + 1])]
    if not places:
        return None
    index = random.choice(places)
    program[index], program[index + 1] = program[index + 1], program[index]
    return Fault("cycle", frozenset((rank,)))


def _left_out_send(random: Random, mesh: Mesh, programs: Programs) -> Fault | None:
    rank = random.randrange(mesh.size)
    sends = [
        (index, number)
        for index, step in enumerate(programs[rank]) if isinstance(step, Messages)
        for number, message in enumerate(step.messages) if message.way == "send"
    ]  # fmt: skip
    if not sends:
        return None
    index, number = random.choice(sends)
    step = programs[rank][index]
    assert isinstance(step, Messages)
    left = (*step.messages[:number], *step.messages[number + 1 :])
    programs[rank][index : index + 1] = [replace(step, messages=left)] if left else []
    return Fault("cycle", frozenset((rank,)))


def _crossed_sends(random: Random, mesh: Mesh, programs: Programs) -> Fault | None:
    """Two neighbours send to each other before they receive. Messages of one batch have no order."""
    rank = random.randrange(mesh.size)
    places = [
        index
        for index, step in enumerate(programs[rank])
        if isinstance(step, Messages) and not step.batched and len(step.messages) == 2
        if step.messages[0].way == "recv"
    ]
    if not places:
        return None
    index = random.choice(places)
    step = programs[rank][index]
    assert isinstance(step, Messages)
    programs[rank][index] = replace(step, messages=step.messages[::-1])
    return Fault("cycle", frozenset((rank,)))


FAULTS: Mapping[str, Maker] = {
    "none": _nothing,
    "host stops": _halt(1, 0, Stop(), "missing"),
    "two hosts stop": _halt(2, 2, Stop(), "missing"),
    "two hosts stop apart": _halt(2, None, Stop(), "missing"),
    "killed": _halt(1, 0, Stop(killed=True), "missing"),
    "device hangs": _halt(1, 0, Hang(), "stuck"),
    "two devices hang": _halt(2, 0, Hang(), "stuck"),
    "device lost": _device_lost,
    "other operation": _other_operation,
    "other size": _other_size,
    "left out call": _left_out_call,
    "lost by network": _lost_by_network,
    "swapped calls": _swapped,
    "left out send": _left_out_send,
    "crossed sends": _crossed_sends,
    "three hosts stop": _halt(3, 2, Stop(), "missing"),
    "processes stop": _halt(2, 2, Stop(silent=True), "missing"),
    "early dump": _halt(1, 0, Stop(early=True), "missing"),
    "device fails": _failing(1),
    "two devices fail": _failing(2),
}


def truth(fault: Fault, run: Run) -> Truth:
    """By where all stand at the end."""
    if fault.name == "missing":
        return Truth("missing", frozenset(rank for rank in fault.ranks if isinstance(run.ranks[rank].step, Stop)))
    if fault.name == "stuck":
        return Truth("stuck", frozenset(rank.number for rank in run.ranks if rank.hangs or isinstance(rank.step, Stop)))
    where = fault.where
    if fault.name == "mismatch" and where is None:
        where = min(run.differing(), default=None)
    if fault.name == "cycle" or (fault.name == "mismatch" and where is None):
        (rank,) = fault.ranks
        found = circle(run.waits(), rank)
        # Who left out something may have gone on to its end: others wait for it, and it for nobody.
        return Truth("cycle" if len(found) > 1 else "missing", fault.ranks, circle=found)
    return Truth(fault.name, fault.ranks, where)


def circle(waits: Mapping[int, Set[int]], rank: int) -> frozenset[int]:
    """A rank and all who wait for it, and for whom it waits, through whomever."""
    reached = {start: _reached(waits, start) for start in waits}
    return frozenset({rank, *(other for other in reached[rank] if rank in reached[other])})


def _reached(waits: Mapping[int, Iterable[int]], start: int) -> set[int]:
    found: set[int] = set()
    fresh = [start]
    while fresh:
        for other in waits.get(fresh.pop(), ()):
            if other not in found:
                found.add(other)
                fresh.append(other)
    return found
