"""What PyTorch's barriers say of who did not come: monitored_barrier, and the store's at start-up.

The texts are those of ProcessGroupGloo::monitoredBarrier and of torch/distributed/distributed_c10d.py. Rank 0 of the
group alone sees who is missing; the others only see that it does not answer, and blame it wrongly.
May import: facts, known, line, torch_speaker, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from suites.diagnose.evidence.known import Known
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.torch_speaker import Speaker, speaker
from suites.diagnose.facts import Absent, Fact, Level, Trouble, Who
from suites.diagnose.ranks import MOST_RANKS

_FAILED = re.compile(
    r"(?:\[Rank (?P<own>\d{1,7})\]:\s{0,9}|\b)Ranks? (?P<ranks>\d[\d, ]{0,60000}) failed to pass monitored_?[bB]arrier"
)
"""Old versions leave out who says it, which is rank 0."""
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
