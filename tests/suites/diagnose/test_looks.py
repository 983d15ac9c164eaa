"""What one look at a job that may be moving tells, and what a second one adds."""

from __future__ import annotations

from suites.diagnose.case import case_of
from suites.diagnose.facts import Absent, Fact, Group, Level, Place, Seen, Trouble, Who
from suites.diagnose.judge import judge
from suites.diagnose.verdict import Verdict

GROUP = "comm 0xfeed"


def member(rank: int) -> Who:
    return Who(group=GROUP, group_rank=rank)


def look(line: int, seq: int, *absent: int, file: str = "ras.txt", sure: bool = False) -> Absent:
    present = tuple(member(rank) for rank in range(4) if rank not in absent)
    missed = tuple(member(rank) for rank in absent)
    return Absent(Place(file, line), missed, present, GROUP, seq, "allreduce", sure=sure)


def verdict(*facts: Fact) -> Verdict:
    return judge(case_of([Seen(Place("ras.txt", 1), "a watcher"), Group(GROUP, Place("ras.txt", 1), size=4), *facts]))


def test_one_look_names_nobody() -> None:
    told = verdict(look(3, 64, 2))
    assert (told.name, told.culprits, told.suspects) == ("undecided", frozenset(), {2})


def test_a_second_look_that_shows_the_same_does() -> None:
    for second in (look(30, 64, 2), look(3, 64, 2, file="later.txt")):
        told = verdict(look(3, 64, 2), second)
        assert (told.name, told.culprits) == ("missing", {2})


def test_the_same_line_read_twice_is_one_look() -> None:
    assert verdict(look(3, 64, 2), look(3, 64, 2)).name == "undecided"


def test_who_has_moved_between_two_looks_is_not_behind() -> None:
    told = verdict(look(3, 64, 2), look(30, 70, 1))
    assert (told.name, told.suspects) == ("undecided", {1})


def test_of_a_job_that_hangs_one_look_is_a_hypothesis() -> None:
    complaint = Trouble(member(0), Place("rank0.log", 1), Level.TIMEOUT, "it has waited in vain")
    told = verdict(look(3, 64, 2), complaint)
    assert (told.name, told.confidence, told.culprits) == ("missing", "hypothesis", {2})


def test_a_watcher_that_waits_itself_is_sure() -> None:
    assert verdict(look(3, 64, 2, sure=True)).name == "missing"
