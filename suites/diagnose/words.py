"""How people, groups and calls are named in a sentence.

May import: people, ranks, verdict's At.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from suites.diagnose.people import People
from suites.diagnose.ranks import runs
from suites.diagnose.verdict import At

_MOST_NAMED = 4
"""People named each with its host; more are folded."""


def folded(ranks: Iterable[int]) -> str:
    """Numbers as `0-3, 8`."""
    return ", ".join(runs(sorted(ranks)))


def everybody(people: People, numbers: Iterable[int]) -> str:
    """`rank 7 on node02`, `ranks 0-3, 8`."""
    chosen = sorted(numbers)
    ranks = [rank for number in chosen if (rank := people.persons[number].rank) is not None]
    if len(ranks) == len(chosen):
        hosts = {people.persons[number].host for number in chosen} - {None}
        where = f" on {hosts.pop()}" if len(hosts) == 1 else ""
        return f"rank{'s' * (len(ranks) > 1)} {folded(ranks)}{where}"
    named = [somebody(people, number) for number in chosen[:_MOST_NAMED]]
    more = len(chosen) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def somebody(people: People, number: int) -> str:
    """One of them, by what is known."""
    person = people.persons[number]
    at = person.host or person.address
    where = f" on {person.host}" if person.host else ""
    if person.rank is not None:
        return f"rank {person.rank}{where}"
    for group, rank in person.group_ranks.items():
        return f"rank {rank} of {group_name(people, group)}{where}"
    if person.pid is not None:
        return f"process {person.pid}" + (f" on {at}" if at else "")
    if person.local_rank is not None:
        return f"local rank {person.local_rank}{where}"
    return (person.device or person.address or "somebody") + where


def group_name(people: People, group: str) -> str:
    known = people.groups.get(group)
    return known.name if known and known.name else group


def call(people: People, at: At | None) -> str:
    """`allreduce #1234 of TENSOR_PARALLEL`."""
    if at is None:
        return "a call"
    number = "" if at.seq is None else f" #{at.seq}"
    op = at.op if at.op not in (None, "unknown") else "call"
    return f"{op}{number} of {group_name(people, at.group)}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def verb(numbers: Sequence[int] | frozenset[int], one: str, several: str) -> str:
    return one if len(numbers) == 1 else several
