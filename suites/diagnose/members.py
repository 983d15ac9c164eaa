"""Who is in groups whose members nothing lists, as in recordings of gloo, and how many ranks there must be by that.

May import: calls, facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from suites.diagnose.calls import SYNCHRONISING
from suites.diagnose.facts import Fact, Group, Identity, Seen, Track


def list_members(groups: dict[str, Group], facts: Iterable[Fact]) -> int:
    """Lists them where all of them have recorded calls. Gives how many ranks there are at least: all up to the last
    that is heard of, and more where a group has more members than those that may be in it."""
    tracks: dict[str, dict[int, Track]] = defaultdict(dict)
    known: set[int] = set()
    all_told: set[int] = set()
    for fact in facts:
        rank = fact.who.rank if isinstance(fact, Track | Seen | Identity) else None
        if rank is None:
            continue
        known.add(rank)
        if isinstance(fact, Track):
            tracks[fact.group][rank] = fact
        elif isinstance(fact, Seen) and fact.all_groups:
            all_told.add(rank)
    unlisted = [group for group in groups.values() if group.ranks is None and tracks[group.key]]
    ranks = range(max(known) + 1 if unlisted else 0)
    least = len(ranks)
    for group in unlisted:
        seen = tracks[group.key]
        if group.heads == len(seen):
            groups[group.key] = replace(group, size=len(seen), ranks=tuple(sorted(seen)))
        others = set(ranks) - seen.keys() - (all_told if _all_came(seen.values()) else set())
        # Nobody waits in a group of one.
        alone = len(seen) == 1 and any(track.pending for track in seen.values())
        least = max(least, len(ranks) + (group.heads or len(seen) + alone) - len(seen) - len(others))
    return least


def _all_came(tracks: Iterable[Track]) -> bool:
    """Whether all members have called in this group: somebody has gone on from a call that nobody leaves before."""
    for track in tracks:
        under_way = {call.seq for call in track.pending}
        last = max((seq for seq, _ in track.history), default=0)
        for seq, signature in track.history:
            if signature.op in SYNCHRONISING and seq < last and seq not in under_way:
                return True
    return False
