"""Groups that logs and dumps call differently are one."""

from __future__ import annotations

from suites.diagnose.aliases import united
from suites.diagnose.facts import Absent, Call, Group, Place, Signature, Who

HERE = Place("job.log", 1)
TENSORS = (Group("7@0-1", HERE, "tp", 2, (0, 1)), Group("7@2-3", HERE, "tp", 2, (2, 3)))
WORLD = Group("0@0-3", HERE, "default_pg", 4, (0, 1, 2, 3))


def call(rank: int | None, group: str, group_rank: int) -> Call:
    return Call(Who(rank, group=group, group_rank=group_rank), HERE, group, 5, Signature("allreduce"), "pending")


def test_of_groups_of_one_name_it_is_the_one_with_the_rank_that_speaks() -> None:
    found = united([*TENSORS, Group("7", HERE, size=2), call(3, "7", 1)])
    assert found[-1] == call(3, "7@2-3", 1)


def test_a_rank_that_stands_elsewhere_in_the_group_is_of_another_group() -> None:
    assert united([*TENSORS, Group("7", HERE, size=2), call(3, "7", 0)])[-1] == call(3, "7", 0)


def test_a_group_without_a_name_is_the_world() -> None:
    said = Absent(
        HERE, (Who(group="default", group_rank=2),), (), "default", 5, by=Who(0, group="default", group_rank=0)
    )
    found = united([WORLD, Group("default", HERE, size=3), said, call(None, "default", 1)])
    assert found[1] == Group("0@0-3", HERE)
    assert found[2] == Absent(
        HERE, (Who(group="0@0-3", group_rank=2),), (), "0@0-3", 5, by=Who(0, group="0@0-3", group_rank=0)
    )
    assert found[3] == call(None, "0@0-3", 1)


def test_one_name_for_two_groups_is_kept_where_nobody_tells_which() -> None:
    assert united([*TENSORS, Group("7", HERE, size=2), call(None, "7", 1)])[-1] == call(None, "7", 1)


def test_without_dumps_nothing_changes() -> None:
    facts = [Group("7", HERE, size=2), call(3, "7", 1)]
    assert united(facts) is facts
