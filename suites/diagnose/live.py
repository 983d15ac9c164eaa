"""A run of opsdist's own that went wrong, as facts: what its ranks reported, or did not, and what they recorded.

May import: facts, judge, record, reports, evidence.rings, suites.verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suites.diagnose import record
from suites.diagnose.case import case_of
from suites.diagnose.evidence.rings import facts_of
from suites.diagnose.facts import Fact, Moving, Place, Seen, Who
from suites.diagnose.judge import judge
from suites.diagnose.reports import of_fault
from suites.verdict import Fault, words
from suites.verdict import judge as judge_launch

_BEYOND_RANKS = frozenset(("launch", "agent", "unreachable", "outside", "silence"))
"""Kinds of faults of which what ranks recorded tells nothing: their agents, hosts and networks are in question."""
_BEYOND_CALLS = frozenset(("ResourceError", "RendezvousError", "Unreached"))


def judged(
    faults: Sequence[Fault], rings: Mapping[int, bytes], host_of: Sequence[str], names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What a record of a diagnosis has, for a run that ended with these faults. `names` are what groups are called."""
    facts = list(_told(faults, host_of))
    complained = {fault.rank for fault in faults}
    for rank, data in sorted(rings.items()):
        name, who = f"flight recorder of rank {rank}", Who(rank=rank, host=_host(host_of, rank))
        facts += facts_of(data, name, who, names)
        if rank not in complained:  # the run was ended under it
            facts.append(Moving(who, Place(name)))
    case = case_of(facts)
    found = judge(case)
    body = record.body(case, found, "live")
    body["timeline"] = record.timeline(case)
    body["verdict"]["explanation"] += _phases(faults, body["verdict"])
    if not rings or _beyond(faults) or found.name in ("undecided", "none", "joined"):
        body["verdict"] = _completed(judge_launch(faults, host_of), body["verdict"])
    return body


def _phases(faults: Sequence[Fault], verdict: Mapping[str, Any]) -> str:
    """What those at fault said that they do."""
    named = {culprit.get("rank") for culprit in verdict["culprits"]}
    phases = {fault.phase for fault in faults if fault.rank in named and fault.phase}
    return f"; during {phases.pop()}" if len(phases) == 1 else ""


def _beyond(faults: Sequence[Fault]) -> bool:
    """Whether it is not the ranks' calls that are in question."""
    return any(
        fault.kind in _BEYOND_RANKS
        or fault.error in _BEYOND_CALLS
        or fault.unanswered
        or fault.phase in ("start", "rendezvous")
        for fault in faults
    )


def _completed(verdict: dict[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """With where ranks stood, where that is known."""
    return {**verdict, **{name: verdict[name] or engine[name] for name in ("collective", "positions", "waiting")}}


def _host(host_of: Sequence[str], rank: int) -> str | None:
    return host_of[rank] if rank < len(host_of) and host_of[rank] else None


def _told(faults: Sequence[Fault], host_of: Sequence[str]) -> Iterator[Fact]:
    """What was seen and heard of the ranks."""
    for number, fault in enumerate(faults, 1):
        if fault.rank is not None:
            who = Who(rank=fault.rank, host=_host(host_of, fault.rank), pid=fault.pid)
            place = Place("this run", number, words(fault), float(number))
            yield Seen(place, "report of a rank", who)
            yield from of_fault(fault, who, place)
