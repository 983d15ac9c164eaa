"""A verdict as the body of a record: what contract and renderers know, with people by their ranks.

May import: everything of this package but evidence, suites.report.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from suites.diagnose.case import Case
from suites.diagnose.complaints import Complaint
from suites.diagnose.facts import Call, Level, Seen, Subject, Unread
from suites.diagnose.graph import Wait
from suites.diagnose.people import People
from suites.diagnose.verdict import Verdict
from suites.diagnose.waits import members
from suites.diagnose.words import folded
from suites.report import Finding, Status

_MOST_EDGES = 4096
_MOST_LINES = 40
_MOST_STANDS = 64
_ROLES: Mapping[Level, str] = {
    Level.INITIATING: "supporting",
    Level.TRANSPORT: "supporting",
    Level.TIMEOUT: "supporting",
    Level.CASCADE: "cascade",
    Level.TEARDOWN: "teardown",
}


def body(case: Case, verdict: Verdict, mode: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """All of the record that is diagnose's own."""
    people = case.people
    return {
        "verdict": verdict_record(case, verdict),
        "mode": mode,
        "groups": _groups(case, verdict),
        "waits": _edges(people, verdict.waits),
        "evidence": _evidence(case, verdict),
        "stands": _stands(case, verdict),
        "sources": _sources(case),
        "notes": [*people.notes, *verdict.notes, *notes],
    }


def exit_code(verdict: Verdict) -> int:
    """By the contract."""
    return {"none": 0, "undecided": 3}.get(verdict.name, 1)


def finding(record: Mapping[str, Any]) -> Finding:
    """A verdict's record as the one finding of its run."""
    told = record["verdict"]
    status = {"none": Status.PASS, "undecided": Status.ERROR}.get(told["class"], Status.FAIL)
    subject = told["culprits"][0] if told["culprits"] else {}
    known = {key: subject[key] for key in ("rank", "host", "device") if key in subject}
    remedy = "; ".join(told["next_checks"]) or None
    return Finding(
        "diagnose.deadlock", status, told["explanation"], subject=known,
        remedy=remedy if status is not Status.PASS else None, evidence={"class": told["class"]},
    )  # fmt: skip


def verdict_record(case: Case, verdict: Verdict) -> dict[str, Any]:
    """The verdict object of the contract."""
    people = case.people
    at, complaint = verdict.at, verdict.initiating
    place = complaint.place if complaint else verdict.place
    return {
        "class": verdict.name,
        "confidence": verdict.confidence,
        "culprits": [
            *(_person(people, number) for number in sorted(verdict.culprits)),
            *(_subject(people, subject) for subject in verdict.about),
        ],
        "suspects": [_person(people, number) for number in sorted(verdict.suspects)],
        "waiting": ranks(people, verdict.waiting),
        "collective": {"group": group_label(people, at.group), "seq": at.seq, "op": at.op} if at else None,
        "sides": [{"signature": signature, "ranks": ranks(people, side)} for signature, side in verdict.sides],
        "positions": _positions(case, verdict),
        "initiating": {"file": place.file, "line": place.line, "text": place.text} if place else None,
        "cascade_count": sum(c is not complaint and c.level >= Level.TIMEOUT for c in case.complaints),
        "seen": [_person(people, number) for number in sorted(case.telling)],
        "missing_evidence": [*verdict.missing_evidence, *_missing(case, verdict)],
        "explanation": verdict.explanation,
        "next_checks": list(verdict.next_checks),
    }


def ranks(people: People, numbers: Iterable[int]) -> list[int]:
    """World ranks, of those of whom they are known."""
    return sorted(rank for number in numbers if (rank := people.persons[number].rank) is not None)


def group_label(people: People, group: str) -> str:
    """For people: the name, and what tells groups of one name apart."""
    known = people.groups.get(group)
    return f"{known.name} ({group})" if known and known.name and known.name != group else group


