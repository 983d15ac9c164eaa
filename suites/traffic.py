"""What links carry: rates from what they have counted at two times, and what has become of each link during a watch.

Pure: it is told what was seen and when. A counter that is smaller than before was reset or came round to zero, and
which of both nobody can tell: the time in between has no rate, and counts for nothing. May import: probes, spread.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from probes.reading import State
from probes.traffic import Look, Sighting
from suites.spread import Spread

DIRECTIONS = ("rx", "tx")
GROWTH = ("errors", "retransmits", "drops")
"""What a sighting has counters of besides traffic."""
_MOST_GONE = 1000


class Change(StrEnum):
    """What happens to a link, apart from traffic."""

    APPEARED = "appeared"
    VANISHED = "vanished"
    RESET = "reset"
    """Its counters began anew."""


_LEAST_SECONDS = 1e-6
"""Two readings that are closer than this tell no rate."""


@dataclass(frozen=True, slots=True)
class Event:
    """`time` of the clock of the sightings."""

    time: float
    change: Change
    link: str


@dataclass(slots=True)
class Tally:
    """One link since the watch began. `now`: its rates, in bytes and packets a second, as they were last found. `sum`:
    bytes and packets since the beginning. `growth`: by how much errors and the like have grown, by their names; there
    is nothing in it of what the link has no counters for."""

    link: str
    kind: str
    source: str
    limit: float | None = None
    present: bool = True
    incarnation: int | None = None
    now: dict[str, float] = field(default_factory=dict)
    sum: Counter[str] = field(default_factory=Counter)
    spreads: dict[str, Spread] = field(default_factory=lambda: {way: Spread() for way in DIRECTIONS})
    resets: int = 0
    growth: dict[str, Counter[str]] = field(default_factory=dict)
    last: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Of each counter: what it was, and when."""

    @property
    def share(self) -> float | None:
        """Of what the link carries in one direction, in its busier one."""
        rates = [self.now[f"{way}_bytes"] for way in DIRECTIONS if f"{way}_bytes" in self.now]
        return max(rates) / self.limit if rates and self.limit else None

    def forget(self) -> None:
        """No rates, until there is something to compare with again."""
        self.last.clear()
        self.now.clear()

    def see(self, sighting: Sighting) -> bool:
        """Take in what was seen. Returns whether a counter began anew."""
        anew = None not in (self.incarnation, sighting.incarnation) and sighting.incarnation != self.incarnation
        self.incarnation = sighting.incarnation
        self.limit = sighting.limit or self.limit
        if anew:
            self.forget()
        for name in (*sighting.traffic, *sighting.rates):
            self.now.pop(name, None)
        for name, value in sighting.traffic.items():
            self.sum.setdefault(name, 0)
            grown = self._grown(name, value, sighting.time)
            if grown is None:
                continue
            amount, seconds = grown
            anew |= amount < 0
            if amount >= 0:
                self.sum[name] += amount
                if seconds >= _LEAST_SECONDS:
                    self._found(name, amount / seconds)
        for name, rate in sighting.rates.items():
            self._found(name, rate)
        for what in GROWTH:
            counters: Mapping[str, int] = getattr(sighting, what)
            sums = self.growth.setdefault(what, Counter()) if counters else Counter()
            for name, value in counters.items():
                amount, _ = self._grown(f"{sighting.source} {name}", value, sighting.time) or (0, 0)
                anew |= amount < 0
                if amount > 0:
                    sums[name] += amount
        self.resets += anew
        return anew

    def _found(self, name: str, rate: float) -> None:
        self.now[name] = rate
        if name.endswith("_bytes"):
            self.spreads[name.removesuffix("_bytes")].add(rate)

    def _grown(self, name: str, value: int, time: float) -> tuple[int, float] | None:
        """By how much, in how many seconds; None at first."""
        before = self.last.get(name)
        self.last[name] = (value, time)
        return None if before is None else (value - before[0], time - before[1])


class Watch:
    """All links, from the first look on."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.looks: dict[str, Look] = {}
        """The latest at each scope."""
        self.forgotten = 0
        """Links that vanished so long ago that nothing is kept of them: containers come and go with theirs."""
        self._links: dict[str, set[str]] = {}
        self._gone: deque[str] = deque()

    def take(self, look: Look, time: float) -> Iterator[Event]:
        """What happened, in words. At the first look at a scope all its links are there, and none has appeared."""
        self.looks[look.scope] = look
        if look.state is not State.TOLD:
            for link in self._links.get(look.scope, ()):
                self.tallies[link].forget()
            return
        before = self._links.get(look.scope)
        self._links[look.scope] = {sighting.link for sighting in look.sightings}
        for sighting in look.sightings:
            yield from self._see(sighting, before is None)
        there = set().union(*self._links.values())
        for link in sorted((before or set()) - there):
            self.tallies[link].present = False
            self.tallies[link].forget()
            self._gone.append(link)
            yield Event(time, Change.VANISHED, link)
        while len(self._gone) > _MOST_GONE:
            link = self._gone.popleft()
            if link in self.tallies and not self.tallies[link].present:
                del self.tallies[link]
                self.forgotten += 1

    def late(self, question: str | None) -> set[str]:
        """Links of which nothing is known now: the tool that tells of them hangs, or has had this question for long."""
        hung = (links for scope, links in self._links.items() if self.looks[scope].state is State.LATE)
        tool = question.split()[0] if question else None
        waiting = {link for link, tally in self.tallies.items() if tally.source.split()[0] == tool}
        return waiting.union(*hung)

    def _see(self, sighting: Sighting, first: bool) -> Iterator[Event]:
        link = sighting.link
        tally = self.tallies.get(link)
        if tally is None:
            tally = self.tallies[link] = Tally(link, sighting.kind, sighting.source)
            if not first:
                yield Event(sighting.time, Change.APPEARED, link)
        elif not tally.present:
            tally.present, tally.incarnation = True, None
            yield Event(sighting.time, Change.APPEARED, link)
        if tally.see(sighting):
            yield Event(sighting.time, Change.RESET, link)
