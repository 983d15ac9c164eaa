"""Reading the other hosts' clocks: one rank of each host tells rank 0 what its clock says, again and again.

Ranks of one host share a clock, so one of them answers for all. Rank 0 asks host after host; what the stamps mean is
worked out in clocks.py. May import: numpy, collectives, clocks.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from collectives.communicator import Call, Communicator
from collectives.dtypes import Array
from suites.clocks import Exchange, Reading, read

MOST_EXCHANGES, LEAST_EXCHANGES = 32, 8
"""With one host. The least round trip counts, and of so many one is hardly disturbed."""
ALL_EXCHANGES = 512
"""With all hosts together, as long as each has its least: that bounds what a run with many hosts spends on it."""

OWN = Reading(0, 0, 0)
"""Of the host whose clock all others are compared with."""


@dataclass(frozen=True, slots=True)
class _Partner:
    """Rank 0 and the rank that answers for a host, as a group of two."""

    ask: Call
    answer: Call
    word: Array
    """Either way a number of eight bytes; what the clock says, on the way back."""


class HostClocks:
    """The clocks of a run's hosts. All ranks make it and `read` it together; with one host there is nothing to read.

    A peer that does not answer is waited for as in any call of the communicator.
    """

    def __init__(self, comm: Communicator, counts: Sequence[int]) -> None:
        """`counts` are the ranks on each host."""
        self._rank = comm.rank
        firsts = [sum(counts[:host]) for host in range(1, len(counts))]
        mine = firsts if comm.rank == 0 else [rank for rank in firsts if rank == comm.rank]
        self._partners = [self._meet(comm, rank) for rank in mine]
        self._times = max(min(MOST_EXCHANGES, ALL_EXCHANGES // max(len(firsts), 1)), LEAST_EXCHANGES)
        self._readings: list[list[Reading]] = []
        """Of every host, on rank 0, the last two times."""

    def read(self) -> None:
        if self._rank:
            for partner in self._partners:
                self._answer(partner)
        elif self._partners:
            now = [OWN, *(read(self._ask(partner)) for partner in self._partners)]
            self._readings = [*self._readings[-1:], now]

    def report(self) -> list[list[tuple[Any, ...]]] | None:
        """Every host's last two readings, for the controller; None on ranks other than 0, and where all have one
        clock."""
        if len(self._readings) < 2:
            return None
        return [[astuple(before), astuple(after)] for before, after in zip(*self._readings, strict=True)]

    def _meet(self, comm: Communicator, rank: int) -> _Partner:
        # Bound once: what a call needs to be looked up would count as part of the way.
        pair = comm.group((0, rank))
        word = pair.allocate(1, "int64")
        word[:] = 0
        asked, answered = (
            pair.bind("broadcast", word if pair.rank == root else None, word, root=root) for root in (0, 1)
        )
        return _Partner(asked, answered, word)

    def _ask(self, partner: _Partner) -> list[Exchange]:
        exchanges = []
        for _ in range(self._times):
            asked = time.monotonic_ns()
            partner.ask.run()
            partner.answer.run()
            answered = time.monotonic_ns()
            exchanges.append(Exchange(asked, int(partner.word[0]), answered))
        return exchanges

    def _answer(self, partner: _Partner) -> None:
        for _ in range(self._times):
            partner.ask.run()
            partner.word[0] = time.monotonic_ns()
            partner.answer.run()
