"""Ranks by where their main threads stand: most wait in one place, and one is elsewhere.

The idea is that of STAT (Arnold et al., 2007): like stacks make a class, and a small class is where to look.
May import: facts, people, verdict, words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from suites.diagnose.facts import Fact, Frame, Stack
from suites.diagnose.people import People
from suites.diagnose.verdict import Verdict
from suites.diagnose.words import everybody

_WAITING = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier|\b(?:i?send|i?recv)\b|_wait_for|"
    r"distributed_c10d|torch/distributed|synchronize|destroy_process_group|nccl|hccl|mpi_",
    re.IGNORECASE,
)
"""In a frame's function or file: it communicates, or waits for a device that does."""


def standing_apart(facts: Iterable[Fact], people: People) -> Verdict | None:
    """The few that are not in a collective, while most are."""
    stacks: dict[int, Stack] = {}
    for fact in facts:
        if isinstance(fact, Stack) and fact.thread in ("MainThread", "main", ""):
            number = people.number(fact.who, fact.place.file)
            if number is not None and number not in stacks:
                stacks[number] = fact
    waiting = {number for number, stack in stacks.items() if any(map(_waits, stack.frames))}
    apart = frozenset(stacks.keys() - waiting)
    if not apart or 2 * len(apart) >= len(stacks):
        return None
    one = stacks[min(apart)]
    inner = one.frames[0] if one.frames else Frame("an unknown place", "?")
    where = f"{inner.function} ({inner.file}:{inner.line})"
    return Verdict(
        "missing", "likely",
        f"{everybody(people, apart)} {'is' if len(apart) == 1 else 'are'} in {where}, while "
        f"{everybody(people, waiting)} {'waits' if len(waiting) == 1 else 'wait'} in a collective",
        apart, waiting=frozenset(waiting), place=one.place,
    )  # fmt: skip


def _waits(frame: Frame) -> bool:
    return bool(_WAITING.search(frame.function) or _WAITING.search(frame.file))
