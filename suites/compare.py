"""Backends side by side: each one's time over the baseline's. Pure. May import: sweep, stats, report's types.

The baseline is the backend that was named first. Where it ran several algorithms, its fastest at the same collective,
size and placement is what others are compared with: who has the choice takes the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from suites import stats
from suites.report import Measurement, gigabytes_per_second
from suites.sweep import Row


@dataclass(frozen=True, slots=True)
class Comparison:
    """The fastest of a backend against the fastest of the baseline."""

    base: Measurement
    other: Measurement
    pass_ratios: tuple[float, ...]
    """The ratio pass by pass, where both were measured in turns; else empty."""

    @property
    def time_ratio(self) -> float:
        return self.other.time / self.base.time


def fastest(rows: Iterable[Row], backend: str, in_place: bool) -> Measurement | None:
    """Of the rows, which are of one collective and size."""
    found = [row.results[in_place] for row in rows if row.backend == backend and in_place in row.results]
    return min(found, key=lambda measurement: measurement.time, default=None)


def compare(rows: Sequence[Row], backends: Sequence[str]) -> list[Comparison]:
    """Of rows of one collective and size: one for each placement and each backend but the first, where both were
    measured."""
    found = []
    for in_place in (False, True):
        base = fastest(rows, backends[0], in_place)
        for backend in backends[1:]:
            other = fastest(rows, backend, in_place)
            if base and other:
                found.append(Comparison(base, other, pass_ratios(base, other)))
    return found


def pass_ratios(base: Measurement, other: Measurement) -> tuple[float, ...]:
    """For each pass the ratio of the medians of its samples. Empty where the two did not take turns."""
    if base.round != other.round:
        return ()
    return tuple(theirs / ours for ours, theirs in zip(_medians(base), _medians(other), strict=True))


def _medians(measurement: Measurement) -> list[float]:
    """Of the samples of each pass."""
    ends = accumulate(measurement.passes, initial=0)
    return [stats.median(measurement.samples[start:stop]) for start, stop in pairwise(ends)]


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """An object of the record's `comparison`."""
    base, other = comparison.base, comparison.other
    return {
        "collective": other.case.collective,
        "size": other.case.size,
        "in_place": other.case.in_place,
        "baseline": base.case.backend,
        "baseline_algorithm": base.case.algorithm,
        "backend": other.case.backend,
        "algorithm": other.case.algorithm,
        "time_ratio": comparison.time_ratio,
        "passes": _passes_record(comparison.pass_ratios),
        "bus_bw": gigabytes_per_second(other.bus_bw),
        "efficiency": other.efficiency,
    }


def _passes_record(ratios: Sequence[float]) -> Mapping[str, Any] | None:
    """How the ratio spread over the passes: what drift and noise leave of it. None where nothing was paired."""
    if not ratios:
        return None
    interval = stats.interval95(ratios)
    return {
        "n": len(ratios),
        "median": stats.median(ratios),
        "min": min(ratios),
        "max": max(ratios),
        "ci95": interval and list(interval),
    }
