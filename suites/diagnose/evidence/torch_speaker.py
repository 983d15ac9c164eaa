"""Who speaks in a text of PyTorch's c10d: a rank of the world, of a named group, or of a group that is not named.

`[rank3]:` is the rank in the world. `[PG ID 1 PG GUID 7(tp) Rank 0]`, `[PG 1 Rank 0]` and `[Rank 0]` give the rank in
a group (ProcessGroupNCCL::createLogPrefix of PyTorch, by version; the last one names no group).
May import: facts, line, ranks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import Group, Place, Who
from suites.diagnose.ranks import MOST_RANKS, listed

_WORLD_RANK = re.compile(r"\[rank(\d{1,7})\]")
_GROUP = re.compile(
    r"\[PG\s{1,9}(?:ID\s{0,9}(?P<id>\d{1,9})\s{0,9}(?:PG\s{1,9}GUID\s{0,9}(?P<guid>[^\s(\]]{0,99})\s{0,9})?"
    r"|(?P<key>[^\s(\]]{1,99})\s{0,9})(?:\((?P<name>[^)\]]{0,99})\)\s{0,9})?Rank\s{1,9}(?P<rank>\d{1,7})\]"
)
_UNNAMED = re.compile(r"\[Rank (\d{1,7})\]")
WORLD = "0"
"""What torch calls the group of everybody."""
_WORLD_NAMES = frozenset(("default_pg", "default"))
DEFAULT = "default"
"""Group of those who name none, and nothing tells that it is not the world."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """`who` is as far as it is told apart from the group; `group_rank` is the rank in the group."""

    who: Who
    group: str | None = None
    """Its key, where it is named."""
    name: str = ""
    group_rank: int | None = None

    @property
    def key(self) -> str:
        """Of its group. One that is not named and is not the world is nobody else's, so that two are never mixed."""
        if self.group is not None:
            return self.group
        if self.who.rank is not None and self.group_rank not in (None, self.who.rank):
            return f"a group of rank {self.who.rank}"
        return DEFAULT

    @property
    def member(self) -> Who:
        """Itself, as a member of its group."""
        return self.who if self.group_rank is None else merged(self.who, self.other(self.group_rank, self.who.rank))

    def other(self, group_rank: int, rank: int | None = None) -> Who:
        """A member of its group, by the rank there."""
        if rank is None and self._numbers_are_of_the_world:
            rank = group_rank
        return Who(rank=rank, group=self.key, group_rank=group_rank)

    @property
    def _numbers_are_of_the_world(self) -> bool:
        known = self.who.rank is not None and self.who.rank == self.group_rank
        return self.group == WORLD or (self.group is None and known)

    def others(self, text: str) -> tuple[Who, ...]:
        """Members of its group, of a list of ranks there."""
        return tuple(self.other(rank) for rank in listed(text))

    def fact(self, place: Place, size: int | None = None, last: int | None = None) -> Group:
        """Ranks count from 0, so a group has all members below this one and below the `last` that is named, though they
        may say nothing."""
        least = max((rank + 1 for rank in (self.group_rank, last) if rank is not None), default=None)
        return Group(self.key, place, self.name, _believed(size), least=None if size else _believed(least))


def _believed(size: int | None) -> int | None:
    return size if size is not None and size <= MOST_RANKS else None


def speaker(line: Line) -> Speaker:
    """Of a line; what its own text tells goes before what is known of it."""
    who = line.who
    if found := _WORLD_RANK.search(line.text):
        who = replace(who, rank=int(found[1]))
    if named := _GROUP.search(line.text):
        key = named["guid"] or named["key"] or f"PG {named['id']}"
        name = named["name"] or ""
        if name in _WORLD_NAMES:
            key = WORLD
        group_rank = int(named["rank"])
        return Speaker(replace(who, rank=group_rank) if key == WORLD else who, key, name, group_rank)
    if unnamed := _UNNAMED.search(line.text):
        return Speaker(who, group_rank=int(unnamed[1]))
    return Speaker(who)
