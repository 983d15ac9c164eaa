"""What `perf` writes, beside its measurements: rows, options, and findings about data and lost ranks.

May import: collectives, crew, reach's link, report, sweep's rows, verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from collectives.ops import COLLECTIVES
from suites.launch.crew import Crew
from suites.launch.reach import Candidate
from suites.report import Finding, Measurement, Status, WrongData, gigabytes_per_second, measurement_record
from suites.report import Report as Record
from suites.sweep import Options, Row
from suites.verdict import judge


def unlaunched(options: Options, command: Sequence[str], started: datetime, hosts: Crew, code: int) -> Record:
    """The record of a run whose hosts were not all reached: no rank was started."""
    verdict = judge(hosts.faults, ()) if hosts.faults else None
    nodes: list[dict[str, Any]] = [
        {"name": name, "ranks": [], "link": link_record(hosts.links.get(name))} for name in hosts.names
    ]
    return Record(
        "perf",
        list(command),
        started,
        findings=[lost(verdict)] if verdict else [],
        exit_code=code,
        body={
            "world": {"size": 0, "launcher": hosts.launcher, "nodes": nodes, "ranks": [], "why": "not launched"},
            "config": options_record(options),
            "libraries": {},
            "results": [],
            "comparison": [],
            "verdict": verdict,
        },
    )


def link_record(link: Candidate | None) -> dict[str, Any] | None:
    """By what a host is reached by the others, if there are any."""
    if link is None:
        return None
    return {"interface": link.interface, "rate": gigabytes_per_second(link.rate)}


def lost(verdict: Mapping[str, Any]) -> Finding:
    """A verdict as a finding."""
    subject = verdict["culprits"][0] if verdict["culprits"] else {}
    return Finding(
        "perf.world",
        Status.ERROR,
        verdict["explanation"],
        subject={key: subject[key] for key in ("rank", "host") if key in subject},
        remedy="; ".join(verdict["next_checks"]) or None,
        evidence={"class": verdict["class"]},
    )


def options_record(options: Options) -> dict[str, Any]:
    """As asked for; what was resolved, the run fills in."""
    config = asdict(options)
    config["rotation_bytes"] = config["cache_bytes"] = None
    config["peak"] = gigabytes_per_second(options.peak)
    config["floors"] = [{"bus_bw": gigabytes_per_second(floor.bus_bw), "size": floor.size} for floor in options.floors]
    return config


def judge_data(measurement: Measurement, host_of: Sequence[str]) -> list[Finding]:
    """A finding for each rank whose data was wrong."""
    return [
        Finding(
            "perf.data",
            Status.FAIL,
            f"{measurement.case.describe()}: wrong data on rank {wrong.rank}, {wrong.how_often}: {wrong.count} "
            f"wrong, the first at index {wrong.index}: expected {wrong.expected!r}, got {wrong.got!r}",
            subject={"host": host_of[wrong.rank], "rank": wrong.rank},
            remedy="run the case again; if it stays with this host or device, take it out of service and test memory",
            evidence=_wrong_evidence(wrong),
        )
        for wrong in measurement.wrong or ()
    ]


def _wrong_evidence(wrong: WrongData) -> dict[str, Any]:
    return {
        "count": wrong.count, "index": wrong.index, "expected": wrong.expected, "got": wrong.got,
        "checks": wrong.checked, "failed_checks": wrong.failed,
    }  # fmt: skip


def row_record(row: Row, options: Options, bases: Sequence[Measurement | None] = (None, None)) -> dict[str, Any]:
    """A row as an object of the record's `results`. `bases` are what it is compared with out of place and in place."""
    collective = COLLECTIVES[row.collective]
    result = next(iter(row.results.values()), None)
    return {
        "backend": row.backend,
        "collective": row.collective,
        "algorithm": row.algorithm,
        "why": row.why,
        "size": row.size,
        "count": result.case.count if result else None,
        "type": options.dtype,
        "redop": options.redop if collective.reduces else None,
        "root": options.root if collective.rooted else None,
        "bytes_moved": result.bytes_moved if result else None,
        "wire_bytes_per_rank": row.cost.wire_bytes if row.cost else None,
        "wire_bytes_per_host": row.cost.host_bytes if row.cost else None,
        "steps": row.cost.steps if row.cost else None,
        "out_of_place": measurement_record(row.results[False], bases[0]) if False in row.results else None,
        "in_place": measurement_record(row.results[True], bases[1]) if True in row.results else None,
        "skipped": row.skipped,
    }
