"""Who has something else than most."""

from __future__ import annotations

from suites.checks.agreement import Held, grouped, outliers
from suites.checks.rule import Outcome


def held(*values: object, device: str | None = None) -> list[Held]:
    return [Held(f"n{number}", device, value, {"file": "/f"}) for number, value in enumerate(values)]


def test_the_minority_is_named_against_the_majority() -> None:
    (judged,) = outliers("the MTU of e", held(9000, 1500, 9000, device="e"), " bytes")
    assert (judged.outcome, judged.host, judged.device) == (Outcome.BROKEN, "n1", "e")
    assert judged.message == "the MTU of e is 1500 bytes, and 9000 bytes on 2 of 3"
    assert judged.evidence == {"file": "/f", "value": 1500, "threshold": "9000"}


def test_two_that_differ_have_no_culprit() -> None:
    (judged,) = outliers("the MTU of e", held(9000, 1500, device="e"))
    assert (judged.outcome, judged.host, judged.device) == (Outcome.BROKEN, None, "e")
    assert judged.message == "the MTU of e differs, and no value is that of most: n0: 9000; n1: 1500"


def test_neither_has_one_of_several_without_a_majority() -> None:
    (judged,) = outliers("the version", held("a", "b", "b", "c"))
    assert judged.message == "the version differs, and no value is that of most: n0: a; n1, n2: b; n3: c"


def test_many_places_are_cut_short() -> None:
    several = [Held("n", f"d{number}", number % 2) for number in range(10)]
    (judged,) = outliers("it", several)
    assert "n d0, n d2, n d4 and 2 more: 0" in judged.message


def test_where_all_agree_or_there_is_but_one() -> None:
    assert [each.outcome for each in outliers("it", held(1, 1))] == [Outcome.OK]
    assert list(outliers("it", held(1))) == []


def test_only_what_is_of_one_kind_is_compared() -> None:
    a, b, c = held(1, 2, 3)
    assert grouped([("x", a), ("y", b), ("x", c)]) == [[a, c], [b]]
