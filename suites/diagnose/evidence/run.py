"""What stands beside the rings of a run of opsdist's own: which ranks there were, where, and as which processes; and
what was seen of those that went wrong.

May import: facts, json_values, reports, source, suites.verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from suites.diagnose.evidence.json_values import mapping, mappings, natural, whole, word
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Fact, Identity, JustBegun, Moving, Place, Seen, Unread, Who
from suites.diagnose.reports import of_fault
from suites.verdict import Fault, Kind

_KEYS = (b'"command"', b'"started"', b'"hosts"')


def recognises(head: bytes, name: str) -> bool:
    """Whether it begins like one: see runfolder.py."""
    return head.lstrip()[:1] == b"{" and all(key in head for key in _KEYS)


def read(source: Source) -> Iterable[Fact]:
    """Who is who; nothing where it is cut off."""
    told = whole(source, "what a run of opsdist leaves")
    return [told] if isinstance(told, Unread) else _facts(told, Place(source.name))


def _facts(told: Mapping[str, Any], place: Place) -> Iterator[Fact]:
    hosts, pids = told.get("hosts"), mapping(told.get("pids"))
    yield Seen(place, "run of opsdist")
    for rank, host in enumerate(hosts if isinstance(hosts, list) else ()):
        yield Identity(Who(rank=rank, host=str(host) or None, pid=natural(pids.get(str(rank)))), place)
    moving = told.get("moving")
    for fresh in map(natural, moving if isinstance(moving, list) else ()):
        if fresh is not None:
            yield JustBegun(Who(rank=fresh), place)
    reported = [(_fault(report), word(report.get("words"))) for report in mappings(told.get("reports"))]
    for fault, words in reported:
        who, where = Who(rank=fault.rank, pid=fault.pid), replace(place, text=words)
        yield Seen(where, "report of a rank", who)
        yield from of_fault(fault, who, where)
    complained = {fault.rank for fault, _ in reported}
    for rank in range(len(hosts) if reported and isinstance(hosts, list) else 0):
        if rank not in complained:  # the run was ended under it
            yield Moving(Who(rank=rank), place)


def _fault(report: Mapping[str, Any]) -> Fault:
    """As it was written: see verdict.report."""
    wanted = report.get("waiting_for")
    awaited = map(natural, wanted if isinstance(wanted, list) else ())
    return Fault(
        natural(report.get("rank")),
        cast("Kind", word(report.get("kind"))),
        word(report.get("phase")),
        word(report.get("error")),
        word(report.get("message")),
        waiting_for=tuple(rank for rank in awaited if rank is not None),
        code=natural(report.get("code")),
        signal=natural(report.get("signal")),
        state=word(report.get("state")) or None,
        pid=natural(report.get("pid")),
    )
