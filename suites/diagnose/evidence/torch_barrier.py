"""What PyTorch's barriers say of who did not come: monitored_barrier, and the store's at start-up.

The texts are those of ProcessGroupGloo::monitoredBarrier and of torch/distributed/distributed_c10d.py. Rank 0 of the
group alone sees who is missing; the others only see that it does not answer, and blame it wrongly.
May import: facts, known, line, torch_speaker, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.known import Known
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.torch_speaker import Speaker, speaker
from suites.diagnose.facts import Absent, Fact, Group, Level, Trouble, Who
from suites.diagnose.ranks import MOST_RANKS

_FAILED = re.compile(
    r"(?:\[Rank (?P<own>\d{1,7})\]:\s{0,9}|\b)Ranks? (?P<ranks>\d[\d, ]{0,60000}) failed to pass monitored_?[bB]arrier"
)
"""Old versions leave out who says it, which is rank 0."""
_AT_STORE = re.compile(
    r"store based barrier (?:on|to initialize process group for)(?: \d{1,9} seconds,)? rank:?\s{0,9}(?P<rank>\d{1,7}), "
    r"(?:for )?key: (?P<key>\S{1,200}) "
    r"\(world_size=(?P<size>\d{1,7}), (?P<word>worker_count|num_workers_joined)=(?P<came>\d{1,7})"
)
_PASSED_STORE = re.compile(r"Completed store-based barrier for key:\s?(?P<key>\S{1,200}) with")
_ADDED = re.compile(r"Added key: (?P<key>store_based_barrier_key:\S{1,200}) to store for rank: (?P<rank>\d{1,7})")
_START = "the start of all ranks"
_OF_THE_WORLD = (("worker_count", ":1"), ("num_workers_joined", ":0"), ("num_workers_joined", ":default_pg"))
"""How keys end of the first group, which is that of all ranks, by the word that a version has for who came."""
_REACHED = re.compile(r"\bRank (?P<own>\d{1,7}) successfully reached monitoredBarrier")

TEXTS = (
    Known(
        "torch.barrier_reached", "successfully reached monitoredBarrier",
        r"Rank (?P<group_rank>\d{1,7}) successfully reached monitoredBarrier", Level.CASCADE,
        "it came to the barrier, and rank 0 of the group, which knows who did not, gave no answer",
        remedy=("read what rank 0 says of this barrier: it alone names the ranks that did not come",),
    ),
    Known(
        "torch.barrier_timed_out", "timed out in monitoredBarrier",
        r"Rank \d{1,7} timed out in monitoredBarrier", Level.TIMEOUT, "a monitored barrier was not passed in time",
    ),
    Known(
        "torch.store_barrier", "store based barrier on rank",
        r"store based barrier on rank:?\s{0,9}(?P<rank>\d{1,7}), for key: \S{1,200} "
        r"\(world_size=(?P<size>\d{1,7}), (?:worker_count|num_workers_joined)=(?P<came>\d{1,7})",
        Level.TIMEOUT, "{came} of {size} ranks came to the barrier at the start of a process group",
        remedy=("ranks whose log has no such line did not come; more than {size} mean that the port was used before",),
    ),
)  # fmt: skip
"""Of those who wait."""


@dataclass(slots=True)
class MonitoredBarrier:
    """Reads rank 0's report, and who says that it came."""

    wakes: tuple[str, ...] = ("failed to pass monitored", "successfully reached monitored")
    awake: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        if reached := _REACHED.search(line.text):
            said = replace(speaker(line), group_rank=int(reached["own"]))
            yield said.fact(line.place())
            yield Absent(line.place(), (), (said.member,), said.key, None, "barrier", said.member)
        found = _FAILED.search(line.text)
        if found is None:
            return
        said = replace(speaker(line), group_rank=int(found["own"] or 0))
        absent, place = said.others(found["ranks"]), line.place()
        numbers = [who.group_rank or 0 for who in absent]
        yield said.fact(place, last=max(numbers))
        yield Absent(place, absent, _present(said, numbers), said.key, None, "barrier", said.member)
        yield Trouble(
            said.member, place, Level.TIMEOUT, f"rank {found['ranks'].strip()} did not come to a monitored barrier",
            known_as="torch.barrier_failed",
        )  # fmt: skip

    def end(self) -> Iterable[Fact]:
        return ()