def _person(people: People, number: int) -> dict[str, Any]:
    person = people.persons[number]
    told: dict[str, Any] = {"kind": "rank"}
    if person.rank is not None:
        told["rank"] = person.rank
    elif person.group_ranks:
        told["group_rank"] = next(iter(person.group_ranks.values()))
    if person.host or (person.rank is None and person.address):
        told["host"] = person.host or person.address
    if person.device:
        told["device"] = person.device
    return told


def _subject(people: People, subject: Subject) -> dict[str, Any]:
    number = people.number(subject.who)
    told: dict[str, Any] = {**(_person(people, number) if number is not None else {}), "kind": subject.kind}
    for name in ("host", "device", "rank"):
        if (value := getattr(subject.who, name)) is not None:
            told[name] = value
    if subject.card:
        told["device"] = subject.card
    if "host" not in told and subject.who.address:
        told["host"] = subject.who.address
    if subject.kind == "host":
        told = {key: told[key] for key in ("kind", "host") if key in told}
    if subject.kind == "file" and subject.file:
        told["host"] = subject.file
    if subject.peer is not None:
        other = people.number(subject.peer)
        rank = people.persons[other].rank if other is not None else subject.peer.rank
        told_as = subject.peer.host or subject.peer.address
        if rank is not None or told_as is not None:
            told["peer"] = told_as if rank is None else rank
    return told


def _positions(case: Case, verdict: Verdict) -> list[dict[str, Any]]:
    """Where each rank stands in the decisive group."""
    if verdict.at is None:
        return []
    found = []
    for number, standing in sorted(case.table.get(verdict.at.group, {}).items()):
        rank, seq = (
            case.people.persons[number].rank,
            standing.front if standing.front is not None else standing.enqueued,
        )
        if rank is not None and seq is not None:
            signature = standing.signature(seq)
            found.append({"rank": rank, "seq": seq, "op": signature.op if signature else verdict.at.op or "unknown"})
    return found


def _missing(case: Case, verdict: Verdict) -> list[str]:
    without = ranks(case.people, verdict.suspects - case.telling)
    told = [f"no evidence from rank{'s' * (len(without) > 1)} {folded(without)}"] if without else []
    return [*told, *(f"{fact.file}: {fact.why}" for fact in case.facts if isinstance(fact, Unread))]


def _groups(case: Case, verdict: Verdict) -> list[dict[str, Any]]:
    """Those in which somebody waits, the decisive one first."""
    wanted = [verdict.at.group] if verdict.at else []
    wanted += [wait.group for wait in (*case.waits.sure, *case.waits.unseen) if wait.group is not None]
    told = []
    for group in dict.fromkeys(wanted):
        table = case.table.get(group, {})
        pending = Counter(standing.front for standing in table.values() if standing.front is not None)
        mine = verdict.at if verdict.at and verdict.at.group == group else None
        seq = mine.seq if mine else max(pending, key=lambda number: pending[number], default=None)
        signature = next((s for standing in table.values() if (s := standing.signature(seq or 0))), None)
        told.append(
            {
                "group": group,
                "name": group_label(case.people, group),
                "size": known.size if (known := case.people.groups.get(group)) else None,
                "ranks": list(known.ranks) if known and known.ranks else None,
                "seq": seq,
                "op": (mine.op if mine else None) or (signature.op if signature else None),
                **_states(case, group, seq),
            }
        )
    return told


def _states(case: Case, group: str, seq: int | None) -> dict[str, list[int]]:
    """How the members stand to one call."""
    people, table = case.people, case.table.get(group, {})
    found: dict[str, list[int]] = {name: [] for name in ("waiting", "absent", "behind", "done", "unseen")}
    for number in members(group, people, table):
        standing = table.get(number)
        if standing is None:
            found["absent" if number in case.telling else "unseen"].append(number)
        elif seq is None or standing.front == seq:
            found["waiting"].append(number)
        elif standing.passed(seq) or (standing.front is None and standing.reached(seq)):
            found["done"].append(number)
        else:
            found["behind" if standing.front is not None else "absent"].append(number)
    return {name: ranks(people, numbers) for name, numbers in found.items()}


