"""Lists of tasks: whole ones, cut ones, and the same one told again."""

from __future__ import annotations

from suites.diagnose.evidence.jax_coordination import Coordination
from suites.diagnose.facts import Absent, Trouble, World
from tests.suites.diagnose.cases.report_inputs import barrier, tasks
from tests.suites.diagnose.evidence.feeding import fed, only


def test_who_is_not_in_a_whole_list_has_come() -> None:
    facts = fed(Coordination(), barrier("saved::0", "2/4", 3, (0, 2)))
    (absent,) = only(facts, Absent)
    assert ([who.rank for who in absent.absent], [who.rank for who in absent.present]) == ([0, 2], [1, 3])
    assert [world.size for world in only(facts, World)] == [4]


def test_a_list_that_is_cut_tells_of_the_first_alone() -> None:
    (absent,) = only(fed(Coordination(), barrier("saved::0", "2/64", 3, (0, 2))), Absent)
    assert [who.rank for who in absent.present] == [3]


def test_every_task_is_told_the_same() -> None:
    assert len(only(fed(Coordination(), barrier("saved::0", "2/4", 3, (0, 2)) * 3), Absent)) == 1


def test_a_barrier_without_a_list_names_nobody() -> None:
    assert not fed(Coordination(), "Barrier timed out. Id: saved::0. This usually happens.\nstep 3\n" + tasks(()))


def test_all_who_are_silent() -> None:
    text = "The following tasks are unhealthy (stopped sending heartbeats):\n" + tasks((4, 1)) + "They have crashed.\n"
    assert [fact.about[0].who.rank for fact in only(fed(Coordination(), text), Trouble)] == [4, 1]
