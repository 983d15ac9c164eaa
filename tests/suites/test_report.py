"""The record: which exit wins, units, nulls, and moments in UTC."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from itertools import product

import pytest

from suites.case import Case
from suites.report import (
    Ceiling,
    Finding,
    Measurement,
    Report,
    Status,
    WrongData,
    exit_code,
    measurement_record,
    timestamp,
)

PASS, INFO, WARN, FAIL, SKIP, ERROR = Status


@pytest.mark.parametrize(
    ("statuses", "code", "strict"),
    [
        ([PASS], 0, 0),
        ([INFO], 0, 0),
        ([PASS, INFO, SKIP], 0, 0),
        ([PASS, WARN], 0, 1),
        ([PASS, FAIL], 1, 1),
        ([PASS, ERROR], 3, 3),
        ([WARN, ERROR], 3, 1),
        ([ERROR, FAIL], 1, 1),
        ([FAIL, ERROR, WARN, PASS], 1, 1),
        ([], 3, 3),
        ([SKIP], 3, 3),
        ([SKIP, SKIP, ERROR], 3, 3),
    ],
)
def test_failed_wins_over_no_verdict_wins_over_passed(statuses: list[Status], code: int, strict: int) -> None:
    assert exit_code(statuses) == code
    assert exit_code(reversed(statuses), strict=True) == strict


@pytest.mark.parametrize("statuses", list(product(Status, repeat=3)))
def test_no_combination_with_a_failure_or_an_error_passes(statuses: tuple[Status, ...]) -> None:
    assert (exit_code(statuses) == 0) is (not {FAIL, ERROR} & set(statuses) and set(statuses) != {SKIP})


@pytest.mark.parametrize(
    ("code", "status"), [(0, "pass"), (1, "fail"), (2, "error"), (3, "error"), (130, "error"), (143, "error")]
)
def test_the_record_of_a_run(code: int, status: str) -> None:
    begun = datetime(2030, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)
    finding = Finding("a.check", WARN, "words", subject={"rank": 1}, remedy="do it", evidence={"value": 3})
    report = Report("suite", ["opsdist", "suite"], begun, [finding], {"counts": {}}, ended=begun, exit_code=code)
    record = report.record()
    assert {key: record[key] for key in ("schema_version", "kind", "command", "status", "exit_code", "counts")} == {
        "schema_version": 1, "kind": "suite", "command": ["opsdist", "suite"], "status": status, "exit_code": code,
        "counts": {},
    }  # fmt: skip
    assert record["findings"] == [
        {
            "check": "a.check", "status": "warn", "subject": {"rank": 1}, "message": "words", "remedy": "do it",
            "evidence": {"value": 3},
        }
    ]  # fmt: skip
    assert record["started"] == record["ended"] == "2030-01-02T03:04:05.678Z"


def test_a_run_that_says_nothing_has_no_verdict() -> None:
    assert Report("perf", [], datetime.now(UTC)).record()["status"] == "error"


@pytest.mark.parametrize("offset", [-8, 0, 5.5])
def test_moments_are_told_in_utc(offset: float) -> None:
    zone = timezone(timedelta(hours=offset))
    assert timestamp(datetime(2030, 6, 1, 12, 0, tzinfo=UTC).astimezone(zone)) == "2030-06-01T12:00:00.000Z"


CASE = Case("builtin", "allreduce", "ring", 1000, 250, "float32", "sum", 0, False)


def measurement(
    *samples: float, wrong: tuple[WrongData, ...] | None = (), ceiling: Ceiling | None = None
) -> Measurement:
    efficiency = 0.5 if ceiling else None
    return Measurement(
        CASE, samples, 1000, 2e9, 3e9, wrong, len(samples), 20, ceiling, efficiency, 1, 4e-7, sets=3, again=True
    )


def test_a_measurement_in_microseconds_and_decimal_gigabytes() -> None:
    side = measurement_record(measurement(1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 15e-6, ceiling=Ceiling(1.5e-6, 6e9, "--peak")))
    assert {key: side[key] for key in ("time", "time_min", "time_mean", "time_max", "time_p95")} == {
        key: pytest.approx(value)
        for key, value in {"time": 3.5, "time_min": 1, "time_mean": 5, "time_max": 15, "time_p95": 15}.items()
    }
    assert (side["alg_bw"], side["bus_bw"], side["harness_overhead"]) == (2, 3, pytest.approx(0.4))
    assert side["time_ci95"] == [pytest.approx(1), pytest.approx(15)]
    assert side["ceiling"] == {"time": pytest.approx(1.5), "bus_bw": 6, "source": "--peak"}
    assert (side["samples"], side["iterations"], side["iterations_asked"]) == (6, 6, 20)
    assert (side["nwrong"], side["efficiency"], side["late_rank"], side["time_p99"]) == (0, 0.5, 1, None)
    json.dumps(side, allow_nan=False)


def test_what_is_not_known_is_null() -> None:
    side = measurement_record(measurement(1e-6, wrong=None))
    assert [key for key, value in side.items() if value is None] == [
        "time_p99", "time_ci95", "nwrong", "ceiling", "efficiency", "time_ratio", "clock_error",
    ]  # fmt: skip


def test_wrong_elements_are_counted_over_all_ranks() -> None:
    wrong = tuple(WrongData(rank, count, 0, 1.0, 2.0, 2, 2) for rank, count in ((0, 3), (2, 4)))
    assert measurement_record(measurement(1e-6, wrong=wrong))["nwrong"] == 7
