"""The flight recorders of opsdist's own ranks: of a run that went wrong, or of a user's program that kept them.

May import: facts, line, source, collectives' reader of rings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import inf

from collectives.ring import MAGIC
from collectives.ringreader import Entry, RecorderError, Ring
from collectives.ringreader import read as read_ring
from suites.diagnose.evidence.line import merged
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import NOBODY, Call, Fact, Group, Identity, Place, Seen, Signature, Track, Unread, Who

MESSAGES = "messages"
"""Stands for the group of all that ranks send to each other one by one: every pair has one of its own in the ring."""
_LATEST = 64
_BARRIER = "barrier"
_UNEVEN = "alltoallv"
"""Each rank has counts of its own, and the ring has 0 for it."""
_MOMENT_SECONDS = 1.0
"""Longer than most calls take, and shorter than anybody looks at a run that hangs before ending it."""


def recognises(head: bytes, name: str) -> bool:
    """Whether it begins like one."""
    return head.startswith(MAGIC)


def read(source: Source) -> Iterable[Fact]:
    """What the rank was at in each of its groups."""
    with source.open() as stream:
        return facts_of(stream.read(), source.name, source.who)


def facts_of(data: bytes, name: str, who: Who = NOBODY, names: Mapping[str, str] | None = None) -> list[Fact]:
    """Of a snapshot. What is none is told to be so. `names` are what groups are called by people."""
    try:
        ring = read_ring(data)
    except RecorderError as error:
        return [Unread(name, str(error))]
    known = merged(Who(rank=ring.rank, host=ring.host, pid=ring.pid), who)
    if why := _untold(ring):
        # Who seems to be in no call would be blamed for it.
        return [Unread(name, why), Identity(known, Place(name))]
    return list(_facts(ring, Place(name), known, names or {}))


def _untold(ring: Ring) -> str:
    """Why it does not tell what the rank is in."""
    if not ring.whole:
        return "cut off: the names of groups are lost, and with them where the rank was"
    if any(entry.group is None and entry.exited is None for entry in ring.entries):
        return "the group of a call under way found no room in it, so where the rank was is not known"
    return ""


def moving(rings: Mapping[int, bytes]) -> list[int]:
    """Ranks whose snapshot was taken less than a moment after they had begun or ended a call."""
    return sorted(rank for rank, data in rings.items() if _idle_seconds(data) < _MOMENT_SECONDS)


def _idle_seconds(data: bytes) -> float:
    """How long before the snapshot the rank began or ended a call; endless where that is not known."""
    try:
        ring = read_ring(data)
    except RecorderError:
        return inf
    times = [time for entry in ring.entries for time in (entry.entered, entry.exited) if time is not None]
    return ring.read_at - max(times) if times and ring.read_at is not None else inf


def _facts(ring: Ring, place: Place, who: Who, names: Mapping[str, str]) -> Iterator[Fact]:
    yield Seen(place, "opsdist flight recorder", who, verbose=True)
    by_group: dict[str, list[Call]] = defaultdict(list)
    for entry in ring.entries:
        if entry.group is not None:
            group = MESSAGES if entry.peer is not None else names.get(entry.group.name, entry.group.name)
            by_group[group].append(_call(entry, group, who, place, ring.epoch))
    for known in ring.groups:
        group = names.get(known.name, known.name)
        if not any(entry.group is known and entry.peer is not None for entry in ring.entries):
            yield Group(group, place, group, len(known.ranks), known.ranks)
            yield _track(group, by_group.get(group, []), who, place)
    yield from (call for call in by_group.get(MESSAGES, ()) if call.state == "pending")


def _track(group: str, calls: list[Call], who: Who, place: Place) -> Track:
    done = [call.seq for call in calls if call.state == "done" and call.seq is not None]
    seqs = [call.seq for call in calls if call.seq is not None]
    return Track(
        who, place, group, max(seqs, default=None), None, max(done, default=None),
        tuple(call for call in calls if call.state == "pending"), whole=True,
        history=tuple((call.seq, call.signature) for call in calls if call.seq is not None),
        latest=calls[-_LATEST:], exact=True, instant=True,
    )  # fmt: skip


def _call(entry: Entry, group: str, who: Who, place: Place, epoch: float | None) -> Call:
    op = entry.collective or "unknown"
    if entry.peer is not None:
        op = "send" if entry.sends else "recv"
    count = None if op == _UNEVEN and not entry.count else entry.count
    step = None
    if entry.outcome != "done" and entry.steps:
        step = f"{entry.step + 1} of {entry.steps}" + (f" of {entry.algorithm}" if entry.algorithm else "")
    return Call(
        who, place, group, None if entry.peer is not None else entry.sequence,
        Signature(op, count, None if op == _BARRIER else entry.dtype, entry.operator, entry.root),
        "done" if entry.outcome == "done" else "pending",
        None if entry.peer is None else Who(rank=entry.peer), op == "send",
        None if entry.frame is None else str(entry.frame),
        _time(entry.entered, epoch), _time(entry.exited, epoch), step,
    )  # fmt: skip


def _time(seconds: float | None, epoch: float | None) -> float | None:
    """By the host's clock of the day, so that ranks of several hosts stand side by side."""
    return None if seconds is None else seconds + (epoch or 0.0)
