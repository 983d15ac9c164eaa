"""Who has come to MindSpore's scheduler and who is missed, as far as what it says tells that."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.mindspore import MindSpore
from suites.diagnose.facts import Absent, Ended, Fact, Identity, Level, Trouble, Who, World
from tests.suites.diagnose.cases.mindspore_inputs import came, joined, lost, msrun, said
from tests.suites.diagnose.evidence.feeding import fed, only

_LATE = said(4100, "Topology build timed out.")


def facts(text: str) -> list[Fact]:
    return fed(MindSpore(), text, "scheduler.log")


def named(text: str, name: str) -> list[Trouble]:
    return [trouble for trouble in only(facts(text), Trouble) if trouble.known_as == name]


def test_who_comes_is_known_by_its_number_and_host() -> None:
    told = facts(came((0, 9), 16))
    assert {fact.size for fact in only(told, World)} == {16}
    assert [fact.who for fact in only(told, Identity)] == [Who(rank=0, host="node01"), Who(rank=9, host="node02")]


def test_a_worker_tells_its_rank() -> None:
    (told,) = only(facts(joined(7)), Identity)
    assert told.who == Who(rank=7, pid=4207)


def test_a_rank_given_later_is_the_one_that_counts() -> None:
    node = "0a1b-77"
    later = f"Assign rank id of node id: {node}, role: A, with host ip: 192.0.2.1, old rank id: 0, new rank id: 5"
    text = came((0,), 4).replace("The new node: 0", f"The new node: {node}") + said(4100, later)
    told = facts(text + lost(0).replace("The node: 0", f"The node: {node}"))
    assert not only(told, Identity)
    assert [fact.absent for fact in only(told, Absent)] == [(Who(rank=5),)]


@pytest.mark.parametrize(
    "roll",
    [
        "".join(came((0, 1, 2, 3), 8).splitlines(keepends=True)[1:]),
        came((0, 1), 4).replace("node: 1(", "node: 5f-1("),
        came(range(8), 8) + said(4100, "Cluster is successfully initialized."),
        "",
    ],
    ids=["the beginning is cut off", "numbers are given later", "all have come", "nothing is told"],
)
def test_nobody_is_missed_where_the_roll_is_not_whole(roll: str) -> None:
    assert not only(facts(roll + _LATE), Absent)


def test_who_is_not_on_the_roll_has_not_come() -> None:
    (missed,) = only(facts(came((0, 2, 3), 4) + _LATE), Absent)
    assert (missed.absent, missed.present) == ((Who(rank=1),), (Who(rank=0), Who(rank=2), Who(rank=3)))


def test_most_who_are_not_heard_say_nothing_of_one() -> None:
    assert not only(facts(came(range(4), 4) + lost(0) + lost(1)), Absent)


def test_the_same_one_is_missed_once() -> None:
    assert len(only(facts(came(range(4), 4) + lost(2) * 5), Absent)) == 1


@pytest.mark.parametrize("before", ["Worker process 77 exit with exception."])
def test_whom_msrun_may_have_ended_is_not_missed(before: str) -> None:
    told = facts(msrun(before) + came(range(4), 4) + lost(2))
    assert not only(told, Absent)
    assert [(fact.who.pid, fact.code, fact.signal) for fact in only(told, Ended)] == [(77, None, None)]
    assert [trouble.level for trouble in only(told, Trouble) if "rank 2" in trouble.what] == [Level.TEARDOWN]


def test_a_try_that_failed_counts_where_none_came_through() -> None:
    tried = said(4207, "Failed to connect to the meta server node url: 192.0.2.5:8118", level="WARNING")
    (told,) = named(tried * 3, "mindspore.unreached")
    assert "192.0.2.5:8118" in told.what
    assert not named(tried + joined(7) + tried, "mindspore.unreached")


def test_only_a_message_of_hccl_takes_an_exception_back() -> None:
    block = "RuntimeError: made up\n\n----\n- Ascend Error Message:\n----\n{}: made up\n"
    assert [one.place.line for one in named(block.format("EI0006"), "mindspore.quoted")] == [1]
    assert not named(block.format("EZ9999"), "mindspore.quoted")
    assert not named(block.format("EI0006").replace("- Ascend Error Message:", ""), "mindspore.quoted")


def test_all_of_a_host_are_missed_however_many() -> None:
    told = facts(came(range(16), 16) + "".join(lost(node) for node in range(8, 16)))
    assert len(only(told, Absent)) == 8


@pytest.mark.parametrize("level", ["ERROR", "CRITICAL"])
def test_an_error_that_is_not_known_is_not_passed_over(level: str) -> None:
    text = said(4207, "Made up failed.", level=level)
    assert [one.level for one in named(text, "mindspore.unknown")] == [Level.CASCADE]
    assert not named(text + said(4207, "The state of the cluster is error, total nodes num: 8"), "mindspore.unknown")
    assert not named(said(4207, "Made up is slow.", level="WARNING"), "mindspore.unknown")
