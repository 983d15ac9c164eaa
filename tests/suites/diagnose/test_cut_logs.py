"""Logs that break off within a record: what it would have told, and who would have come next, is not known."""

from __future__ import annotations

import pytest

from suites.diagnose.facts import Unread
from tests.suites.diagnose.cases.case import Case, grade
from tests.suites.diagnose.cases.torch_inputs import late, stood
from tests.suites.diagnose.evidence.test_log import reading

HEARD = "".join(late(rank, 900) + stood(rank, 900, 900, 899) for rank in (1, 2))


@pytest.mark.parametrize(("rank", "length"), [(3, 90), (0, 90), (0, 170)])
def test_of_a_log_that_breaks_off_nobody_is_missing(rank: int, length: int) -> None:
    case = Case("cut", {"job.log": HEARD + late(rank, 900)[:length]}, "undecided", suspects=(0,))
    found = grade(case)
    assert found is not None
    assert found.right, found


def test_a_last_line_without_a_line_feed_may_be_whole() -> None:
    text = (HEARD + stood(3, 900, 900, 899) + late(3, 900)).rstrip("\n")
    found = grade(Case("whole", {"job.log": text}, "missing", ("rank 0",), ("allreduce", 900)))
    assert found is not None
    assert found.right, found


def test_a_warning_that_is_not_known_proves_nothing_for_anybody() -> None:
    text = "n1:9:79 [0] socket.cc:471 NCCL WARN some new trouble\n" + HEARD + stood(3, 900, 900, 899)
    found = grade(Case("unknown", {"job.log": text}, "missing", ("rank 0",), ("allreduce", 900)))
    assert found is not None
    assert found.right, found


def test_where_a_log_breaks_off_is_told() -> None:
    (cut,) = reading(b"one\nsorry WorkNCCL(SeqNum=9")
    assert cut == Unread("a.log", "line 2: the log breaks off in it", breaks_off=True)
    (whole,) = reading(b"one\nsorry WorkNCCL(SeqNum=9)")
    assert not isinstance(whole, Unread)
