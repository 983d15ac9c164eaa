"""Communicators of everybody: libraries number ranks in a communicator only, frameworks in the world, and a log of both
does not tell which process is which rank.

A communicator with as many members as the world is taken for it where the cards of each host stand in the order of its
ranks, as launchers number them. Where several have so many members and not the same ones, none is.
May import: facts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from suites.diagnose.facts import Fact, Group, Identity, Who

_NUMBER = re.compile(r"\d{1,6}$")


def worldwide(facts: Iterable[Fact], groups: Mapping[str, Group], size: int) -> list[str]:
    """Keys of groups whose ranks are the world's, which has so many."""
    members: dict[str, dict[int, Who]] = defaultdict(dict)
    for fact in facts:
        if isinstance(fact, Identity) and fact.who.group is not None and fact.who.group_rank is not None:
            known = groups.get(fact.who.group)
            if known is not None and known.ranks is None and known.size == size and not known.guessed and fact.who.host:
                members[fact.who.group][fact.who.group_rank] = fact.who
    processes = {(rank, who.host, who.pid) for ranks in members.values() for rank, who in ranks.items()}
    if len({rank for rank, _, _ in processes}) < len(processes):
        return []
    return [key for key, ranks in members.items() if _in_order(ranks, size)]


def _in_order(members: Mapping[int, Who], size: int) -> bool:
    """One card of each host alone does not show any order, unless all of the members are seen."""
    offsets: dict[str | None, list[int | None]] = defaultdict(list)
    for rank, who in members.items():
        card = _NUMBER.search(who.device or "")
        offsets[who.host].append(int(card[0]) - rank if card else None)
    if max(map(len, offsets.values())) < 2 and len(members) < size:
        return False
    return all(None not in cards and len(set(cards)) == 1 for cards in offsets.values())
