"""Backends side by side: who is compared with whom, and when passes may be paired."""

from __future__ import annotations

from typing import Any

import pytest

from suites.case import Case
from suites.compare import compare, comparison_record
from suites.report import Measurement, measurement_record
from suites.sweep import Row


def row(backend: str, algorithm: str, *samples: float, in_place: bool = False, **given: Any) -> Row:
    """Measured; `samples` in microseconds."""
    case = Case(backend, "allreduce", algorithm, 64, 16, "float32", "sum", 0, in_place)
    measurement = Measurement(
        case, tuple(sample / 1e6 for sample in samples), 64, 1e9, 2e9, (), len(samples), len(samples), None, 0.5, None,
        1e-7, sets=1, again=False, **given,
    )  # fmt: skip
    return Row(backend, "allreduce", algorithm, "why", 64, {in_place: 0}, {in_place: measurement})


def test_each_backend_but_the_first_against_the_first() -> None:
    rows = [row("a", "ring", 10.0), row("b", "library", 25.0), row("c", "library", 5.0)]
    found = [comparison_record(entry) for entry in compare(rows, ("a", "b", "c"))]
    assert [(entry["baseline"], entry["backend"], entry["time_ratio"]) for entry in found] == [
        ("a", "b", pytest.approx(2.5)),
        ("a", "c", pytest.approx(0.5)),
    ]
    first = found[0]
    assert (first["collective"], first["size"], first["in_place"]) == ("allreduce", 64, False)
    assert (first["baseline_algorithm"], first["algorithm"]) == ("ring", "library")
    assert (first["bus_bw"], first["efficiency"]) == (2.0, 0.5)


def test_the_fastest_of_each_stands_for_it() -> None:
    rows = [row("a", "ring", 40.0), row("a", "tree", 10.0), row("b", "x", 30.0), row("b", "y", 20.0)]
    (entry,) = compare(rows, ("a", "b"))
    record = comparison_record(entry)
    assert (record["baseline_algorithm"], record["algorithm"]) == ("tree", "y")
    assert record["time_ratio"] == pytest.approx(2.0)


def test_placements_are_compared_with_their_like() -> None:
    rows = [row("a", "ring", 10.0), row("a", "ring", 20.0, in_place=True), row("b", "library", 20.0, in_place=True)]
    (entry,) = compare(rows, ("a", "b"))
    record = comparison_record(entry)
    assert (record["in_place"], record["time_ratio"]) == (True, pytest.approx(1.0))


@pytest.mark.parametrize("rows", [[row("a", "ring", 1.0)], [row("b", "library", 1.0)]])
def test_who_was_not_measured_is_compared_with_nobody(rows: list[Row]) -> None:
    assert compare(rows, ("a", "b")) == []


def test_the_ratio_pass_by_pass_is_that_of_the_medians_of_each() -> None:
    """The machine becomes three times slower half-way: the ratio of medians is no worse for it, nor are the passes."""
    ours = row("a", "ring", 10.0, 12.0, 11.0, 30.0, passes=(3, 1))
    theirs = row("b", "library", 22.0, 60.0, 66.0, 72.0, passes=(1, 3))
    (entry,) = compare([ours, theirs], ("a", "b"))
    passes = comparison_record(entry)["passes"]
    assert passes == {
        "n": 2, "median": pytest.approx(2.1), "min": pytest.approx(2.0), "max": pytest.approx(2.2), "ci95": None,
    }  # fmt: skip


def test_an_interval_needs_six_passes() -> None:
    ours = row("a", "ring", *[10.0] * 6, passes=(1,) * 6)
    theirs = row("b", "library", 20.0, 21.0, 22.0, 23.0, 24.0, 19.0, passes=(1,) * 6)
    (entry,) = compare([ours, theirs], ("a", "b"))
    passes = comparison_record(entry)["passes"]
    assert passes["ci95"] == [pytest.approx(1.9), pytest.approx(2.4)]


def test_what_was_measured_at_different_times_is_not_paired() -> None:
    rows = [row("a", "ring", 10.0, passes=(1,), round=0), row("b", "library", 20.0, passes=(1,), round=1)]
    (entry,) = compare(rows, ("a", "b"))
    record = comparison_record(entry)
    assert (record["passes"], record["time_ratio"]) == (None, pytest.approx(2.0))


def test_a_measurement_tells_its_time_over_that_of_the_baseline() -> None:
    base, other = row("a", "ring", 10.0).results[False], row("b", "library", 25.0).results[False]
    assert measurement_record(other, base)["time_ratio"] == pytest.approx(2.5)
    assert measurement_record(base, base)["time_ratio"] == 1.0
    assert measurement_record(other)["time_ratio"] is None
