"""The verdict on an exercise, from made-up runs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from suites.exercise import script
from suites.lateness import Entered
from suites.livejudge import Seen, WrongResult, undecided, verdict_of
from suites.verdict import Fault
from tests.schema import validate_against

CALLS = script(2, "world")
HOSTS = ("node01", "node02")


def seen(faults: Sequence[Fault] = (), wrong: Sequence[WrongResult] = (), late: int = 0) -> Seen:
    """Two ranks at their end; rank 1 is so many milliseconds late at its calls from the tenth on."""
    entered = {}
    for rank in range(2):
        own = [10**6 * (late if rank and number > 10 else 1) for number in range(len(CALLS))]
        starts = [sum(own[: number + 1]) for number in range(len(CALLS))]
        entered[rank] = [Entered(call.number, at, at, 0) for call, at in zip(CALLS, starts, strict=True)]
    return Seen(CALLS, HOSTS, 3.0, faults, list(wrong), entered)


def ranks(verdict: dict[str, object], key: str) -> list[int]:
    people = verdict[key]
    assert isinstance(people, list)
    return [person["rank"] for person in people]


def test_nothing_wrong() -> None:
    verdict = verdict_of(seen())
    assert (verdict["class"], verdict["culprits"], verdict["initiating"]) == ("none", [], None)


def test_wrong_data_is_that_of_the_first_call_that_had_some() -> None:
    later, first = (WrongResult(rank, number, 3, 5, 1.0, 2.0) for rank, number in ((0, 9), (1, 7)))
    verdict = verdict_of(seen(wrong=(later, first)))
    call = CALLS[6]
    assert (verdict["class"], ranks(verdict, "culprits"), verdict["cascade_count"]) == ("corrupt", [1], 1)
    assert verdict["collective"] == {"group": "world", "seq": call.seq, "op": call.collective}
    for word in ("rank 1", "index 5", "expected 1.0", "got 2.0", "world"):
        assert word in verdict["explanation"]


def test_a_late_rank_is_named_with_its_first_call() -> None:
    verdict = verdict_of(seen(late=300))
    assert (verdict["class"], ranks(verdict, "culprits")) == ("slow", [1])
    assert verdict["collective"]["seq"] == CALLS[11].seq


def test_a_lost_rank_wins_over_wrong_data_and_tells_where_it_stood() -> None:
    lost = Fault(1, "exit", CALLS[4].describe(), signal=9)
    verdict = verdict_of(seen([lost], [WrongResult(0, 3, 1, 0, 1.0, 2.0)]))
    assert (verdict["class"], ranks(verdict, "culprits")) == ("crashed", [1])
    assert verdict["collective"] == {"group": "world", "seq": CALLS[4].seq, "op": CALLS[4].collective}
    assert verdict["positions"] == [{"rank": 1, "seq": CALLS[4].seq, "op": CALLS[4].collective}]


@pytest.mark.parametrize("phase", ["", "rendezvous", "call", "call x (world #1: barrier)", "call 1 (world"])
def test_a_phase_that_is_no_call_has_no_position(phase: str) -> None:
    assert verdict_of(seen([Fault(1, "exit", phase, code=0)]))["positions"] == []


def test_a_run_that_was_cut_short_is_not_healthy() -> None:
    short = seen()
    del short.entered[1]
    assert verdict_of(short)["class"] == "undecided"


def test_all_verdicts_are_of_the_schema() -> None:
    wrong, lost = WrongResult(0, 3, 1, 0, 1.0, 2.0), Fault(1, "exit", "", code=0)
    for run in (seen(), seen(late=300), seen([lost]), seen(wrong=[wrong])):
        validate_against("verdict", verdict_of(run))
    validate_against("verdict", undecided("why"))