def _edges(people: People, waits: Sequence[Wait]) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for wait in waits:
        for waiter in ranks(people, wait.waiters):
            for waited in ranks(people, wait.waited):
                if len(told) == _MOST_EDGES:
                    return told
                told.append(
                    {"from": waiter, "to": waited, "group": wait.group, "seq": wait.seq, "op": wait.op, "why": wait.why}
                )
    return told


def _evidence(case: Case, verdict: Verdict) -> list[dict[str, Any]]:
    """The initiating line, then others of each kind as far as they go."""
    ordered = sorted(case.complaints, key=lambda c: (c is not verdict.initiating, c.key))
    seen: dict[tuple[str, int | None], Complaint] = {}
    for complaint in ordered:
        seen.setdefault((complaint.place.file, complaint.place.line), complaint)
    return [_line(case, complaint, verdict) for complaint in list(seen.values())[:_MOST_LINES]]


def _line(case: Case, complaint: Complaint, verdict: Verdict) -> dict[str, Any]:
    person = case.people.persons[complaint.person] if complaint.person is not None else None
    return {
        "role": "initiating" if complaint is verdict.initiating else _ROLES[complaint.level],
        "file": complaint.place.file,
        "line": complaint.place.line,
        "text": complaint.place.text,
        "rank": person.rank if person else None,
        "host": person.host if person else None,
        "means": complaint.what,
    }


def _stands(case: Case, verdict: Verdict) -> list[dict[str, Any]]:
    """Where culprits, and then the others, stand: the oldest call of each that has not ended, or its last one."""
    waiting: dict[int, list[Call]] = defaultdict(list)
    left: dict[int, list[Call]] = defaultdict(list)
    for table in case.table.values():
        for number, standing in table.items():
            waiting[number] += (*standing.pending[:1], *standing.messages[:1])
            left[number] += standing.latest[-1:]
    order = [*sorted(verdict.culprits), *sorted(verdict.suspects), *sorted(verdict.waiting)]
    return [
        _stand(case.people, number, waiting[number], left[number]) for number in dict.fromkeys(order[:_MOST_STANDS])
    ]


def _stand(people: People, number: int, waiting: Sequence[Call], left: Sequence[Call]) -> dict[str, Any]:
    person = people.persons[number]
    call = min(waiting, key=_began) if waiting else max(left, key=_began, default=None)
    return {
        "rank": person.rank,
        "host": person.host,
        "pid": person.pid,
        "group": group_label(people, call.group) if call else None,
        "seq": call.seq if call else None,
        "op": call.signature.op if call else None,
        "step": call.step if call else None,
        "frame": call.frame if call else None,
        "state": "no call is told" if call is None else "waiting" if waiting else "left",
    }


def _began(call: Call) -> float:
    return call.entered or 0.0


def _sources(case: Case) -> dict[str, Any]:
    kinds = Counter(fact.kind for fact in case.facts if isinstance(fact, Seen))
    return {
        "read": len({fact.place.file for fact in case.facts if isinstance(fact, Seen)}),
        "kinds": dict(kinds),
        "unread": [{"file": fact.file, "why": fact.why} for fact in case.facts if isinstance(fact, Unread)],
        "ranks": {"seen": ranks(case.people, case.telling), "size": case.people.size},
    }


def timeline(case: Case) -> list[dict[str, Any]]:
    """The last calls of each rank, by group."""
    told = []
    for group, table in case.table.items():
        for number, standing in table.items():
            rank = case.people.persons[number].rank
            for call in standing.latest if rank is not None else ():
                told.append(
                    {
                        "rank": rank,
                        "group": group,
                        "name": group_label(case.people, group),
                        "seq": call.seq,
                        "op": call.signature.op,
                        "bytes": None,
                        "start": call.entered,
                        "end": call.ended,
                        "frame": call.frame,
                        "state": call.state,
                    }
                )
    return sorted(told, key=lambda row: (row["rank"], row["start"] or 0.0))
