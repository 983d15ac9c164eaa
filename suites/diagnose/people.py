"""Who is who: what evidence calls by rank, by process, or by a rank in a group, brought together as people of one job.

May import: facts, members, worldwide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise

from suites.diagnose.facts import (
    Call,
    Ended,
    Fact,
    Group,
    Identity,
    Raised,
    Seen,
    Setting,
    Stack,
    Track,
    Trouble,
    Who,
    World,
)
from suites.diagnose.members import list_members
from suites.diagnose.worldwide import worldwide

SPEAKERS = (Call, Track, Trouble, Ended, Raised, Stack, Seen, Setting, Identity)
"""Facts of what somebody prints or writes."""
WORLD = "0"
"""Group of everybody, as torch names it."""
UNNAMED = "default"
"""Group of those who tell a rank and no group: the world, unless their numbers show that it cannot be one group."""
_WORLD = frozenset(("default_pg", WORLD, "world", UNNAMED))
"""Groups whose ranks are the world's, by how they are named."""


@dataclass(slots=True)
class Person:
    """One rank, or process of which no rank is known."""

    rank: int | None = None
    host: str | None = None
    pid: int | None = None
    device: str | None = None
    local_rank: int | None = None
    address: str | None = None
    group_ranks: dict[str, int] = field(default_factory=dict)

    def learn(self, who: Who) -> None:
        """What is known already stays."""
        for name in ("rank", "host", "pid", "device", "local_rank", "address"):
            if getattr(self, name) is None:
                setattr(self, name, getattr(who, name))
        if who.group is not None and who.group_rank is not None:
            self.group_ranks.setdefault(who.group, who.group_rank)


@dataclass(slots=True)
class People:
    """All of them, by number. `groups` are the merged facts of groups, by key."""

    persons: list[Person]
    groups: dict[str, Group]
    notes: list[str]
    _numbers: dict[Hashable, int]
    _files: dict[str, int]

    def number(self, who: Who, file: str | None = None) -> int | None:
        """Of somebody whom the evidence names; where it does not, of the only one who speaks in that file."""
        for key in _keys(who):
            if (found := self._numbers.get(key)) is not None:
                return found
        return self._files.get(file) if file is not None and who.host is None else None

    def members(self, group: str) -> tuple[int, ...] | None:
        """In the order of group ranks; None where they are not known."""
        known = self.groups.get(group)
        if known is None:
            return None
        if known.like is not None:
            return self.members(known.like)
        if known.ranks:
            found = [self._numbers.get(("rank", rank)) for rank in known.ranks]
        elif number := known.size or known.least:
            found = [self._numbers.get(("group", group, rank)) for rank in range(number)]
        else:
            return None
        return tuple(number for number in found if number is not None)

    def counted(self, group: str) -> bool:
        """Whether it is told how many members a group has."""
        known = self.groups.get(group)
        if known is not None and known.like is not None:
            return self.counted(known.like)
        return known is not None and (known.ranks is not None or known.size is not None)

    @property
    def size(self) -> int | None:
        """Of the world, where it is known."""
        ranks = [person.rank for person in self.persons if person.rank is not None]
        return max(ranks) + 1 if ranks else None


def meet(facts: Sequence[Fact]) -> People:
    """Everybody of whom the facts speak, the members of groups included that say nothing themselves."""
    groups = _merged_groups(facts)
    least = list_members(groups, facts)
    book = _Book()
    notes: list[str] = []
    speakers: dict[str, set[Hashable]] = defaultdict(set)
    for fact in facts:
        for who in named(fact):
            book.join(who)
        if isinstance(fact, SPEAKERS) and (keys := list(_keys(fact.who))) and not _is_local(keys[0]):
            speakers[fact.place.file].add(keys[0])
    for key, group in groups.items():
        for number in range(len(group.ranks or ()) or group.size or group.least or 0):
            book.join(Who(group=key, group_rank=number))
            if group.ranks:
                book.same(("group", key, number), ("rank", group.ranks[number]))
    _take_world(book, groups, notes)
    for rank in range(least):
        book.join(Who(rank))
    counted = (group.heads for key, group in groups.items() if key in _WORLD or group.name in _WORLD)
    _widen_world(book, groups, set(filter(None, counted)) | {fact.size for fact in facts if isinstance(fact, World)})
    for key in worldwide(facts, groups, max(book.ranks(), default=-1) + 1):
        if not book.contradicts(key):
            _number_by(book, key)
    for key, group in groups.items():
        if group.ranks is None:
            _fill_between(book, key)
    people = book.people(groups, notes)
    _find_devices(people)
    _find_processes(people, book.claimed())
    for file, told in speakers.items():
        numbers = {people._numbers[key] for key in told if key in people._numbers}
        if len(numbers) == 1:
            people._files[file] = numbers.pop()
    return people


