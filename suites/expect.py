"""What a figure must reach, and what nobody can believe. Pure. May import: report.

A floor names a size. Its absence from the results is an error, never a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suites.report import Finding, Measurement, Status

IMPLAUSIBLE_CHECK = "perf.implausible"


@dataclass(frozen=True, slots=True)
class BusFloor:
    """At least `bus_bw` bytes/s of bus bandwidth at `size` bytes."""

    bus_bw: float
    size: int


def judge_floors(floors: Sequence[BusFloor], measurements: Sequence[Measurement]) -> list[Finding]:
    return [finding for floor in floors for finding in _judge(floor, measurements)]


def _judge(floor: BusFloor, measurements: Sequence[Measurement]) -> list[Finding]:
    evidence = {"floor_gb_s": floor.bus_bw / 1e9, "size": floor.size}
    at_size = [m for m in measurements if m.case.size == floor.size and m.bus_bw is not None]
    if not at_size:
        message = f"no bus bandwidth was measured at {floor.size} bytes, where --min-busbw wants {_rate(floor.bus_bw)}"
        return [Finding("perf.floor", Status.ERROR, message, evidence=evidence)]
    findings = []
    for measurement in at_size:
        assert measurement.bus_bw is not None
        case = measurement.case
        reached = measurement.bus_bw >= floor.bus_bw
        sign = ">=" if reached else "<"
        findings.append(
            Finding(
                "perf.floor",
                Status.PASS if reached else Status.FAIL,
                f"{case.describe()}: busbw {_rate(measurement.bus_bw)} {sign} floor {_rate(floor.bus_bw)}",
                remedy=None if reached else "run again on an idle host; compare with --algorithm all",
                evidence={**evidence, "bus_bw_gb_s": measurement.bus_bw / 1e9},
            )
        )
    return findings


def judge_plausibility(measurements: Sequence[Measurement]) -> list[Finding]:
    return [
        Finding(
            IMPLAUSIBLE_CHECK,
            Status.ERROR,
            f"{m.case.describe()}: {m.efficiency:.0%} of the ceiling ({m.ceiling.source}), twice: no figure to believe",
            remedy="give the true ceiling with --peak, or look for what else ran while the ceiling was measured",
            evidence={"efficiency": m.efficiency, "bus_bw_gb_s": m.bus_bw and m.bus_bw / 1e9},
        )
        for m in measurements
        if m.implausible and m.ceiling
    ]


def _rate(rate: float) -> str:
    return f"{rate / 1e9:.2f} GB/s"
