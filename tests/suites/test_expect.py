"""Floors and plausibility: what is not measured is an error, never a pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suites.case import Case
from suites.expect import BusFloor, judge_floors, judge_plausibility
from suites.report import Ceiling, Measurement, Status

FLOOR = BusFloor(40e9, 1024)


def measurement(
    bus_bw: float | None, *, size: int = 1024, algorithm: str = "ring", efficiency: float | None = None
) -> Measurement:
    case = Case("builtin", "allreduce", algorithm, size, size // 4, "float32", "sum", 0, False)
    ceiling = Ceiling(1e-6, 50e9, "--peak")
    return Measurement(case, (1e-6,), size, bus_bw, bus_bw, (), 1, 1, ceiling, efficiency, None, 0.0, 1, False)


@pytest.mark.parametrize(
    ("bus_bw", "status", "words"),
    [
        (40e9, Status.PASS, "busbw 40.00 GB/s >= floor 40.00 GB/s"),
        (39.9e9, Status.FAIL, "busbw 39.90 GB/s < floor 40.00 GB/s"),
    ],
)
def test_a_floor_is_reached_or_missed(bus_bw: float, status: Status, words: str) -> None:
    (finding,) = judge_floors([FLOOR], [measurement(bus_bw), measurement(1.0, size=2048)])
    assert (finding.status, words in finding.message) == (status, True)
    assert finding.evidence == {"floor_gb_s": 40.0, "size": 1024, "bus_bw_gb_s": bus_bw / 1e9}
    assert (finding.remedy is None) is (status is Status.PASS)


def test_every_algorithm_at_the_size_must_reach_the_floor() -> None:
    findings = judge_floors([FLOOR], [measurement(50e9), measurement(30e9, algorithm="tree")])
    assert [finding.status for finding in findings] == [Status.PASS, Status.FAIL]
    assert "allreduce tree, 1024 bytes" in findings[1].message


@pytest.mark.parametrize("measured", [[], [measurement(50e9, size=2048)], [measurement(None)]])
def test_a_floor_at_a_size_without_a_bus_bandwidth_is_an_error(measured: list[Measurement]) -> None:
    (finding,) = judge_floors([FLOOR], measured)
    assert finding.status is Status.ERROR
    assert "no bus bandwidth was measured at 1024 bytes" in finding.message


def test_no_floor_no_finding() -> None:
    assert judge_floors([], [measurement(1.0)]) == []


@pytest.mark.parametrize(("efficiency", "errors"), [(None, 0), (1.0, 0), (1.1, 0), (1.11, 1)])
def test_more_than_110_percent_is_an_error(efficiency: float | None, errors: int) -> None:
    findings = judge_plausibility([measurement(50e9, efficiency=efficiency)])
    assert [finding.status for finding in findings] == [Status.ERROR] * errors
    if errors:
        assert "111% of the ceiling (--peak), twice" in findings[0].message


def test_a_rate_that_is_unknown_is_not_judged() -> None:
    (finding,) = judge_plausibility([replace(measurement(None, efficiency=2.0), alg_bw=1e9)])
    assert finding.evidence == {"efficiency": 2.0, "bus_bw_gb_s": None}
