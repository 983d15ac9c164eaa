"""How rules become findings, with rules made up for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from suites.checks.judging import judge
from suites.checks.rule import Case, Judged, Outcome, Rule, Scope, Threshold, broken, ok, unknown
from suites.report import Finding, Status


def rule(judging: Callable[[Case], Iterator[Judged]], scope: Scope = Scope.HOST) -> Rule:
    return Rule(
        "x.y", "all is x", "because", "mend it", Status.FAIL, ("x",), judging, {"least": Threshold(3, "x", "s")}, scope
    )


def values(case: Case) -> Iterator[Judged]:
    for device, value in case.facts["x"].items():
        if value is None:
            yield unknown("nobody told", {"command": "ask"}, device)
        else:
            yield ok(device) if value >= case.limits["least"] else broken("too few", {"value": value}, device)


def found(facts: object, **limits: int) -> list[Finding]:
    return judge({"h": {"x": facts}}, [rule(values)], {"x.y": limits})


def test_what_is_broken_names_host_and_device_and_has_the_remedy() -> None:
    assert found({"a": 1, "b": 4}) == [
        Finding("x.y", Status.FAIL, "too few", {"host": "h", "device": "a"}, "mend it", {"value": 1})
    ]


def test_one_pass_stands_for_all_devices() -> None:
    (finding,) = found({"a": 3, "b": 4})
    assert (finding.status, finding.message, finding.subject) == (Status.PASS, "all is x (2 checked)", {"host": "h"})


def test_what_is_unknown_is_said_once_a_reason_and_is_no_pass() -> None:
    (finding,) = found({"a": None, "b": None})
    assert (finding.status, finding.message, finding.remedy) == (Status.SKIP, "a, b: nobody told", None)


def test_a_threshold_can_be_another() -> None:
    assert [each.status for each in found({"a": 3}, least=4)] == [Status.FAIL]
    assert [each.status for each in found({"a": 3}, other=4)] == [Status.PASS]


def test_a_section_that_was_not_read_is_not_judged() -> None:
    assert judge({"h": {"z": {}}}, [rule(values)], {}) == []


def test_a_rule_that_raises_does_not_stop_the_others() -> None:
    first, second = judge({"h": {"x": {"a": "no number"}}}, [rule(values), rule(lambda case: iter([ok()]))], {})
    assert (first.status, first.subject, second.status) == (Status.ERROR, {"host": "h"}, Status.PASS)
    assert "TypeError" in first.message


def test_a_judgement_may_say_another_status_remedy_and_host() -> None:
    said = replace(broken("m", {}, status=Status.INFO, remedy="r", host="other"))
    (finding,) = judge({"h": {"x": 1}}, [rule(lambda case: iter([said]))], {})
    assert (finding.status, finding.remedy, finding.subject) == (Status.INFO, "r", {"host": "other"})


def test_no_answer_is_an_error() -> None:
    (finding,) = judge({"h": {"x": 1}}, [rule(lambda case: iter([Judged(Outcome.ERROR, "it hung")]))], {})
    assert (finding.status, finding.message) == (Status.ERROR, "it hung")


def test_snapshots_are_compared_where_there_are_two() -> None:
    def grew(case: Case) -> Iterator[Judged]:
        yield broken("grew", {}) if case.facts["x"] > case.earlier["x"] else ok()

    hosts = {"a": {"x": 2}, "b": {"x": 2}, "c": {"x": 2}}
    found = judge(hosts, [rule(grew, Scope.SNAPSHOTS)], {}, {"a": {"x": 1}, "b": {"x": 2}})
    assert [(each.status, each.subject["host"]) for each in found] == [(Status.FAIL, "a"), (Status.PASS, "b")]


def test_a_fleet_is_judged_as_a_whole() -> None:
    def lonely(case: Case) -> Iterator[Judged]:
        for name, facts in case.fleet.items():
            yield broken("lonely", {}, host=name) if facts["x"] == 1 else ok()

    found = judge({"a": {"x": 1}, "b": {"x": 2}, "c": {}}, [rule(lonely, Scope.FLEET)], {})
    assert [(each.status, each.subject) for each in found] == [(Status.FAIL, {"host": "a"})]
