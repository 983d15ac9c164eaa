"""The desync report of torch, by which each rank's place in a group is told."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.torch_desync import Desync
from suites.diagnose.facts import Absent, Call, Group, Track, Who
from tests.suites.diagnose.evidence.torch_lines import of, told

HEAD = "[rank{0}]:[E611 03:04:05.6 ProcessGroupNCCL.cpp:2399] [PG ID {1} PG GUID {1}{2} Rank {3}] \n"
LAGGING = (
    "\t - [0] Timeout at collective: ALLREDUCE, #8\n"
    "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
    "\t   - [3] joined but didn't finish collective #7 (count from 1)\n"
    "\t     [2] finished collective #7, but didn't join collective #8 (count from 1)\n"
    "\t - Snapshot of ranks' latest states:\n"
    "\t   #7 started ranks:\n\t     [3] started BROADCAST\n"
    "\t   #7 finished ranks:\n\t     [2] finished BROADCAST\n"
    "\t   #8 started ranks:\n\t     [0, 1] started ALLREDUCE"
)
NEVER = (
    "\t - [0] Timeout at collective: ALLREDUCE, #8\n\t - To our best knowledge, ranks [2, 3] are the lagging ranks "
    "that caused this timeout. They never joined any collectives"
)


def test_where_each_rank_stands() -> None:
    facts = told(Desync(), HEAD.format(0, 0, "(default_pg)", 0) + LAGGING)
    assert {(call.who.rank, call.seq, call.signature.op) for call in of(Call, facts)} == {
        (0, 8, "allreduce"), (1, 8, "allreduce"), (3, 7, "broadcast"),
    }  # fmt: skip
    assert {call.state for call in of(Call, facts)} == {"pending"}
    assert [(track.who.rank, track.enqueued, track.completed) for track in of(Track, facts)] == [(2, 7, 7)]
    (absent,) = of(Absent, facts)
    assert ([who.rank for who in absent.absent], absent.seq, absent.op) == ([2], 8, "allreduce")
    assert max(group.least or 0 for group in of(Group, facts)) == 4


def test_those_who_never_came() -> None:
    (absent,) = of(Absent, told(Desync(), HEAD.format(0, 0, "(default_pg)", 0) + NEVER))
    assert [who.rank for who in absent.absent] == [2, 3]
    assert (absent.group, absent.seq, absent.op, absent.by.rank) == ("0", 8, "allreduce", 0)


def test_ranks_are_those_of_the_group() -> None:
    facts = told(Desync(), HEAD.format(4, 7, "(tensor)", 0) + NEVER)
    (absent,) = of(Absent, facts)
    assert absent.absent == (Who(group="7", group_rank=2), Who(group="7", group_rank=3))
    (call,) = of(Call, facts)
    assert call.who == Who(rank=4, group="7", group_rank=0)


@pytest.mark.parametrize("between", ["", "some line of the program\n" * 9])
def test_a_group_that_is_far_above_is_not_the_reports(between: str) -> None:
    facts = told(Desync(), HEAD.format(4, 7, "(tensor)", 0) + between + NEVER)
    assert of(Absent, facts)[0].group == ("default" if between else "7")


def test_lines_that_look_alike_are_nothing_without_a_report() -> None:
    assert not told(Desync(), "\t   #7 started ranks:\n\t     [3] started BROADCAST")


def test_a_report_whose_first_line_is_lost() -> None:
    facts = told(Desync(), LAGGING.partition("\n")[2])
    (absent,) = of(Absent, facts)
    assert ([who.group_rank for who in absent.absent], absent.seq) == ([2], 8)
    assert {(call.who.group_rank, call.seq) for call in of(Call, facts)} == {(0, 8), (1, 8), (3, 7)}
    (absent,) = of(Absent, told(Desync(), NEVER.partition("\n")[2]))
    assert ([who.group_rank for who in absent.absent], absent.seq) == ([2, 3], None)
