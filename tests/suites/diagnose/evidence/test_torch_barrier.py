"""Barriers that say who did not come."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.evidence.torch_barrier import TEXTS, MonitoredBarrier
from suites.diagnose.facts import Absent, Level, Trouble, Who
from tests.suites.diagnose.evidence.torch_lines import of, told

LIST = (
    "[rank0]:[E611 03:04:05.6 ProcessGroupGloo.cpp:67] [Rank 0]: Ranks 2, 5 failed to pass monitoredBarrier in 9000 ms"
)


def ranks(people: tuple[Who, ...]) -> list[int | None]:
    return [who.rank for who in people]


def test_a_list_is_of_all_who_did_not_come() -> None:
    (absent,) = of(Absent, told(MonitoredBarrier(), LIST))
    assert (ranks(absent.absent), ranks(absent.present)) == ([2, 5], [0, 1, 3, 4])
    assert (absent.by.rank, absent.op) == (0, "barrier")


def test_one_rank_may_be_the_first_of_several() -> None:
    (absent,) = of(Absent, told(MonitoredBarrier(), LIST.replace("Ranks 2, 5", "Rank 2")))
    assert (ranks(absent.absent), ranks(absent.present)) == ([2], [0])


def test_the_words_before_ranks_were_told() -> None:
    (absent,) = of(Absent, told(MonitoredBarrier(), "RuntimeError: Rank 1 failed to pass monitoredBarrier in 2000 ms"))
    assert absent.absent == (Who(group="default", group_rank=1),)


def test_ranks_of_another_group() -> None:
    (absent,) = of(Absent, told(MonitoredBarrier(), LIST.replace("[rank0]", "[rank4]")))
    assert ranks(absent.absent) == [None, None]
    assert [who.group_rank for who in absent.absent] == [2, 5]


@pytest.mark.parametrize(
    ("line", "level", "name"),
    [
        ("[Rank 0]: Rank 2 timed out in monitoredBarrier after 100 ms.", Level.TIMEOUT, "torch.barrier_timed_out"),
        (
            (
                "Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from "
                "rank 0. Please check rank 0 logs for faulty rank."
            ),
            Level.CASCADE,
            "torch.barrier_reached",
        ),
        (
            (
                "RuntimeError: Timed out initializing process group in store based barrier on rank: 3, for key: "
                "store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)"
            ),
            Level.TIMEOUT,
            "torch.store_barrier",
        ),
        (
            (
                "DistStoreError: Timed out initializing process group in store based barrier on rank 3, for key: "
                "store_based_barrier_key:2 (world_size=8, num_workers_joined=7, timeout=0:30:00)"
            ),
            Level.TIMEOUT,
            "torch.store_barrier",
        ),
    ],
)
def test_those_who_wait_blame_nobody(line: str, level: Level, name: str) -> None:
    (trouble,) = of(Trouble, told(KnownTexts(TEXTS), line))
    assert (trouble.level, trouble.cause, trouble.about, trouble.known_as) == (level, None, (), name)
    assert not any(found.absent for found in of(Absent, told(MonitoredBarrier(), line)))


def test_who_says_that_it_came_is_told_as_present() -> None:
    line = "[rank2]: RuntimeError: Rank 2 successfully reached monitoredBarrier, but received errors from rank 0."
    (found,) = of(Absent, told(MonitoredBarrier(), line))
    assert (found.absent, [who.group_rank for who in found.present], found.op) == ((), [2], "barrier")
