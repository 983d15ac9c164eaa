"""Where a fault of `diagnose deadlock --inject` strikes: the call of the exercise, found or refused before ranks start.

A fault that could never be noticed proves nothing, so it moves to the nearest call where it can, or is refused.
May import: exercise, errors, collectives, jobs.inject.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collectives.dtypes import DTYPES
from collectives.ops import COLLECTIVES
from suites.errors import UsageError
from suites.exercise import LAYOUTS, Group, Scheduled, calls_of

RENDEZVOUS, RENDEZVOUS_NUMBER = "rendezvous", 0
POINTS = (RENDEZVOUS, "first", "middle", "last")
BEFORE_MEETING = ("exit0", "sleep", "raise", "kill", "stop")
"""Faults that need no call."""


_LARGE = 64 << 10


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault as the ranks are told: at the call of this number, 0 for before the ranks meet. `forward` is the number
    of the call that comes before it instead of after it, where the order is the fault."""

    fault: str
    rank: int
    number: int
    forward: int | None = None
    inside: bool = False
    """Once the rank has entered the call, not before."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Where a fault is noticed: what `fits` says of a call and the striking rank's part in it, in words `what`."""

    fits: Callable[[Scheduled, int], bool]
    what: str


def _receives(call: Scheduled, rank: int) -> bool:
    row, own = COLLECTIVES[call.collective], call.group.ranks.index(rank)
    return row.shape(own, len(call.group.ranks), call.count, root=call.root).recv.count > 0


def _carries(call: Scheduled, rank: int) -> bool:
    return call.count > 0


def _needs_all(call: Scheduled, rank: int) -> bool:
    """Whether others need what a rank does after all have entered: a part of a large allreduce, which it reduces."""
    return call.collective == "allreduce" and call.count * DTYPES[call.dtype].itemsize > _LARGE


_ANY = _Wanted(lambda call, rank: True, "at all")
_WANTED = {
    "mismatch-size": _Wanted(_carries, "that carries data"),
    "mismatch-dtype": _Wanted(_carries, "that carries data"),
    "mismatch-root": _Wanted(lambda call, rank: COLLECTIVES[call.collective].rooted, "that has a root"),
    "corrupt": _Wanted(_receives, "in which it receives"),
    "stop inside": _Wanted(_needs_all, "that needs it until the end"),
    "link-down": _Wanted(lambda call, rank: call.together, "whose members wait for all others"),
}
"""fault -> calls where it is noticed; all others at any."""


def resolve(injection: Mapping[str, Any], calls: Sequence[Scheduled], layout: str, host_of: Sequence[str]) -> Strike:
    """Where it strikes, in the calls of this layout. `injection` has the fault; the rank; `at`, a point of POINTS or a
    number among the collectives of a group, from 0; groups (names of groups or families, none for the layout's first
    one); and inside. `host_of` is the host of each rank. Raises UsageError."""
    size = len(host_of)
    fault, rank, at = injection["fault"], injection["rank"], injection["at"]
    if not 0 <= rank < size:
        raise _refused(f"rank {rank} is not in a world of {size}")
    if injection["inside"] and fault != "stop":
        raise _refused(f"inside is for stop, not for {fault}")
    if at == RENDEZVOUS:
        if fault not in BEFORE_MEETING or injection["inside"]:
            raise _refused(f"{fault} wants a call: at=first, middle, last or a number")
        return Strike(fault, rank, RENDEZVOUS_NUMBER)
    if fault == "link-down":
        if len(set(host_of)) < 2:
            raise _refused("link-down wants ranks on several hosts: --hosts")
        # In a group of one host nobody would notice it.
        calls = [call for call in calls if len({host_of[member] for member in call.group.ranks}) > 1]
    groups = _groups(injection["groups"], calls, layout, rank)
    if len(groups) > 1 and fault != "reorder":
        raise _refused(f"{fault} strikes in one group; several are for reorder")
    mine = [call for call in calls_of(calls, rank) if call.group == groups[0] and call.pair is None]
    start = _start(at, len(mine), groups[0])
    order = mine[start:] + mine[start - 1 :: -1] if start else mine
    if fault == "reorder":
        return _reordered(rank, order, groups[-1], calls)
    wanted = _WANTED.get(f"{fault} inside" if injection["inside"] else fault, _ANY)
    call = next((call for call in order if wanted.fits(call, rank)), None)
    if call is None:
        raise _refused(f"rank {rank} has no call in {groups[0].name} {wanted.what}, so {fault} would not be noticed")
    return Strike(fault, rank, call.number, inside=injection["inside"])


