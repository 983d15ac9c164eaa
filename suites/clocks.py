"""What the clocks of hosts differ by, and how far that is known: pure arithmetic on stamps that were exchanged.

One end notes when it asks and when it has the answer, the other what its clock said in between. Whatever the way there
and back took, unequally too, the difference of the clocks is then known to within half of the round trip: F. Cristian,
"Probabilistic clock synchronization", Distributed Computing 3 (1989). All times are nanoseconds, as stamps are.
May import: the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its answer: `asked` and `answered` on the clock of who asks, `there` on the other one."""

    asked: int
    there: int
    answered: int

    @property
    def round_trip(self) -> int:
        return self.answered - self.asked


@dataclass(frozen=True, slots=True)
class Reading:
    """When another clock said `at`, it was ahead by `offset`, which may be wrong by `error` in either direction."""

    at: int
    offset: int
    error: int


def read(exchanges: Iterable[Exchange]) -> Reading:
    """From the exchange with the least round trip, which errs least; at least one is needed."""
    best = min(exchanges, key=lambda exchange: exchange.round_trip)
    # Rounded up, since the middle is rounded down.
    return Reading(best.there, best.there - (best.asked + best.answered) // 2, (best.round_trip + 1) // 2)


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock that was read before and after something, against the clock that stamps are put on."""

    before: Reading
    after: Reading

    @property
    def error(self) -> int:
        """How far `offset` may be wrong anywhere between the readings.

        A clock that runs at another rate, but steadily, is between the readings where the line between them is. If the
        two cannot both be true of a clock that stood still, it has drifted, and then nothing says how steadily: it may
        have gone all of the way at once.
        """
        first, last = self.before, self.after
        least, apart = max(first.error, last.error), abs(last.offset - first.offset)
        return least + 1 if apart <= first.error + last.error else least + apart

    def offset(self, at: int) -> int:
        """By how much it was ahead when it said `at`. Outside the readings it is taken to have been as at the nearer
        one."""
        first, last = self.before, self.after
        if at <= first.at or last.at <= first.at:
            return first.offset
        if at >= last.at:
            return last.offset
        return first.offset + (last.offset - first.offset) * (at - first.at) // (last.at - first.at)


def clocks_of(readings: Sequence[Sequence[Sequence[int]]]) -> list[Clock]:
    """As ranks report them, host by host: (at, offset, error) before and after."""
    return [Clock(Reading(*before), Reading(*after)) for before, after in readings]


def worst(clocks: Sequence[Clock]) -> int:
    """How far two stamps of any two of the hosts may be put wrong to each other."""
    errors = sorted((clock.error for clock in clocks), reverse=True)
    return sum(errors[:2])
