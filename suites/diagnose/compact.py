"""Keeps what counts of the facts of one source, so that a log with millions of equal complaints takes little memory.

May import: facts.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, fields

from suites.diagnose.facts import OF_HOSTS, Call, Evidence, Fact, Trouble, Unread

_FIRST = 20
"""Of equal facts."""
_LAST = 1
_CALLS = 4096
"""Of one rank in one group; halved, but never below _FEWEST_CALLS, when there are many of those."""
_FEWEST_CALLS = 64
_ALL_CALLS = 1 << 18
_HOUR = 3600.0

Numbered = tuple[int, Fact]


@dataclass(slots=True)
class _Alike:
    """Equal but for where and when they were said."""

    first: list[Numbered] = field(default_factory=list)
    last: deque[Numbered] = field(default_factory=lambda: deque(maxlen=_LAST))
    count: int = 0


@dataclass(slots=True)
class _Calls:
    """Of one rank in one group. What is known to be under way stays, however old."""

    pending: dict[int | None, Numbered] = field(default_factory=dict)
    latest: deque[Numbered] = field(default_factory=deque)


class Kept:
    """Takes the facts of one source, and gives those that are kept, in the order in which they came."""

    def __init__(self) -> None:
        self._number = 0
        self._alike: dict[Hashable, _Alike] = {}
        self._calls: dict[Hashable, _Calls] = {}
        self._single: list[Numbered] = []
        self._most_calls = _CALLS
        self._held_calls = 0

    def add(self, fact: Fact) -> None:
        self._number += 1
        numbered = (self._number, fact)
        if isinstance(fact, Call):
            self._add_call(fact, numbered)
        elif (key := _key(fact)) is None:
            self._single.append(numbered)
        else:
            alike = self._alike.setdefault(key, _Alike())
            alike.count += 1
            if len(alike.first) < _FIRST:
                alike.first.append(numbered)
            else:
                alike.last.append(numbered)

    def evidence(self) -> Evidence:
        repeats: Counter[str] = Counter()
        for alike in self._alike.values():
            fact = alike.first[0][1]
            if isinstance(fact, Trouble) and (more := alike.count - len(alike.first) - len(alike.last)):
                repeats[fact.known_as or fact.what] += more
        return Evidence([fact for _, fact in sorted(self._numbered(), key=lambda one: one[0])], dict(repeats))

    def _numbered(self) -> Iterator[Numbered]:
        yield from self._single
        for alike in self._alike.values():
            yield from alike.first
            yield from alike.last
        for calls in self._calls.values():
            yield from calls.pending.values()
            yield from calls.latest

    def _add_call(self, call: Call, numbered: Numbered) -> None:
        of = call.who, call.group
        calls = self._calls.get(of) or self._calls.setdefault(of, _Calls())
        if call.state == "pending":
            calls.pending.setdefault(call.seq, numbered)
            return
        calls.latest.append(numbered)
        self._held_calls += 1
        if len(calls.latest) > self._most_calls:
            calls.latest.popleft()
            self._held_calls -= 1
        if self._held_calls > _ALL_CALLS and self._most_calls > _FEWEST_CALLS:
            self._most_calls //= 2
            for calls in self._calls.values():
                while len(calls.latest) > self._most_calls:
                    calls.latest.popleft()
            self._held_calls = sum(len(calls.latest) for calls in self._calls.values())


def _of_host(fact: Trouble) -> tuple[Hashable, ...]:
    """A host's own log is of more than one job: what it told in the time of another must not push out what counts."""
    if not fact.known_as.startswith(OF_HOSTS):
        return ()
    stamp = fact.place.stamp
    time = fact.place.time if stamp is None else stamp.seconds
    return fact.what, None if time is None else time // _HOUR


def _key(fact: Fact) -> Hashable | None:
    """What equal facts have in common; None for those that are kept one by one."""
    if isinstance(fact, Unread):
        return None
    if isinstance(fact, Trouble):
        return Trouble, fact.known_as or fact.what, fact.who, *_of_host(fact)
    key = (type(fact), *(getattr(fact, part.name) for part in fields(fact) if part.name != "place"))
    try:
        hash(key)
    except TypeError:
        return None
    return key
