"""Groups whose key is a guess."""

from __future__ import annotations

from suites.diagnose.case import case_of
from suites.diagnose.facts import Call, Fact, Group, Identity, Place, Signature, Who
from suites.diagnose.guesses import settled
from tests.suites.diagnose.evidence.feeding import only

PLACE = Place("job.log", 1)


def of(*processes: int, size: int, guessed: bool = True, ranks: bool = False) -> list[Fact]:
    """Calls of one group by some processes."""
    facts: list[Fact] = [Group("some 1", PLACE, size=size, guessed=guessed)]
    for rank, pid in enumerate(processes):
        who = Who(host="node01", pid=pid, **({"group": "some 1", "group_rank": rank % size} if ranks else {}))
        facts += [Identity(who, PLACE), Call(who, PLACE, "some 1", 3, Signature("allreduce"))]
    return facts


def test_more_processes_than_members_are_no_group() -> None:
    calls = only(settled(of(11, 12, 13, size=2)), Call)
    assert len({call.group for call in calls}) == 3
    assert {len(table) for table in case_of(of(11, 12, 13, size=2)).table.values()} == {1}


def test_two_of_one_rank_are_no_group() -> None:
    facts = settled(of(11, 12, 13, size=2, ranks=True))
    assert len({call.group for call in only(facts, Call)}) == 3
    assert not [who for call in only(facts, Call) if (who := call.who).group_rank is not None]


def test_as_many_as_members_are_one() -> None:
    (table,) = case_of(of(11, 12, size=2)).table.values()
    assert len(table) == 2


def test_nobody_is_missed_where_no_ranks_are_told() -> None:
    case = case_of(of(11, 12, size=8))
    assert len(case.people.persons) == 2
    assert len(case_of(of(11, 12, size=8, ranks=True)).people.persons) == 8


def test_what_is_no_guess_stays_as_it_is() -> None:
    facts = of(11, 12, 13, size=2, guessed=False)
    assert settled(facts) == facts
