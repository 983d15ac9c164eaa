"""Failed paths that have something in common: then not the first of them is at fault, but what all lead over.

Only paths that failed at about the same time are compared: where a rank ends because of one, its other paths fail too,
some time later, and prove nothing. Without times, all must lead to one host that says nothing itself.

May import: complaints, facts, people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from suites.diagnose.complaints import Complaint
from suites.diagnose.facts import Absent, Fact, HostAddress, Setting, Subject, Who
from suites.diagnose.people import People

_TOGETHER = 2.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class _Path:
    """A failed one, from the host that complains, by a network card where it is named, to another host."""

    host: str
    peer: str
    card: str | None


def in_common(
    first: Complaint, complaints: Sequence[Complaint], facts: Sequence[Fact], people: People
) -> tuple[Subject, str] | None:
    """What the paths that failed together with the first one lead over, with words for it: the link between two hosts,
    a host's own link, or a rail. None where they have nothing in common, or it is not told where they lead."""
    hosts = {fact.who.address: fact.who.host for fact in facts if isinstance(fact, HostAddress)}
    together = [complaint for complaint in complaints if complaint is first or _together(complaint, first)]
    told = [(complaint, subject) for complaint in together for subject in complaint.about if subject.kind == "link"]
    paths = [path for _, subject in told if (path := _path(subject, people, hosts))]
    if first.place.time is None or len(paths) < len(told):
        return _silent_end(first, complaints if first.place.time is None else together, people, hosts)
    if len(told) < 2:
        return None
    pairs = sorted({tuple(sorted((path.host, path.peer))) for path in paths})
    several = f"{len(paths)} paths failed at once"
    if len(pairs) == 1:
        one, other = pairs[0]
        return Subject("link", Who(host=one), Who(host=other)), f"{several}, all between {one} and {other}"
    common = [host for host in pairs[0] if all(host in pair for pair in pairs)]
    if common:
        card = _only({path.card for path in paths if path.host == common[0]})
        return Subject("link", Who(host=common[0]), card=card), f"{several}, and all have one end on {common[0]}"
    card = _only({path.card for path in paths})
    if card and _beside(card, facts):
        return Subject("link", card=card), f"{several}, all over {card}, and none over another card: one rail"
    return None


def cut_off(facts: Sequence[Fact]) -> Absent | None:
    """What one of two tells that do not hear each other, while both are heard: the way between them is cut."""
    missed: set[tuple[Who, Who]] = set()
    for fact in facts:
        if isinstance(fact, Absent) and fact.sure and fact.op is None and len(fact.absent) == 1:
            whom = fact.absent[0]
            if (whom, fact.by) in missed:
                return fact
            missed.add((fact.by, whom))
    return None


def _silent_end(
    first: Complaint, complaints: Sequence[Complaint], people: People, hosts: Mapping[str | None, str | None]
) -> tuple[Subject, str] | None:
    """The host that all paths lead to, from several others, while it complains of none."""
    alike = (one for one in complaints if (one.level, one.cause) == (first.level, first.cause))
    told = [subject for one in alike for subject in one.about if subject.kind == "link"]
    ends = {_named(subject.peer, people, hosts) for subject in told}
    speakers = {_named(subject.who, people, hosts) for subject in told}
    if len(ends) != 1 or len(speakers) < 2 or None in ends | speakers or ends & speakers:
        return None
    end = ends.pop()
    peer = next(subject.peer for subject in told if subject.peer is not None)
    return Subject("link", Who(host=end) if end != peer.address else Who(address=end)), (
        f"paths from {len(speakers)} hosts failed, and all lead to {end}"
    )


def _named(who: Who | None, people: People, hosts: Mapping[str | None, str | None]) -> str | None:
    """Its host, or the address of it."""
    return None if who is None else next(_hosts(who, people, hosts), who.address)


def _together(complaint: Complaint, first: Complaint) -> bool:
    if complaint.level != first.level or complaint.cause != first.cause:
        return False
    one, other = complaint.place.time, first.place.time
    return one is not None and other is not None and abs(one - other) <= _TOGETHER


def _path(subject: Subject, people: People, hosts: Mapping[str | None, str | None]) -> _Path | None:
    ends = [next(_hosts(who, people, hosts), None) for who in (subject.who, subject.peer) if who is not None]
    if len(ends) < 2 or ends[0] is None or ends[1] is None or ends[0] == ends[1]:
        return None
    return _Path(ends[0], ends[1], subject.card)


def _hosts(who: Who, people: People, hosts: Mapping[str | None, str | None]) -> Iterator[str]:
    """By its name, by who it is, by an address of it."""
    number = people.number(who)
    for host in (who.host, people.persons[number].host if number is not None else None, hosts.get(who.address)):
        if host is not None:
            yield host


def _only(cards: set[str | None]) -> str | None:
    return next(iter(cards)) if len(cards) == 1 else None


def _beside(card: str, facts: Sequence[Fact]) -> bool:
    """Whether hosts have other cards too."""
    lists = (fact.value.split() for fact in facts if isinstance(fact, Setting) and fact.key == "nccl.devices")
    return any(name.partition("/")[0] != card for names in lists for name in names)
