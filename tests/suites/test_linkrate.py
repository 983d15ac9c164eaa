"""What neighbours reach against what links carry: said, warned of, or not to be known."""

from __future__ import annotations

from ipaddress import ip_interface

import pytest

from suites.launch.reach import Candidate
from suites.linkrate import judge
from suites.report import Finding, Status

GIGABIT = 125_000_000


def link(gigabits: float | None, name: str = "eth0") -> Candidate:
    return Candidate(name, ip_interface("10.0.0.1/24"), 1500, gigabits and int(gigabits * GIGABIT))


def judged(gigabits: float, **links: Candidate) -> Finding:
    """The finding about neighbours that exchange so much."""
    (finding,) = judge([gigabits * GIGABIT / 2, gigabits * GIGABIT], links)
    return finding


@pytest.mark.parametrize(
    ("reached", "status"),
    [(0.1, "warn"), (12.4, "warn"), (12.6, "pass"), (23.5, "pass"), (27.4, "pass"), (27.6, "warn"), (400, "warn")],
)
def test_between_half_and_a_little_more_than_the_link_all_is_well(reached: float, status: str) -> None:
    found = judged(reached, a=link(25), b=link(25))
    assert found.status == status
    assert (found.remedy is None) == (status == "pass")
    assert found.evidence["share"] == pytest.approx(reached / 25)


def test_too_little_and_too_much_have_remedies_of_their_own() -> None:
    slow, fast = judged(5, a=link(25), b=link(25)), judged(50, a=link(25), b=link(25))
    assert "one connection may not fill the link" in (slow.remedy or "")
    assert "MTU" in (slow.remedy or "")
    assert "cannot carry" in fast.message
    assert "one machine" in (fast.remedy or "")
    assert "cannot carry" not in slow.message


def test_the_slowest_link_bounds_all_and_is_named() -> None:
    found = judged(9, a=link(100), b=link(10, "ib3"), c=link(25))
    assert (found.status, found.subject) == (Status.PASS, {"host": "b", "device": "ib3"})
    assert "1.12 GB/s, 90% of the link (b ib3, 10 Gb/s)" in found.message


def test_a_rate_that_nobody_knows_is_neither_well_nor_wrong() -> None:
    found = judged(9, a=link(None), b=link(None, "bond0"))
    assert (found.status, found.remedy) == (Status.INFO, None)
    assert "unknown" in found.message
    assert "bond0, eth0" in found.message
    assert found.evidence == {"neighbour_gb_s": pytest.approx(1.125), "link_gb_s": None, "share": None}


def test_where_some_are_unknown_it_is_said_that_another_may_be_slower() -> None:
    found = judged(9, a=link(None), b=link(10))
    assert found.subject == {"host": "b", "device": "eth0"}
    assert "the slowest link that is known" in found.message


def test_nothing_is_said_of_what_was_not_measured() -> None:
    assert judge([], {"a": link(25)}) == []
    assert judge([1e9], {}) == []
