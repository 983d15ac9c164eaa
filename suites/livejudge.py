"""What an exercise showed, and the verdict on it. Pure. May import: diagnose.live, exercise, lateness, verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from suites import lateness
from suites.diagnose.live import judged
from suites.exercise import WORLD, Scheduled, groups_of
from suites.lateness import Entered, Late
from suites.verdict import Fault

_POSITION = re.compile(r"call (\d+) \((\S+) #(\d+): ([^\s)]+)")
"""As a rank says what it does next; see Scheduled.describe."""
_ELSEWHERE = frozenset(("missing", "crashed", "cycle", "transport"))
"""Classes of which recordings do not tell the call: culprits are not in the one that they are missed in, or they are no
ranks."""


@dataclass(frozen=True, slots=True)
class WrongResult:
    """What one rank found in its receive buffer after a call."""

    rank: int
    number: int
    count: int
    index: int
    expected: float
    got: float


@dataclass(frozen=True, slots=True)
class Position:
    """The call that a rank was about to enter, or in, when the run ended."""

    rank: int
    number: int
    group: str
    seq: int
    op: str


@dataclass(slots=True)
class Seen:
    """All that is known of a run of the exercise, however it ended."""

    calls: Sequence[Scheduled]
    host_of: Sequence[str]
    timeout: float
    faults: Sequence[Fault] = ()
    wrong: list[WrongResult] = field(default_factory=list)
    entered: dict[int, list[Entered]] = field(default_factory=dict)
    """Of the ranks that came to the end."""
    rings: Mapping[int, bytes] = field(default_factory=dict)
    """The flight recorders of ranks, where they were taken."""
    pids: Mapping[int, int] = field(default_factory=dict)

    @property
    def positions(self) -> list[Position]:
        """Of the ranks that a fault tells of."""
        found = {fault.rank: _POSITION.search(fault.phase) for fault in self.faults if fault.rank is not None}
        return [
            Position(rank, int(match[1]), match[2], int(match[3]), match[4])
            for rank, match in sorted(found.items())
            if match
        ]


def body_of(seen: Seen) -> dict[str, Any]:
    """What a record of it has, the verdict first of all."""
    if seen.faults:
        return _of_faults(seen)
    if seen.wrong:
        return bare(_of_wrong(seen))
    if len(seen.entered) < len(seen.host_of):
        return bare(undecided("the run was ended before all ranks had made all calls"))
    late = lateness.judge(seen.entered, seen.timeout)
    return bare(_of_late(seen, late) if late else _nothing(seen))


def verdict_of(seen: Seen) -> dict[str, Any]:
    """The verdict object of the record."""
    verdict: dict[str, Any] = body_of(seen)["verdict"]
    return verdict


def bare(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """A record's own part, where there is a verdict and nothing else."""
    return {
        "verdict": dict(verdict), "mode": "live", "groups": [], "waits": [], "evidence": [], "stands": [],
        "timeline": [], "sources": {"read": 0, "kinds": {}, "unread": [], "ranks": {"seen": [], "size": None}},
        "notes": [],
    }  # fmt: skip


def undecided(why: str) -> dict[str, Any]:
    """Nobody has said anything."""
    return _verdict(Seen((), (), 0.0), "undecided", why, "hypothesis")


def _of_faults(seen: Seen) -> dict[str, Any]:
    """By what ranks have recorded; where there is nothing, by what each has said that it does next."""
    body = judged(seen.faults, seen.rings, seen.host_of, recorded_names(len(seen.host_of)))
    verdict, positions = body["verdict"], seen.positions
    if verdict["collective"] is None or verdict["class"] in _ELSEWHERE:
        # Others may miss it in several calls: it is the one that it was about to enter.
        named = [culprit.get("rank") for culprit in [*verdict["culprits"], *verdict["suspects"]]]
        decisive = next((position for position in positions if position.rank in named), None) or min(
            positions, key=lambda position: position.number, default=None
        )
        if decisive is not None:
            verdict["collective"] = {"group": decisive.group, "seq": decisive.seq, "op": decisive.op}
    if not verdict["positions"]:
        verdict["positions"] = [{"rank": p.rank, "seq": p.seq, "op": p.op} for p in positions]
    return body


def recorded_names(size: int) -> dict[str, str]:
    """What recorders call the groups of an exercise of so many ranks -> what people do. A communicator's name says its
    ranks, and how many of the same came before it."""
    counts: dict[tuple[int, ...], int] = {}
    names = {}
    for group in groups_of(size):
        if group.name != WORLD:
            number = counts[group.ranks] = counts.get(group.ranks, -1) + 1
            names[f"{WORLD}/{group.ranks}#{number}"] = group.name
    return names


def _of_wrong(seen: Seen) -> dict[str, Any]:
    """The first call with wrong results, and whose they were: what came later may follow from it."""
    first = min(wrong.number for wrong in seen.wrong)
    found = sorted((wrong for wrong in seen.wrong if wrong.number == first), key=lambda wrong: wrong.rank)
    call, one = seen.calls[first - 1], found[0]
    text = (
        f"rank {one.rank} received wrong data in {call.describe()}: {one.count} wrong, the first at index {one.index}: "
        f"expected {one.expected!r}, got {one.got!r}"
    )
    advice = "run it again; if it stays with this host or device, take it out of service and test its memory"
    return _verdict(
        seen, "corrupt", text, culprits=[wrong.rank for wrong in found], call=call, next_checks=[advice],
        cascade_count=len(seen.wrong) - len(found),
    )  # fmt: skip


def _of_late(seen: Seen, late: Late) -> dict[str, Any]:
    call, times = seen.calls[late.numbers[0] - 1], len(late.numbers)
    text = (
        f"rank {late.rank} is late, but goes on: {times} times the others waited for it in a call, {late.seconds:.1f} "
        f"s in all, first in {call.describe()}; it was not the queue for a CPU"
    )
    advice = "what that rank does between its calls: `py-spy top --pid PID`, input, garbage collection, its disk"
    return _verdict(seen, "slow", text, "likely", culprits=[late.rank], call=call, next_checks=[advice])


def _nothing(seen: Seen) -> dict[str, Any]:
    text = f"{len(seen.calls)} calls of {len(seen.host_of)} ranks came to their end, with right results and in time"
    return _verdict(seen, "none", text)


def _verdict(
    seen: Seen, name: str, explanation: str, confidence: str = "certain", *, culprits: Sequence[int] = (),
    call: Scheduled | None = None, next_checks: Sequence[str] = (), cascade_count: int = 0,
) -> dict[str, Any]:  # fmt: skip
    def subject(rank: int) -> dict[str, Any]:
        return {"kind": "rank", "rank": rank, "host": seen.host_of[rank]}

    return {
        "class": name,
        "confidence": confidence,
        "culprits": [subject(rank) for rank in culprits],
        "suspects": [],
        "waiting": [],
        "collective": call and {"group": call.group.name, "seq": call.seq, "op": call.collective},
        "sides": [],
        "positions": [],
        "initiating": {"file": None, "line": None, "text": explanation} if culprits else None,
        "cascade_count": cascade_count,
        "seen": [subject(rank) for rank in range(len(seen.host_of))],
        "missing_evidence": [],
        "explanation": explanation,
        "next_checks": list(next_checks),
    }
