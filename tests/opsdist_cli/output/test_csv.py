"""Comma-separated values: a line per measured placement, and nothing that a spreadsheet would misread."""

from __future__ import annotations

import csv
import io

from opsdist_cli.output.csv import render
from tests.opsdist_cli.records import perf_record, row, side


def lines(*rows: dict[str, object]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(perf_record(*rows)))))


def test_a_line_per_placement_in_the_units_of_the_record() -> None:
    out, inside = lines(row(8, out_of_place=side(time=1.25), in_place=side(time=2.5, nwrong=None)))
    assert (out["placement"], out["time"], out["nwrong"]) == ("out_of_place", "1.25", "0")
    assert (inside["placement"], inside["time"], inside["nwrong"]) == ("in_place", "2.5", "")
    told = ("size", "type", "redop", "root", "bus_bw", "ceiling_bus_bw", "efficiency")
    assert [out[name] for name in told] == ["8", "float32", "sum", "", "104.2", "113.1", "0.9213"]
    assert (out["iterations"], out["iterations_asked"], out["skipped"]) == ("20", "20", "")


def test_what_was_skipped_has_a_line_with_the_reason() -> None:
    (line,) = lines(row(skipped='needs "equal" groups, of two'))
    assert (line["skipped"], line["time"], line["placement"]) == ('needs "equal" groups, of two', "", "")


def test_a_placement_that_was_skipped_stands_beside_the_one_that_was_not() -> None:
    measured, skipped = lines(row() | {"skipped": "no time"})
    assert (measured["time"], measured["skipped"]) == ("100.0", "")
    assert (skipped["time"], skipped["skipped"]) == ("", "no time")


def test_every_line_has_every_column() -> None:
    text = render(perf_record(row(8, in_place=side()), row(skipped="no")))
    assert len({len(line) for line in csv.reader(io.StringIO(text))}) == 1
    assert "None" not in text
    assert text.endswith("\n")
