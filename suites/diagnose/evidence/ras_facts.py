"""What an answer of NCCL's RAS subsystem means, in whatever form it is given.

Counts are of calls that were launched, so equal ones do not mean health, and unequal ones are normal while a job runs.
May import: facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from suites.diagnose.facts import Absent, Class, Fact, Identity, Level, Place, Subject, Trouble, Unread, Who

MOST_RANKS = 1 << 20
IMPOSSIBLE = "RAS output inconsistent (ranks that no communicator has): a fault of NCCL 2.26.5 and 2.27.3, among others"

IN_PROGRESS = 7
_RESULTS: Mapping[int, tuple[str, Level, Class | None]] = {
    1: ("Unhandled CUDA error", Level.INITIATING, "crashed"),
    2: ("System error", Level.CASCADE, None),
    3: ("Internal error", Level.CASCADE, None),
    4: ("Invalid argument", Level.CASCADE, None),
    5: ("Invalid usage", Level.CASCADE, None),
    6: ("Remote process error", Level.CASCADE, None),
}
"""ncclResult_t of nccl.h that are errors, as RAS writes them: only the first is surely the reporter's own."""
_BY_NAME = {name: number for number, (name, _, _) in _RESULTS.items()}


def behind(key: str, op: str, place: Place, by_count: Mapping[int, Sequence[Who]]) -> Iterable[Fact]:
    """Who has launched least is behind, whoever is listed: that is one look, which may come while they move."""
    if len(by_count) < 2:
        return
    least, most = min(by_count), max(by_count)
    if not by_count[least]:
        yield Unread(place.file, "ranks have launched different numbers of calls, and those behind are not listed")
    else:
        yield Absent(place, tuple(by_count[least]), tuple(by_count[most]), key, least + 1, op, sure=False)


def dead(who: Who, place: Place) -> Iterable[Fact]:
    """A process that RAS has given up."""
    yield Identity(who, place)
    yield Trouble(
        who, place, Level.INITIATING, "its process does not answer, and is considered dead", "crashed",
        (Subject("rank", who),), known_as="ras.dead",
    )  # fmt: skip


def failed(who: Who, place: Place, error: str | int) -> Iterable[Fact]:
    """A rank's own report of its communicator's state; nothing where that is no error."""
    number = error if isinstance(error, int) else _BY_NAME.get(error)
    if number in (0, IN_PROGRESS):
        return
    name, level, cause = _RESULTS.get(number or 0, (f"error {error}", Level.CASCADE, None))
    yield Trouble(
        who, place, level, f"its communicator has an error: {name}", cause, (Subject("rank", who),) if cause else (),
        known_as=f"ras.error {name}",
    )  # fmt: skip
