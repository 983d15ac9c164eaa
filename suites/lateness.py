"""Who is late again and again, from when every rank entered and left its calls: a judgement of times, nothing else.

Late is who kept the others of a call waiting by something of its own: between the call before and this one it took
much longer than all other ranks did. That is a matter of each rank's own clock, so clocks of hosts need not agree; who
was held up inside the call before is not late by itself; and time spent in the queue for a CPU is taken off, since on a
busy machine it strikes whomever it strikes. May import: the standard library.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEAST_SECONDS, LEAST_PART = 0.15, 0.05
"""What counts as late: by so much, or by this part of the deadline, whatever is more."""
LEAST_CALLS = 3


@dataclass(frozen=True, slots=True)
class Entered:
    """One rank's entry to a call, in nanoseconds of its own clock, and how long it waited for a CPU since the call
    before."""

    number: int
    entry: int
    left: int
    waited: int


@dataclass(frozen=True, slots=True)
class Late:
    """A rank, the calls that it was late at, and by how many seconds in all."""

    rank: int
    numbers: tuple[int, ...]
    seconds: float


def threshold(timeout: float) -> float:
    return max(LEAST_SECONDS, LEAST_PART * timeout)


def judge(entered: Mapping[int, Sequence[Entered]], timeout: float) -> Late | None:
    """The one rank that was late at least LEAST_CALLS times, and more often than all others together. None where there
    is none, which is the case wherever it is anybody's turn."""
    own = {rank: _own_seconds(calls) for rank, calls in entered.items()}
    late: dict[int, dict[int, float]] = {}
    for number in {number for seconds in own.values() for number in seconds}:
        taken = sorted(((seconds[number], rank) for rank, seconds in own.items() if number in seconds), reverse=True)
        if len(taken) > 1 and taken[0][0] - max(taken[1][0], 0.0) > threshold(timeout):
            late.setdefault(taken[0][1], {})[number] = taken[0][0] - max(taken[1][0], 0.0)
    often = Counter({rank: len(numbers) for rank, numbers in late.items()})
    if not often:
        return None
    rank, times = often.most_common(1)[0]
    if times < LEAST_CALLS or times * 2 <= often.total():
        return None
    return Late(rank, tuple(sorted(late[rank])), sum(late[rank].values()))


def _own_seconds(calls: Sequence[Entered]) -> dict[int, float]:
    """By call: what the rank spent between the call before and this one, the queue for a CPU apart."""
    return {call.number: (call.entry - before.left - call.waited) / 1e9 for before, call in itertools.pairwise(calls)}
