"""JUnit XML: one test case per measured row of a perf run and per finding of any run; numbers in properties."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from opsdist_cli.output.places import several_hosts
from suites.report import implausible

Record = Mapping[str, Any]

_CONTROL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


def render(record: Record) -> str:
    suite = ET.Element("testsuite", name=f"opsdist.{record['kind']}", timestamp=record["started"])
    for row in record.get("results", ()):
        _row(suite, row)
    seen: Counter[str] = Counter()
    several = several_hosts(record["findings"])
    for finding in record["findings"]:
        host, device = finding["subject"].get("host") if several else None, finding["subject"].get("device")
        name = " ".join(filter(None, (finding["check"], host, device)))
        seen[name] += 1
        # Readers keep one of several cases with the same name.
        _finding(suite, record["kind"], finding, name + (f" ({seen[name]})" if seen[name] > 1 else ""))
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(kind, str(len([case for case in cases if case.find(tag) is not None])))
    suite.set("time", f"{_seconds(record):.3f}")
    suites = ET.Element("testsuites", name="opsdist")
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _row(suite: ET.Element, row: Record) -> None:
    sides = [(place, row[place]) for place in ("out_of_place", "in_place") if row[place]]
    for place, side in [*sides, ("", None)] if row["skipped"] else sides:
        words = [str(row["size"]), row["type"], row["redop"] or "", row["backend"], row["algorithm"], place]
        case = _case(suite, f"opsdist.perf.{row['collective']}", " ".join(word for word in words if word))
        if side is None:
            _outcome(case, "skipped", row["skipped"])
            continue
        case.set("time", f"{side['time'] * side['iterations'] / 1e6:.6f}")
        properties = ET.SubElement(case, "properties")
        compared = ("time_ratio",) if side["time_ratio"] is not None else ()
        for name in ("time", "alg_bw", "bus_bw", "efficiency", "iterations", "nwrong", *compared):
            ET.SubElement(properties, "property", name=name, value="" if side[name] is None else str(side[name]))
        if side["nwrong"]:
            _outcome(case, "failure", f"{side['nwrong']} wrong elements")
        elif implausible(side["efficiency"]):
            _outcome(case, "error", f"{side['efficiency']:.0%} of the ceiling: not to be believed")


def _finding(suite: ET.Element, kind: str, finding: Record, name: str) -> None:
    case = _case(suite, f"opsdist.{kind}", name)
    text = finding["message"] + (f"\n{finding['remedy']}" if finding["remedy"] else "")
    properties = ET.SubElement(case, "properties")
    for name, value in finding["evidence"].items():
        ET.SubElement(properties, "property", name=name, value=_clean(str(value)))
    tag = {"fail": "failure", "error": "error", "skip": "skipped"}.get(finding["status"])
    if tag:
        _outcome(case, tag, text)
    else:
        ET.SubElement(case, "system-out").text = _clean(f"{finding['status']}: {text}")


def _case(suite: ET.Element, classname: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=classname, name=_clean(name))


def _outcome(case: ET.Element, tag: str, message: str) -> None:
    outcome = ET.SubElement(case, tag, message=_clean(message.partition("\n")[0]))
    outcome.text = _clean(message)


def _clean(text: str) -> str:
    return _CONTROL.sub("?", text)


def _seconds(record: Record) -> float:
    return (datetime.fromisoformat(record["ended"]) - datetime.fromisoformat(record["started"])).total_seconds()
