"""How many ranks a job has, as those tell that start it: torch's elastic agent, Lightning, DeepSpeed, Megatron.

May import: facts, line, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, World
from suites.diagnose.ranks import MOST_RANKS

_TEXTS: Mapping[str, re.Pattern[str]] = {
    "global_world_sizes=[": re.compile(r"global_world_sizes=\[(\d{1,7})[,\]]"),
    ", MEMBER: ": re.compile(r"GLOBAL_RANK: \d{1,7}, MEMBER: \d{1,7}/(\d{1,7})\b"),
    "processes registered. Starting": re.compile(r"processes registered\. Starting with (\d{1,7}) processes"),
    "dist_world_size=": re.compile(r"\bdist_world_size=(\d{1,7})\b"),
    "using world size: ": re.compile(r"\busing world size: (\d{1,7})\b"),
}
"""A piece of the text -> where the number stands."""


@dataclass(slots=True)
class WorldSizes:
    """Each line stands for itself."""

    wakes: tuple[str, ...] = tuple(_TEXTS)
    awake: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        for mark, pattern in _TEXTS.items():
            if mark in line.text and (found := pattern.search(line.text)) and 0 < int(found[1]) <= MOST_RANKS:
                yield World(int(found[1]), line.place())

    def end(self) -> Iterable[Fact]:
        return ()
