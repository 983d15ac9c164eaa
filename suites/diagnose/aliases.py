"""One name for each group: logs call it by a bare name, dumps by its name and its ranks, since one name may be that of
several groups.

A bare name is taken for the group of that name which has the rank that speaks, and at the place that it says.
May import: facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from suites.diagnose.facts import Fact, Group, Who

_UNNAMED = "default"
_WORLD = "0"
"""What torch calls the group of everybody; logs of old do not name it."""

_Full = Mapping[str, Sequence[Group]]


def united(facts: Sequence[Fact]) -> Sequence[Fact]:
    """The same facts, with groups by one name each."""
    full: dict[str, list[Group]] = defaultdict(list)
    bare = set()
    for fact in facts:
        if isinstance(fact, Group):
            name, at, _ = fact.key.partition("@")
            if not at:
                bare.add(name)
            elif fact.ranks and all(known.key != fact.key for known in full[name]):
                full[name].append(fact)
    if _UNNAMED in bare and _WORLD in full:
        full[_UNNAMED] = [group for group in full[_WORLD] if group.ranks == tuple(range(len(group.ranks or ())))]
    return [_renamed(fact, full) for fact in facts] if bare & full.keys() else facts


def _renamed(fact: Fact, full: _Full) -> Fact:
    own = getattr(fact, "who", None)
    speaker = own if isinstance(own, Who) else getattr(fact, "by", Who())
    if isinstance(fact, Group):
        found = _only(full.get(fact.key, ()), fact.size)
        return replace(fact, key=found, size=None) if found else fact
    if "@" in (getattr(fact, "group", None) or ""):
        return fact  # of a dump, and mostly long
    renamed: Fact = _changed(fact, speaker, full)
    return renamed


def _only(candidates: Sequence[Group], least: int | None) -> str | None:
    """A fact about a group alone does not say which of several it is."""
    fitting = [group for group in candidates if least is None or least <= len(group.ranks or ())]
    return fitting[0].key if len(candidates) == len(fitting) == 1 else None


def _changed(value: Any, speaker: Who, full: _Full) -> Any:
    """Whatever it is, with all groups in it by their full names."""
    if isinstance(value, tuple | list):
        return type(value)(_changed(one, speaker, full) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if isinstance(value, Who):
        return _of_who(value, speaker, full)
    changes: dict[str, Any] = {}
    for field in fields(value):
        old = getattr(value, field.name)
        new = (
            _key_of(old, speaker, full)
            if field.name == "group" and isinstance(old, str)
            else _changed(old, speaker, full)
        )
        if new is not old and new != old:
            changes[field.name] = new
    return replace(value, **changes) if changes else value


def _of_who(who: Who, speaker: Who, full: _Full) -> Who:
    """Others than the speaker are members of its group."""
    if who.group is None or who.group not in full:
        return who
    key = _key_of(who.group, who if who.rank is not None else speaker, full)
    return who if key == who.group else replace(who, group=key)


def _key_of(name: str, who: Who, full: _Full) -> str:
    candidates = full.get(name, ())
    if who.rank is None:
        return candidates[0].key if len(candidates) == 1 else name
    fitting = [group for group in candidates if group.ranks and who.rank in group.ranks and _in_place(who, name, group)]
    return fitting[0].key if len(fitting) == 1 else name


def _in_place(who: Who, name: str, group: Group) -> bool:
    """Whether its rank in the group is what the order of ranks makes it."""
    if who.group != name or who.group_rank is None or group.ranks is None:
        return True
    return who.group_rank < len(group.ranks) and group.ranks[who.group_rank] == who.rank
