"""What NCCL's RAS subsystem answers as JSON: `ncclras -f json`, one answer or several in a row, and its events.

May import: facts, json_values, nccl_calls, operations, ras_facts, source.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from suites.diagnose.evidence.json_values import mapping, mappings, natural
from suites.diagnose.evidence.nccl_calls import communicator
from suites.diagnose.evidence.operations import operation
from suites.diagnose.evidence.ras_facts import IMPOSSIBLE, MOST_RANKS, behind, dead, failed
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Absent, Fact, Group, Identity, Place, Seen, Unread, Who

_MARKS = (b'"communicators"', b'"collective_counts"', b'"PEER_DEAD"')
_NO_HOST = frozenset(("", "unknown"))


def recognises(head: bytes, name: str) -> bool:
    """Whether it begins like `ncclras -f json`, or like what it tells while it watches."""
    return head.lstrip()[:1] == b"{" and any(mark in head for mark in _MARKS)


def read(source: Source) -> Iterable[Fact]:
    """Of each communicator who has launched less than others, and who does not answer."""
    with source.open() as stream:
        text = stream.read().decode("utf-8", "replace")
    decoder, at, answers = json.JSONDecoder(), 0, 0
    while (at := text.find("{", at)) >= 0:
        place = Place(source.name, text.count("\n", 0, at) + 1)
        try:
            told, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            yield Unread(source.name, f"cut off or damaged ({error})")
            return
        for fact in _of_answer(told, place):
            answers += 1
            yield fact
    if not answers:
        yield Unread(source.name, "no answer of NCCL RAS")


def _of_answer(told: Mapping[str, Any], place: Place) -> Iterator[Fact]:
    if told.get("event") == "PEER_DEAD":
        yield Seen(place, "answer of NCCL RAS")
        about = next((told[name] for name in ("peer", "process", "details") if isinstance(told.get(name), dict)), told)
        who = _who(about, None)
        if who.pid is not None:
            yield from dead(who, place)
    if isinstance(communicators := told.get("communicators"), list):
        yield Seen(place, "answer of NCCL RAS")
        for one in mappings(communicators):
            yield from _of_communicator(one, place)


def _of_communicator(told: Mapping[str, Any], place: Place) -> Iterator[Fact]:
    key, size = _key(told.get("hash")), natural(told.get("size"))
    size = size if size is not None and 0 < size <= MOST_RANKS else None
    present, absent = mappings(told.get("ranks")), mappings(told.get("missing_ranks"))
    yield Group(key, place, f"communicator {key.removeprefix('comm ')}", size)
    for row in (*present, *absent):
        rank = natural(row.get("rank"))
        if size is not None and (rank is None or rank >= size):
            yield Unread(place.file, IMPOSSIBLE)
            return
    for row in present:
        who, status = _who(row, key), mapping(row.get("status"))
        yield Identity(who, place)
        for name in ("init_state", "async_error"):
            if error := natural(status.get(name)):
                yield from failed(who, place, error)
    for op, by_count in _counts(present, key).items():
        yield from behind(key, op, place, by_count)
    yield from _of_missing(absent, key, place)


def _of_missing(rows: Iterable[Mapping[str, Any]], key: str, place: Place) -> Iterator[Fact]:
    """Those whose processes do not answer. Others do, and are not in the communicator: not yet, or not any more."""
    silent = []
    for row in rows:
        who, status = _who(row, key), mapping(row.get("status"))
        yield Identity(who, place)
        if status.get("considered_dead"):
            yield from dead(who, place)
        if status.get("considered_dead") or status.get("unresponsive"):
            silent.append(who)
    if silent:
        yield Absent(place, tuple(silent), group=key)


def _counts(rows: Iterable[Mapping[str, Any]], key: str) -> dict[str, dict[int, list[Who]]]:
    """By operation and count, who has launched so many."""
    found: dict[str, dict[int, list[Who]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        for op, told in mapping(row.get("collective_counts")).items():
            if (count := natural(told)) is not None:
                found[operation(str(op))][count].append(_who(row, key))
    return found


def _key(value: Any) -> str:
    try:
        return communicator(str(value))
    except ValueError:
        return f"comm {value}"


def _who(row: Mapping[str, Any], key: str | None) -> Who:
    host, device = str(row.get("host") or ""), natural(row.get("cuda_dev"))
    return Who(
        host=None if host in _NO_HOST else host, pid=natural(row.get("pid")) or None,
        device=None if device is None else f"gpu{device}",
        group=key, group_rank=natural(row.get("rank")) if key is not None else None,
    )  # fmt: skip