def named(fact: Fact) -> Iterator[Who]:
    """Everybody whom a fact names."""
    who = getattr(fact, "who", None)
    if isinstance(who, Who):
        yield who
    for name in ("on", "absent", "present"):
        yield from getattr(fact, name, ())
    for side in getattr(fact, "sides", ()):
        yield from side.members
    for subject in getattr(fact, "about", ()):
        if subject.kind in ("rank", "device", "link"):
            yield subject.who
            yield from (subject.peer,) if subject.peer is not None else ()
    peer = getattr(fact, "peer", None)
    if isinstance(peer, Who):
        yield peer
    if isinstance(fact, Track):
        for call in fact.pending:
            yield from (call.peer,) if call.peer is not None else ()


def _merged_groups(facts: Iterable[Fact]) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for fact in facts:
        if isinstance(fact, Group):
            known = groups.get(fact.key, fact)
            size = max(filter(None, (known.size, fact.size)), default=None)
            least = max(filter(None, (known.least, fact.least)), default=None)
            name, ranks = known.name or fact.name, known.ranks or fact.ranks
            guessed = known.guessed and fact.guessed
            heads = known.heads or fact.heads
            groups[fact.key] = Group(fact.key, known.place, name, size, ranks, guessed, least, known.like, heads)
        elif isinstance(fact, Call | Track) and fact.group not in groups:
            groups[fact.group] = Group(fact.group, fact.place)
    return groups


def _keys(who: Who) -> Iterator[Hashable]:
    """What identifies somebody, the surest first."""
    if who.rank is not None:
        yield ("rank", who.rank)
    if who.group is not None and who.group_rank is not None:
        yield ("group", who.group, who.group_rank)
    if who.pid is not None:
        yield ("process", _short(who.host), who.pid)
    elif who.host is not None and who.device is not None:
        yield ("device", who.host, who.device)
    elif who.host is not None and who.local_rank is not None and who.rank is None:
        yield ("local", _short(who.host), who.local_rank)
    elif who.address is not None and who.rank is None:
        yield ("address", who.address)


def _short(host: str | None) -> str | None:
    """Without its domain, which the kernel's log does not tell, and launchers do. An address is no name."""
    first = (host or "").partition(".")[0]
    return host if first.isdigit() else first or None


class _Book:
    """Keys that stand for the same person are joined, as evidence tells it."""

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}
        self._told: dict[Hashable, list[Who]] = defaultdict(list)
        self._known: set[Who] = set()

    def join(self, who: Who) -> None:
        if who in self._known:
            return
        self._known.add(who)
        keys = list(_keys(who))
        if not keys:
            return
        for key in keys:
            self._parent.setdefault(key, key)
            self.same(keys[0], key)
        self._told[keys[0]].append(who)

    def same(self, one: Hashable, other: Hashable) -> None:
        self._parent.setdefault(one, one)
        self._parent.setdefault(other, other)
        first, second = self._root(one), self._root(other)
        if _is_rank(second):  # a rank stays the root, so that two of them are never joined
            first, second = second, first
        if first != second and not _is_rank(second):
            self._parent[second] = first

    def ranks(self) -> list[int]:
        return [key[1] for key in self._parent if isinstance(key, tuple) and key[0] == "rank"]

    def contradicts(self, group: str) -> bool:
        """Whether any of its members is known to be another rank of the world than of it."""
        members = [key for key in self._parent if isinstance(key, tuple) and key[:2] == ("group", group)]
        return any(_is_rank(root := self._root(key)) and root != ("rank", key[2]) for key in members)

    def claimed(self) -> dict[Hashable, set[int]]:
        """Ranks that are said to be a process of a number, on a host by its short name or on one that is not told."""
        found: dict[Hashable, set[int]] = defaultdict(set)
        for told in self._told.values():
            for who in told:
                if who.pid is not None and who.rank is not None:
                    found["process", _short(who.host), who.pid].add(who.rank)
        return found

    def people(self, groups: dict[str, Group], notes: list[str]) -> People:
        numbers: dict[Hashable, int] = {}
        by_root: dict[Hashable, Person] = {}
        for key in self._parent:
            by_root.setdefault(self._root(key), Person())
        for key, told in self._told.items():
            for who in told:
                by_root[self._root(key)].learn(who)
        for key in self._parent:
            if isinstance(key, tuple) and key[0] == "rank":
                by_root[self._root(key)].rank = key[1]
            if isinstance(key, tuple) and key[0] == "group":
                by_root[self._root(key)].group_ranks.setdefault(key[1], key[2])
        roots = sorted(by_root, key=lambda root: _order(by_root[root]))
        position = {root: index for index, root in enumerate(roots)}
        for key in self._parent:
            numbers[key] = position[self._root(key)]
        return People([by_root[root] for root in roots], groups, notes, numbers, {})

    def _root(self, key: Hashable) -> Hashable:
        while self._parent[key] != key:
            self._parent[key] = key = self._parent[self._parent[key]]
        return key


