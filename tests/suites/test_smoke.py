"""The checks of smoke, on runs that are told: what passes, what only warns, and what is no answer."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

import suites.smoke
from suites.catalogue import Setting
from suites.errors import SuiteError
from suites.expect import IMPLAUSIBLE_CHECK
from suites.hostinfo import Looked, Wanted
from suites.launch import crew
from suites.report import Finding, Status, WrongData
from suites.smoke import CHECKS, LARGE, MEDIUM, Check, run


def look(wanted: Wanted) -> Looked:
    raise AssertionError("nobody is to be looked at")


SETTING = Setting(budget=60.0, ranks=None, command=("opsdist",), hosts=crew.here, look=look)
BY_NAME = {check.name: check for check in CHECKS}


@dataclass
class ToldRun:
    """A perf run that ended so."""

    code: int = 0
    rows: list[Any] = field(default_factory=list)
    verdict: dict[str, Any] | None = None
    findings: list[Finding] = field(default_factory=list)
    world: Any = field(default_factory=lambda: SimpleNamespace(size=2))

    def __call__(self, options: Any, command: Any, started: Any, hosts: Any) -> ToldRun:
        return self

    def events(self) -> Generator[None, None, None]:
        yield from ()

    def judge(self) -> int:
        return self.code


def row(size: int = 8, bus_bw: float | None = 1e9, *, wrong: tuple[int, ...] = (), skipped: str | None = None) -> Any:
    data = tuple(WrongData(rank, 1, 7, 1.0, 2.0, 5, 1) for rank in wrong)
    results = {} if skipped else {False: SimpleNamespace(bus_bw=bus_bw, wrong=data)}
    return SimpleNamespace(size=size, skipped=skipped, results=results)


def culprits(*ranks: int, name: str = "crashed") -> dict[str, Any]:
    return {"class": name, "culprits": [{"rank": rank} for rank in ranks]}


OVER = ToldRun(
    3, [row(skipped="the time budget was used up")], findings=[Finding("perf.cases", Status.ERROR, "budget")]
)

DOUBTED = Finding(IMPLAUSIBLE_CHECK, Status.ERROR, "111% of the ceiling", remedy="look for what else ran")
LOST = Finding("perf.deadlock", Status.ERROR, "rank 1 is gone")


@pytest.mark.parametrize(
    ("name", "told", "status"),
    [
        ("smoke.corrupt", ToldRun(1, [row(wrong=(1,))]), Status.PASS),
        ("smoke.corrupt", ToldRun(0, [row()]), Status.FAIL),
        ("smoke.corrupt", ToldRun(1, [row(wrong=(0,))]), Status.FAIL),
        ("smoke.corrupt", ToldRun(1, [row(wrong=(0, 1))]), Status.FAIL),
        ("smoke.corrupt", OVER, Status.ERROR),
        ("smoke.killed", ToldRun(3, verdict=culprits(1)), Status.PASS),
        ("smoke.killed", ToldRun(3, verdict=culprits(0)), Status.FAIL),
        ("smoke.killed", ToldRun(3, verdict=culprits(name="undecided")), Status.FAIL),
        ("smoke.killed", ToldRun(0, [row()]), Status.FAIL),
        ("smoke.killed", OVER, Status.ERROR),
        ("smoke.collectives", ToldRun(0, [row(), row()]), Status.PASS),
        ("smoke.collectives", ToldRun(1, findings=[Finding("perf.data", Status.FAIL, "wrong")]), Status.FAIL),
        ("smoke.collectives", ToldRun(3), Status.ERROR),
        ("smoke.collectives", OVER, Status.ERROR),
        ("smoke.performance", ToldRun(0, [row(MEDIUM, 2e9), row(LARGE, 1e9)]), Status.PASS),
        ("smoke.performance", ToldRun(0, [row(MEDIUM, 2e9), row(LARGE, 0.99e9)]), Status.WARN),
        ("smoke.performance", ToldRun(0, [row(MEDIUM, 2e9)]), Status.ERROR),
        ("smoke.performance", OVER, Status.ERROR),
        ("smoke.performance", ToldRun(3, [row(MEDIUM), row(LARGE)], findings=[DOUBTED, DOUBTED]), Status.WARN),
    ],
)
def test_verdicts(monkeypatch: pytest.MonkeyPatch, name: str, told: ToldRun, status: Status) -> None:
    monkeypatch.setattr(suites.smoke, "PerfRun", told)
    (finding,) = BY_NAME[name].run(SETTING)
    assert (finding.check, finding.status) == (name, status)
    assert finding.remedy or status in (Status.PASS, Status.ERROR) or finding.message == "wrong"


def test_a_lost_rank_is_no_warning_also_where_a_figure_is_not_to_be_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites.smoke, "PerfRun", ToldRun(3, [row(MEDIUM)], culprits(1), [DOUBTED, LOST]))
    assert [finding.status for finding in BY_NAME["smoke.performance"].run(SETTING)] == [Status.ERROR, Status.ERROR]


def test_a_wrong_plan_fails_the_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = suites.smoke.ALGORITHMS["allgather"]["ring"]
    broken = replace(ring, plan=lambda shape: replace(ring.plan(shape), steps=()))
    monkeypatch.setattr(suites.smoke, "ALGORITHMS", {"allgather": {"ring": broken}})
    (finding,) = BY_NAME["smoke.proofs"].run(SETTING)
    assert finding.status is Status.FAIL
    assert "allgather ring on 1 ranks, 1 elements" in finding.message


def test_all_plans_are_proven() -> None:
    (finding,) = BY_NAME["smoke.proofs"].run(SETTING)
    assert finding.status is Status.PASS
    assert finding.evidence["plans"] > 500


def test_checks_share_the_budget_and_one_that_breaks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    left: list[float] = []

    def spend(setting: Setting) -> list[Finding]:
        left.append(setting.budget)
        now[0] += 40
        if len(left) == 2:
            raise SuiteError("no agent")
        return [Finding("told", Status.PASS, "well")]

    monkeypatch.setattr(suites.smoke, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(suites.smoke, "CHECKS", [Check(name, "", spend) for name in "abcd"])
    found = [(finding.check, finding.status) for findings in run(SETTING) for finding in findings]
    assert left == [60.0, 20.0]
    assert found == [("told", "pass"), ("b", "error"), ("c", "error"), ("d", "error")]