def _present(said: Speaker, absent: Sequence[int]) -> tuple[Who, ...]:
    """A list is of all who did not come. One rank alone may be the first of them."""
    if len(absent) == 1:
        return (said.member,)
    return tuple(said.other(rank) for rank in sorted({*range(min(max(absent), MOST_RANKS))} - {*absent}))


@dataclass(slots=True)
class _Start:
    """Of a process group, as those tell who wait in its barrier."""

    first: Line
    size: int
    came: int = 0
    of_the_world: bool = False
    ranks: set[int] = field(default_factory=set)
    timed_out: bool = False
    last: int = 0
    """Line of the last that waited."""


@dataclass(slots=True)
class StoreBarrier:
    """Reads who waits there: that more came than there are, or which are left, once all who came have spoken. Without a
    time-out only where nothing else is said after it: many versions say nothing when it is passed."""

    wakes: tuple[str, ...] = ("store based barrier", "Completed store-based barrier", "Added key: store_based_barrier")
    awake: bool = False
    _starts: dict[str, _Start] = field(default_factory=dict)
    _added: dict[str, set[int]] = field(default_factory=dict)
    """Ranks that said that they came, by key."""
    _other: int = 0
    """Last line that says something else."""

    def feed(self, line: Line) -> Iterable[Fact]:
        if passed := _PASSED_STORE.search(line.text):
            self._starts.pop(passed["key"].rstrip("."), None)
        elif added := _ADDED.search(line.text):
            self._added.setdefault(added["key"], set()).add(int(added["rank"]))
        elif found := _AT_STORE.search(line.text):
            self._waits(found, line)
        elif line.text.strip():
            self._other = line.number
        self.awake = any(start.last > self._other for start in self._starts.values())
        return ()

    def end(self) -> Iterator[Fact]:
        for key, start in self._starts.items():
            start.ranks |= self._added.get(key, set())
            if start.came > start.size:
                yield _crowded(start)
                continue
            if not start.timed_out and start.last < self._other:
                continue
            if not start.timed_out:
                words = f"{start.came} of {start.size} ranks have come to the barrier at the start of a process group"
                yield Trouble(start.first.who, start.first.place(), Level.TIMEOUT, words, known_as="torch.store_wait")
            if start.of_the_world and len(start.ranks) == start.came and max(start.ranks) < start.size <= MOST_RANKS:
                yield from _not_started(start)

    def _waits(self, found: re.Match[str], line: Line) -> None:
        start = self._starts.setdefault(found["key"], _Start(line, int(found["size"])))
        start.came = max(start.came, int(found["came"]))
        start.ranks.add(int(found["rank"]))
        start.last = line.number
        start.timed_out = start.timed_out or "Timed out" in line.text
        start.of_the_world = any(found["word"] == word and found["key"].endswith(end) for word, end in _OF_THE_WORLD)


def _crowded(start: _Start) -> Trouble:
    words = f"{start.came} processes came to the start of a process group that has {start.size}"
    remedy = (
        "the number of processes that are started against WORLD_SIZE (--nnodes times --nproc-per-node)",
        "another MASTER_PORT, or no file that an earlier job left (init_method file://)",
    )
    return Trouble(
        start.first.who, start.first.place(), Level.INITIATING, words, "config", (), remedy, "torch.store_crowded"
    )


def _not_started(start: _Start) -> Iterator[Fact]:
    left = sorted({*range(start.size)} - start.ranks)
    here, there = (tuple(Who(rank=rank) for rank in ranks) for ranks in (sorted(start.ranks), left))
    yield Group(_START, start.first.place(), _START, start.size)
    yield Absent(start.first.place(), there, here, _START, None, "barrier")
