"""Groups whose key is but a guess: who is in one of them, as far as that can be.

A log that begins in the middle does not tell which communicator a pointer is, only its size: processes that open such
ones in the same order may be in one. They are not where there are more of them than members, or two of the same rank.
May import: facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from suites.diagnose.facts import Call, Fact, Group, Identity, Track, Who

_Speaker = tuple[str | None, int | None, str | None]
"""Host, process and device."""


def settled(facts: Sequence[Fact]) -> Sequence[Fact]:
    """The same, but for guesses: a wrong one is nobody's group, and one without ranks has no members but those seen."""
    guessed = {fact.key: fact for fact in facts if isinstance(fact, Group) and fact.guessed}
    if not guessed:
        return facts
    speakers: dict[str, dict[_Speaker, int | None]] = defaultdict(dict)
    for fact in facts:
        if (key := _key(fact)) in guessed and isinstance(fact, Call | Identity | Track):
            speakers[key or ""].setdefault(_speaker(fact.who), fact.who.group_rank)
    return list(_corrected(facts, speakers, {key for key in guessed if _wrong(guessed[key], speakers[key])}))


def _key(fact: Fact) -> str | None:
    if isinstance(fact, Call | Track):
        return fact.group
    if isinstance(fact, Identity):
        return fact.who.group
    return fact.key if isinstance(fact, Group) else None


def _speaker(who: Who) -> _Speaker:
    return who.host, who.pid, who.device


def _wrong(group: Group, speakers: dict[_Speaker, int | None]) -> bool:
    ranks = [rank for rank in speakers.values() if rank is not None]
    return len(speakers) > (group.size or len(speakers)) or len(set(ranks)) < len(ranks)


def _corrected(
    facts: Iterable[Fact], speakers: dict[str, dict[_Speaker, int | None]], wrong: set[str]
) -> Iterable[Fact]:
    for fact in facts:
        key = _key(fact)
        if isinstance(fact, Group) and fact.guessed:
            if key not in wrong:
                yield (
                    fact if any(rank is not None for rank in speakers[fact.key].values()) else replace(fact, size=None)
                )
        elif key in wrong and isinstance(fact, Call | Track):
            host, pid, device = _speaker(fact.who)
            own = f"{key} of process {pid} on {host}" + (f" ({device})" if device else "")
            yield replace(fact, group=own, who=replace(fact.who, group=None, group_rank=None))
        elif key not in wrong:
            yield fact
