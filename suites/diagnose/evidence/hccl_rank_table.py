"""Rank tables among the files: which rank is on which NPU of which server, and what the rules find wrong with them.

Versions 1.0, 1.2 (probes.ascend.ranktable reads them, suites.checks.ascend.ranktable judges them) and 2.0, whose ranks
stand in one list (HCCL's manual, "cluster information configuration").
May import: probes, checks, facts, json_values, source, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from probes.ascend.ranktable import parse_rank_table
from probes.reading import told
from suites.checks.ascend.ranktable import RULES
from suites.checks.rule import Case, Judged, Outcome, Rule, Scope
from suites.diagnose.evidence.json_values import mappings, natural, whole
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import NOBODY, Fact, Group, Identity, Level, Place, Seen, Subject, Trouble, Unread, Who
from suites.diagnose.ranks import some
from suites.report import Status

_LARGEST = 1 << 26
_GROUP = "hccl_world_group"
_TABLE = re.compile(rb'"(?:server_list|rank_list)"\s{0,20}:\s{0,20}\[')
_MOST_RANKS = 10_000_000


def recognises(head: bytes, name: str) -> bool:
    """Whether it begins like one."""
    return (
        head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"/") and bool(_TABLE.search(head)) and b'"rank_id"' in head
    )


def read(source: Source) -> Iterable[Fact]:
    """Who is who, and its faults."""
    with source.open() as stream:
        text = stream.read(_LARGEST + 1).decode("utf-8", "replace")
    if '"rank_list"' in text and '"server_list"' not in text:
        return list(_second_version(text, source))
    said = parse_rank_table(text)
    reading = asdict(told(source.name, said))
    servers = reading["values"].get("servers") or []
    return [*_people(servers, source, text), *_faults(reading, servers, source, text)]


def _people(servers: list[Mapping[str, Any]], source: Source, text: str) -> Iterator[Fact]:
    yield Seen(Place(source.name), "HCCL rank table")
    count = 0
    for server in servers:
        for device in server["devices"]:
            count += 1
            rank = _rank(device["rank_id"])
            if rank is None:
                continue
            npu = f"npu{device['device_id']}" if device["device_id"] else None
            who = Who(rank, server["id"] or server["host"], device=npu, group=_GROUP, group_rank=rank)
            yield Identity(who, _place(source, text, f'"{rank}"'))
    if count:
        yield Group(_GROUP, Place(source.name), "rank table", count, tuple(range(count)))


def _faults(reading: Mapping[str, Any], servers: list[Mapping[str, Any]], source: Source, text: str) -> Iterator[Fact]:
    case = Case({"accelerators": {"ascend": {"readings": {"rank_table": reading}}}}, {})
    for rule in RULES:
        if rule.scope is Scope.HOST:
            broken = [judged for judged in rule.judge(case) if judged.outcome is Outcome.BROKEN]
            # What is no address at all is said after that it is there twice, and is what counts.
            last = {str(judged.evidence.get("value")): judged for judged in broken}
            for judged in last.values():
                if (judged.status or rule.status) is Status.FAIL:
                    yield _trouble(rule, judged, servers, source, text)


def _trouble(rule: Rule, judged: Judged, servers: list[Mapping[str, Any]], source: Source, text: str) -> Trouble:
    value = judged.evidence.get("value")
    word = value if isinstance(value, str) else ""
    ranks = _ranks_with(servers, word)
    what = judged.message + (f" (ranks {some(ranks)})" if ranks else "")
    about = (Subject("file", file=source.name), *(Subject("rank", Who(rank=rank)) for rank in ranks))
    place, remedy = _place(source, text, f'"{word}"' if word else ""), (rule.remedy, "hccn_tool -i N -ip -g")
    return Trouble(NOBODY, place, Level.INITIATING, what, "config", about, remedy, rule.name)


def _ranks_with(servers: list[Mapping[str, Any]], address: str) -> list[int]:
    return sorted(
        rank
        for server in servers
        for device in server["devices"]
        if device["device_ip"] == address and (rank := _rank(device["rank_id"])) is not None
    )


def _second_version(text: str, source: Source) -> Iterator[Fact]:
    table = whole(source, "a rank table")
    if isinstance(table, Unread):
        yield table
        return
    yield Seen(Place(source.name), "HCCL rank table (2.0)")
    ranks = []
    for entry in mappings(table.get("rank_list")):
        if (rank := _rank(entry.get("rank_id"))) is not None:
            ranks.append(rank)
            local = _rank(entry.get("local_id"))
            yield Identity(Who(rank, local_rank=local, group=_GROUP, group_rank=rank), _place(source, text, f"{rank}"))
    yield from _numbering(sorted(ranks), source)


def _numbering(ranks: list[int], source: Source) -> Iterator[Fact]:
    if ranks == list(range(len(ranks))):
        yield Group(_GROUP, Place(source.name), "rank table", len(ranks), tuple(ranks))
        return
    what = f"the ranks of the table are not 0 to {len(ranks) - 1}, each once: {some(ranks)}"
    about = (Subject("file", file=source.name),)
    remedy = ("give the ranks anew in the order of servers and devices",)
    yield Trouble(NOBODY, Place(source.name), Level.INITIATING, what, "config", about, remedy, "ascend.ranktable_ranks")


def _place(source: Source, text: str, word: str) -> Place:
    at = text.find(word) if word else -1
    if at < 0:
        return Place(source.name)
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return Place(source.name, text.count("\n", 0, at) + 1, text[start : end if end >= 0 else None].strip()[:200])


def _rank(value: Any) -> int | None:
    rank = natural(value)
    return rank if rank is not None and rank < _MOST_RANKS else None
