"""Recordings of several runs among the evidence: of one rank two dumps of a kind cannot both be true. Attempts of a
job in one log. And recordings of a run that was going on.

May import: facts.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from suites.diagnose.facts import (
    RESTARTED,
    Absent,
    Call,
    Disagreement,
    Ended,
    Fact,
    Group,
    HostAddress,
    JustBegun,
    Level,
    Raised,
    Seen,
    Setting,
    Track,
    Trouble,
    Unread,
    Waiting,
)

_RECORDED = (Group, Seen, Track)
_OWN_RING, _OWN_RUN = "opsdist flight recorder", "run of opsdist"
"""What opsdist leaves of each run in a folder of its own, whatever its ranks came to."""
_OF_HOSTS = (HostAddress, Seen, Setting)
"""They are the same in all attempts."""


def of_latest_run(facts: Sequence[Fact]) -> tuple[Sequence[Fact], list[str]]:
    """The facts without the recordings of earlier runs, and what that was decided by, for people.

    Runs are told apart by their folders; in one folder the latest recording of a rank counts.
    """
    kinds = {fact.place.file: fact.kind.partition(" (")[0] for fact in facts if isinstance(fact, Seen)}
    files: dict[tuple[str, int], set[str]] = defaultdict(set)
    latest: dict[str, float] = defaultdict(float)
    for fact in facts:
        # Lines of logs repeat each other; a recording is a file.
        if isinstance(fact, Track) and fact.who.rank is not None and fact.place.line is None:
            file = fact.place.file
            files[kinds.get(file, ""), fact.who.rank].add(file)
            times = [call.entered for call in (*fact.pending, *fact.latest) if call.entered is not None]
            latest[file] = max(latest[file], *times, 0.0)
        elif isinstance(fact, Seen) and fact.kind == _OWN_RING and fact.who.rank is not None:
            files[fact.kind, fact.who.rank].add(fact.place.file)
    several = {rank for (_, rank), of in files.items() if len(of) > 1}
    if not several:
        return facts, []
    own = {fact.place.file for fact in facts if isinstance(fact, Seen) and fact.kind == _OWN_RUN}
    dropped, note = _dropped(files, latest, own)
    if not note:
        note = f"{len(several)} ranks have several recordings: the latest of each was judged"
    return [fact for fact in facts if _recording(fact) not in dropped], [note]


def _recording(fact: Fact) -> str | None:
    """The file, where it may be a recording that tells it: they have no lines, as logs have that tell as much."""
    if isinstance(fact, Unread) or not (isinstance(fact, _RECORDED) or fact.place.line is None):
        return None
    return fact.place.file


def of_latest_attempt(facts: Sequence[Fact]) -> tuple[Sequence[Fact], list[str]]:
    """The facts without what a log says of attempts before the last, where the last one failed too: what went wrong
    before was ended with its processes."""
    restarts: dict[str, int] = {}
    for fact in facts:
        if isinstance(fact, Trouble) and fact.known_as == RESTARTED and fact.place.line is not None:
            restarts[fact.place.file] = max(fact.place.line, restarts.get(fact.place.file, 0))
    failed = {
        fact.place.file
        for fact in facts
        if not isinstance(fact, Unread) and _fails(fact) and not _before(fact, restarts)
    }
    restarts = {file: line for file, line in restarts.items() if file in failed}
    if not restarts:
        return facts, []
    earlier = "all before line {} is of an earlier attempt"
    notes = [f"{os.path.basename(file)}: {earlier.format(line)}" for file, line in restarts.items()]
    return [fact for fact in facts if isinstance(fact, _OF_HOSTS) or not _before(fact, restarts)], notes


def _before(fact: Fact, restarts: Mapping[str, int]) -> bool:
    return (
        not isinstance(fact, Unread)
        and fact.place.line is not None
        and fact.place.line <= restarts.get(fact.place.file, -1)
    )


def _fails(fact: Fact) -> bool:
    """It tells of a failure, or of who waits."""
    if isinstance(fact, Trouble):
        return fact.cause is not None or fact.level == Level.TIMEOUT
    return isinstance(fact, Absent | Disagreement | Ended | Raised | Waiting) or (
        isinstance(fact, Call) and fact.state == "pending"
    )


def without_just_begun(facts: Sequence[Fact]) -> Sequence[Fact]:
    """The facts without what ranks had under way that they had but just begun."""
    fresh = {_of(fact) for fact in facts if isinstance(fact, JustBegun)}
    kept: list[Fact] = []
    for fact in facts:
        if isinstance(fact, Track) and _of(fact) in fresh:
            kept.append(replace(fact, pending=()))
        elif not (isinstance(fact, Call) and fact.state == "pending" and _of(fact) in fresh):
            kept.append(fact)
    return kept if fresh else facts


def _of(fact: Track | Call | JustBegun) -> tuple[str, int | None]:
    """The run, by its folder, and the rank."""
    return os.path.dirname(fact.place.file), fact.who.rank


def _dropped(
    files: Mapping[tuple[str, int], Set[str]], latest: Mapping[str, float], own: Set[str]
) -> tuple[set[str], str]:
    """What is of earlier runs; and a note, where folders tell runs apart. `own` is what stands beside rings."""
    everything = set().union(*files.values())
    folders = {os.path.dirname(file) for file in everything}
    apart = all(len({os.path.dirname(file) for file in of}) == len(of) for of in files.values())
    if len(folders) > 1 and apart:
        newest = max(folders, key=lambda folder: max(latest[file] for file in everything if _in(file, folder)))
        kept = {file for file in everything if _in(file, newest)}
        beside = {file for file in own if not _in(file, newest)}
        note = f"recordings of several runs: only those in {newest or '.'}, the latest, were judged"
        return everything - kept | beside, note
    return {file for of in files.values() for file in of - {max(of, key=lambda one: (latest[one], one))}}, ""


def _in(file: str, folder: str) -> bool:
    return os.path.dirname(file) == folder
