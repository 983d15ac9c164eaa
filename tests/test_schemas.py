"""The schemas themselves: what contract.md promises of a record is required, and typed, by its schema."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from jsonschema import ValidationError

from suites.verdict import Fault, judge
from tests.opsdist_cli.records import finding, perf_record, row, side
from tests.schema import validate

PERF = perf_record(
    row(in_place=side(time_p99=119.0, late_rank=1, time_ratio=0.9)),
    findings=(finding(subject={"host": "h", "rank": 1}, remedy="do it"),),
    floors=[{"bus_bw": 40.0, "size": 1024}],
    inject=[{"fault": "kill", "rank": 1, "at": "first"}],
) | {
    "verdict": judge(
        [Fault(1, "exit", "case 0", signal=9, pid=3), Fault(0, "failure", "case 0", message="m")], ["h"] * 2
    ),
    "comparison": [
        {
            "collective": "allreduce",
            "size": 8,
            "in_place": False,
            "baseline": "builtin",
            "baseline_algorithm": "ring",
            "backend": "mpi",
            "algorithm": "library",
            "time_ratio": 0.9,
            "bus_bw": 1.0,
            "efficiency": None,
            "passes": {"n": 8, "median": 0.9, "min": 0.8, "max": 1.1, "ci95": [0.8, 1.1]},
        }
    ],
}
SUITE = {
    key: value
    for key, value in PERF.items()
    if key not in ("world", "config", "libraries", "results", "comparison", "verdict")
}
SUITE |= {
    "kind": "suite",
    "suite": "smoke",
    "counts": dict.fromkeys(("pass", "info", "warn", "fail", "skip", "error"), 0),
}

RECORDS = {"perf": PERF, "suite": SUITE}

Path = tuple[str | int, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every key of every object, and every first item of an array."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key)
            yield from places(item, (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def at(record: Any, path: Path) -> tuple[Any, Any]:
    """The object that holds the last key of the path, and that key."""
    for key in path[:-1]:
        record = record[key]
    return record, path[-1]


ALL = [(kind, path) for kind, record in RECORDS.items() for path in places(record) if "evidence" not in path[:-1]]
SUBJECTS = {"subject", "culprits", "suspects", "seen", "libraries"}
"""They name what there is to name: none of their keys is required."""
REQUIRED = [(kind, path) for kind, path in ALL if isinstance(path[-1], str) and not SUBJECTS & set(path[:-1])]


def name(value: str | Path) -> str:
    """How a test of this kind and path is called."""
    return value if isinstance(value, str) else ".".join(map(str, value))


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_that_holds_everything_is_valid(kind: str) -> None:
    validate(RECORDS[kind])


@pytest.mark.parametrize(("kind", "path"), REQUIRED, ids=name)
def test_a_missing_key_is_found(kind: str, path: Path) -> None:
    record = deepcopy(RECORDS[kind])
    holder, key = at(record, path)
    del holder[key]
    with pytest.raises((ValidationError, KeyError)):
        validate(record)


@pytest.mark.parametrize(("kind", "path"), ALL, ids=name)
def test_a_mistyped_value_is_found(kind: str, path: Path) -> None:
    record = deepcopy(RECORDS[kind])
    holder, key = at(record, path)
    holder[key] = ["no such thing", {}]
    with pytest.raises((ValidationError, TypeError, KeyError)):
        validate(record)


@pytest.mark.parametrize("kind", RECORDS)
def test_an_unknown_key_is_found(kind: str) -> None:
    with pytest.raises(ValidationError):
        validate(RECORDS[kind] | {"extra": 1})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("results", 0, "out_of_place", "time"), -1.0),
        (("results", 0, "out_of_place", "time"), None),
        (("results", 0, "out_of_place", "efficiency"), "0.9"),
        (("results", 0, "out_of_place", "time_ci95"), [1.0]),
        (("results", 0, "out_of_place", "iterations"), 1.5),
        (("results", 0, "collective"), "all_reduce"),
        (("results", 0, "type"), "float"),
        (("results", 0, "skipped"), ""),
        (("results", 0, "size"), "8"),
        (("verdict", "class"), "broken"),
        (("verdict", "confidence"), "sure"),
        (("findings", 0, "status"), "ok"),
        (("findings", 0, "remedy"), ""),
        (("started",), "2030-01-02 03:04:05"),
        (("started",), "2030-01-02T03:04:05+01:00"),
        (("status",), "ok"),
        (("exit_code",), 256),
        (("schema_version",), 2),
    ],
)
def test_a_value_that_the_contract_does_not_allow_is_found(path: Path, value: Any) -> None:
    record = deepcopy(PERF)
    holder, key = at(record, path)
    holder[key] = value
    with pytest.raises(ValidationError):
        validate(record)


def test_a_row_was_measured_or_says_why_not() -> None:
    record = deepcopy(PERF)
    record["results"][0] |= {"out_of_place": None, "in_place": None}
    with pytest.raises(ValidationError):
        validate(record)