def _is_rank(key: Hashable) -> bool:
    return isinstance(key, tuple) and key[0] == "rank"


def _is_local(key: Hashable) -> bool:
    return isinstance(key, tuple) and key[0] == "local"


def _order(person: Person) -> tuple[int, str, int]:
    return (1 << 40 if person.rank is None else person.rank, person.host or "", person.pid or 0)


def _find_devices(people: People) -> None:
    """Who is known by a device only is the one whose device it is, if there is just one: two ranks of one device stay
    two. So it is with ranks on their hosts."""
    owners: dict[tuple[str, str | None, str | int | None], list[int]] = defaultdict(list)
    for number, person in enumerate(people.persons):
        if person.rank is not None or person.pid is not None or person.group_ranks:
            owners["device", person.host, person.device].append(number)
        if person.rank is not None and person.host is not None:
            owners["local", _short(person.host), person.local_rank].append(number)
    for key in people._numbers:
        if isinstance(key, tuple) and key[0] in ("device", "local") and len(found := owners.get(key, [])) == 1:
            people._numbers[key] = found[0]


def _find_processes(people: People, claimed: Mapping[Hashable, Set[int]]) -> None:
    """Who is known by a process's number only, as in a kernel's log, is the one rank of that number, if there is just
    one: in containers several have the same, and hosts of two domains may have one name."""
    for key, ranks_there in claimed.items():
        if len(ranks_there) > 1:
            del people._numbers[key]
    found: dict[int, list[tuple[Hashable, str | None, int]]] = defaultdict(list)
    for key, number in people._numbers.items():
        if isinstance(key, tuple) and key[0] == "process":
            found[key[2]].append((key, key[1], number))
    for ones in found.values():
        ranks = {number for _, _, number in ones if people.persons[number].rank is not None}
        others = [(key, host) for key, host, number in ones if number not in ranks]
        if len(ranks) != 1 or len(others) != 1:
            continue
        rank, (key, host) = ranks.pop(), others[0]
        if None in (host, people.persons[rank].host):
            people._numbers[key] = rank


def _widen_world(book: _Book, groups: dict[str, Group], told: Set[int]) -> None:
    """All ranks that are known are of the world, and it has no fewer than any group. `told` are the sizes that it is
    said to have: what is said of several jobs, or is less than what is seen, does not count."""
    known = max(book.ranks(), default=-1) + 1
    least = max((known, *(len(group.ranks or ()) or group.size or group.least or 0 for group in groups.values())))
    size = max(told) if len(told) == 1 and max(told) >= least else None
    for key, group in groups.items():
        if group.ranks is None and not group.size and (key in _WORLD or group.name in _WORLD):
            groups[key] = replace(group, size=size, least=least)
            for rank in range(size or least):
                book.join(Who(rank, group=key, group_rank=rank))


def _take_world(book: _Book, groups: dict[str, Group], notes: list[str]) -> None:
    """Where ranks are told in a group only, and it is the world, they are the world's."""
    for key, group in groups.items():
        if group.ranks is None and (key in _WORLD or group.name in _WORLD):
            _number_by(book, key)
    if not book.ranks() and groups:
        sized = [(group.size or 0, key) for key, group in groups.items() if group.ranks is None]
        largest = max(sized, default=None)
        if largest and sum(size == largest[0] for size, _ in sized) == 1:
            _number_by(book, largest[1])
            notes.append(f"no rank of the world is told: ranks are those of {groups[largest[1]].name or largest[1]}")


def _fill_between(book: _Book, group: str) -> None:
    """Groups have their members in the order of ranks: between rank 2 that is the third and rank 4 that is the fifth
    only rank 3 can be the fourth, and none but rank 0 comes before rank 1 that is the second."""
    numbers = sorted(key[2] for key in book._parent if isinstance(key, tuple) and key[:2] == ("group", group))
    roots = ((n, book._root(("group", group, n))) for n in numbers)
    known = [(n, root[1]) for n, root in roots if isinstance(root, tuple) and root[0] == "rank"]
    pairs = list(pairwise([(-1, -1), *known]))
    if len(known) < 2 or any(rank - before < n - last for (last, before), (n, rank) in pairs):
        return
    for (last, before), (n, rank) in pairs:
        if rank - before == n - last:
            for step in range(1, n - last):
                book.same(("rank", before + step), ("group", group, last + step))


def _number_by(book: _Book, group: str) -> None:
    keys = [key for key in book._parent if isinstance(key, tuple) and key[:2] == ("group", group)]
    for key in keys:
        book.same(("rank", key[2]), key)