def hung(orders: Mapping[int, Sequence[Scheduled]]) -> dict[int, Scheduled]:
    """Where ranks that make their calls in these orders are left waiting, for ever: rank -> the call it is in. A call
    is taken to end when all its members are in it."""
    at = dict.fromkeys(orders, 0)

    def current(rank: int) -> Scheduled | None:
        return orders[rank][at[rank]] if at[rank] < len(orders[rank]) else None

    moved = True
    while moved:
        moved = False
        for rank in orders:
            call = current(rank)
            while call is not None and all(current(member) == call for member in call.members):
                moved = True
                for member in call.members:
                    at[member] += 1
                call = current(rank)
    return {rank: call for rank in orders if (call := current(rank)) is not None}


def brought_forward(mine: Sequence[Scheduled], number: int, forward: int) -> list[Scheduled]:
    """A rank's calls with one of them moved before another one."""
    moved = next(call for call in mine if call.number == forward)
    rest = [call for call in mine if call is not moved]
    place = next(index for index, call in enumerate(rest) if call.number == number)
    return [*rest[:place], moved, *rest[place:]]


def _reordered(rank: int, order: Sequence[Scheduled], other: Group, calls: Sequence[Scheduled]) -> Strike:
    """Its call, and its next one in the same group (a mismatch), or in another one where that makes ranks wait in a
    circle."""
    everyone = sorted({member for call in calls for member in call.members})
    orders: dict[int, Sequence[Scheduled]] = {member: calls_of(calls, member) for member in everyone}
    crossing = other != order[0].group
    for call in order:
        later = (c for c in orders[rank] if c.number > call.number and c.group == other and c.pair is None)
        following = next(later, None)
        if following is None or call.signature == following.signature:
            continue
        if crossing:
            if not (call.together and following.together):
                continue
            changed = brought_forward(orders[rank], call.number, following.number)
            if not hung({**orders, rank: changed}):
                continue
        return Strike("reorder", rank, call.number, following.number)
    raise _refused(
        f"no two calls of rank {rank} in {order[0].group.name} and {other.name} make ranks wait in a circle"
        if crossing
        else f"rank {rank} has no two calls in {other.name}"
    )


def _groups(names: Sequence[str], calls: Sequence[Scheduled], layout: str, rank: int) -> list[Group]:
    """Those of these names, or families, that the rank is in. By default the first of the layout that has others."""
    known = {call.group.name: call.group for call in calls}.values()
    own = [group for group in known if rank in group.ranks and len(group.ranks) > 1]
    own.sort(key=lambda group: LAYOUTS[layout].index(group.family))
    names = names or [group.family for group in own[:1]]
    if not names:
        raise _refused("a world of one rank has no calls that others wait in")
    found = [next((group for group in own if name in (group.name, group.family)), None) for name in names]
    if None in found:
        name = names[found.index(None)]
        words = [f"{group.name} ({group.family})" if group.name != group.family else group.name for group in own]
        raise _refused(
            f"rank {rank} is in no group '{name}' that would notice it; it is in {', '.join(words) or 'none'}"
        )
    return [group for group in found if group is not None]


def _start(at: str, number: int, group: Group) -> int:
    start = {"first": 0, "middle": number // 2, "last": number - 1}.get(at)
    start = int(at) if start is None else start
    if start >= number:
        raise _refused(f"there is no call {at} among {number} of {group.name}, counted from 0")
    return start


def _refused(why: str) -> UsageError:
    return UsageError(f"--inject: {why}")
