"""JUnit XML as CI servers read it: well-formed, no name twice, every outcome in its own element."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from opsdist_cli.output.junit import render
from tests.opsdist_cli.records import Record, finding, perf_record, row, side


def suite_of(record: Record) -> ET.Element:
    root = ET.fromstring(render(record))
    assert root.tag == "testsuites"
    (suite,) = root
    return suite


def cases(*rows: Record, findings: tuple[Record, ...] = ()) -> list[ET.Element]:
    return suite_of(perf_record(*rows, findings=findings)).findall("testcase")


def properties(case: ET.Element) -> dict[str, str]:
    return {element.get("name", ""): element.get("value", "") for element in case.iter("property")}


def test_a_case_per_measured_placement_with_numbers_in_properties() -> None:
    first, second = cases(row(8, in_place=side(time=200.0, efficiency=None)))
    assert first.get("classname") == "opsdist.perf.allreduce"
    assert first.get("name") == "8 float32 sum builtin ring out_of_place"
    assert second.get("name") == "8 float32 sum builtin ring in_place"
    assert first.get("time") == "0.002000"
    assert properties(first) == {
        "time": "100.0", "alg_bw": "104.2", "bus_bw": "104.2", "efficiency": "0.9213", "iterations": "20",
        "nwrong": "0",
    }  # fmt: skip
    assert properties(second)["efficiency"] == ""


@pytest.mark.parametrize(
    ("status", "tag"), [("fail", "failure"), ("error", "error"), ("skip", "skipped"), ("pass", None), ("warn", None)]
)
def test_every_status_has_its_element(status: str, tag: str | None) -> None:
    (case,) = cases(findings=(finding(status=status, message="line 1\nline 2", remedy="do it", evidence={"n": 3}),))
    outcomes = [child.tag for child in case if child.tag != "properties"]
    assert outcomes == [tag or "system-out"]
    outcome = case.find(tag or "system-out")
    assert outcome is not None
    assert (outcome.text or "").endswith("line 1\nline 2\ndo it")
    assert outcome.get("message") == ("line 1" if tag else None)
    assert properties(case) == {"n": "3"}


@pytest.mark.parametrize(
    ("what", "tag", "words"),
    [
        (row(out_of_place=side(nwrong=2)), "failure", "2 wrong elements"),
        (row(out_of_place=side(efficiency=1.5)), "error", "150% of the ceiling: not to be believed"),
        (row(skipped="needs a power of two"), "skipped", "needs a power of two"),
    ],
)
def test_rows_fail_err_and_are_skipped(what: Record, tag: str, words: str) -> None:
    (case,) = cases(what)
    outcome = case.find(tag)
    assert outcome is not None
    assert outcome.get("message") == words


def test_a_placement_that_was_skipped_is_a_case_of_its_own() -> None:
    measured, skipped = cases(row() | {"skipped": "no time"})
    assert measured.find("skipped") is None
    assert skipped.find("skipped") is not None


def test_no_name_stands_twice_and_the_totals_are_right() -> None:
    found = tuple(finding(status=status) for status in ("pass", "fail", "fail", "error", "skip"))
    suite = suite_of(perf_record(row(8), row(16), row(16, "tree", skipped="no"), findings=found, exit_code=1))
    names = Counter((case.get("classname"), case.get("name")) for case in suite)
    assert names.most_common(1)[0][1] == 1
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped", "time", "timestamp")} == {
        "tests": "8", "failures": "2", "errors": "1", "skipped": "2", "time": "2.500",
        "timestamp": "2030-01-02T03:04:05.000Z",
    }  # fmt: skip


def test_what_xml_cannot_hold_is_replaced() -> None:
    nasty = 'a\x00b\x1b[31m \ud800 <&>"\n\x08'
    (case,) = cases(findings=(finding(check=nasty, status="fail", message=nasty, evidence={"text": nasty}),))
    assert case.get("name") == 'a?b?[31m ? <&>"\n?'
    assert properties(case)["text"].startswith("a?b?[31m")
    assert (case.findtext("failure") or "").startswith('a?b?[31m ? <&>"\n?')
