"""In which facts hosts differ, or one host from how it was: by the path of the fact.

Only what stays is compared. What every host has for itself (addresses), what grows (counters), what changes from
moment to moment and what a tool would not tell of a host is left out: unknown is not different. Subtrees that all hosts
have alike are passed over as wholes, so that a thousand hosts take seconds. Facts are JSON values.
May import: the standard library.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

Facts = Mapping[str, Any]

_OWN = frozenset({
    "available_bytes", "swap_free_bytes", "shm_free_bytes", "huge_pages_free", "free_bytes", "memory_current_bytes",
    "memory_used_bytes", "memory_headroom_bytes", "memory_free_bytes", "usage_bytes", "address", "addresses",
    "pci_slot", "path", "bus", "momentary_offset_seconds", "lid", "host_name", "host_addresses",
    "on_pcie", "oom_kills", "ip", "netdetect", "gateway",
})  # fmt: skip
_NOT_STEADY = frozenset({"counters", "momentary", "lines", "reason", "source", "sources", "name_source", "events"})
"""Parts of readings, by what was learnt, and what a log has had time to collect."""

_LEFT_OUT = _OWN | _NOT_STEADY
_MARKS = ("id", "slot", "number", "name")
"""By what the elements of a list are told apart: the first that each has for itself."""

THERE, GONE = "there", "not there"
"""The values of something that has facts of its own, and of what does not exist at all where others have it."""

_NOTHING = (None, GONE)


def differences(hosts: Sequence[tuple[str, Facts]]) -> list[dict[str, Any]]:
    """By key: what more than half of the hosts have (else null), and who has something else, or nothing. Where some
    lack a thing with all its facts, these facts are compared among the others."""
    return sorted(
        _compare([name for name, _ in hosts], [facts for _, facts in hosts], ""), key=lambda each: each["key"]
    )


def changed(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(key, value before, value after) of every steady fact that differs; GONE where it is not there."""
    if before == after or (before in _NOTHING and after in _NOTHING):
        return
    before, after = _by_mark(before), _by_mark(after)
    if isinstance(before, Mapping) and after == []:
        after = {}
    if isinstance(after, Mapping) and before == []:
        before = {}
    if (_is_reading(before) or _is_reading(after)) and not (_has_told(before) and _has_told(after)):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            if key not in _LEFT_OUT:
                yield from changed(before.get(key, GONE), after.get(key, GONE), f"{path}.{key}" if path else key)
    else:
        yield path, _said(before), _said(after)


def steady(facts: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every steady fact with its key, as `changed` would name it; whether a tool has told anything is none."""
    facts = _by_mark(facts)
    if isinstance(facts, Mapping):
        left_out = _LEFT_OUT | {"state"} if _is_reading(facts) else _LEFT_OUT
        for key, value in facts.items():
            if key not in left_out:
                yield from steady(value, f"{path}.{key}" if path else key)
    else:
        yield path, facts


def _compare(names: Sequence[str], values: Sequence[Any], path: str) -> Iterator[dict[str, Any]]:
    if all(value == values[0] for value in values):
        return
    trees = [_by_mark(value) for value in values]
    if any(map(_is_reading, trees)):
        told = [_has_told(tree) for tree in trees]
        names, values, trees = (list(compress(each, told)) for each in (names, values, trees))
    if len(names) < 2:
        return
    if not any(isinstance(tree, Mapping) for tree in trees):
        yield _entry(path, names, values)
        return
    trees = [{} if tree == [] else tree for tree in trees]
    has = [isinstance(tree, Mapping) for tree in trees]
    if not all(has):
        yield _entry(path, names, [_said(tree) for tree in trees])
    names, trees = list(compress(names, has)), list(compress(trees, has))
    for key in dict.fromkeys(key for tree in trees for key in tree):
        if key not in _LEFT_OUT:
            yield from _compare(names, [tree.get(key) for tree in trees], f"{path}.{key}" if path else key)


def _entry(key: str, names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    texts = [json.dumps(value, sort_keys=True) for value in values]
    most, count = Counter(texts).most_common(1)[0]
    majority = most if 2 * count > len(names) else None
    outliers = {name: value for name, value, text in zip(names, values, texts, strict=True) if text != majority}
    return {"key": key, "majority": json.loads(majority) if majority else None, "outliers": outliers}


def _by_mark(value: Any) -> Any:
    """A list whose elements have names, as a mapping by these."""
    if not isinstance(value, list) or not value or not all(isinstance(item, Mapping) for item in value):
        return value
    mark = next((mark for mark in _MARKS if _tells_apart(mark, value)), None)
    if mark is None:
        return value
    return {str(item[mark]): {key: part for key, part in item.items() if key != mark} for item in value}


def _tells_apart(mark: str, items: Sequence[Mapping[str, Any]]) -> bool:
    return len({str(item[mark]) for item in items if mark in item}) == len(items)


def _is_reading(value: Any) -> bool:
    return isinstance(value, Mapping) and "state" in value and "source" in value and "values" in value


def _has_told(value: Any) -> bool:
    return _is_reading(value) and value["state"] == "told"


def _said(value: Any) -> Any:
    return THERE if isinstance(value, Mapping) else value
