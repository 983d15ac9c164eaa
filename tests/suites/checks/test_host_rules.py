"""What is judged about a host: on either side of each threshold, and unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from suites.report import Finding, Status
from tests.suites.checks.ruled import ruled

GIB = 1 << 30


def limits(soft: object, hard: object) -> dict[str, Any]:
    return {"limits": {"nofile": {"soft": soft, "hard": hard}}}


def cores(quota: object, allowed: object) -> dict[str, Any]:
    return {"cgroup": {"cpu_quota": quota}, "cpu": {"allowed_cpus": allowed}}


@pytest.mark.parametrize(
    ("size", "status", "threshold"),
    [
        (GIB - 1, Status.WARN, GIB),
        (GIB, Status.INFO, 8 * GIB),
        (8 * GIB, Status.PASS, None),
        (None, Status.SKIP, GIB),
        (64 << 20, Status.WARN, GIB),
    ],
)
def test_shm(size: int | None, status: Status, threshold: int | None) -> None:
    judged("memory.shm_small", {"memory": {"shm_bytes": size}}, status, size, threshold)


@pytest.mark.parametrize(
    ("facts", "status", "value"),
    [
        (limits(4095, 4095), Status.WARN, 4095),
        (limits(4096, 4096), Status.PASS, 4096),
        (limits("unlimited", "unlimited"), Status.PASS, None),
        (limits(None, None), Status.SKIP, None),
        ({"limits": {"nofile": None}}, Status.SKIP, None),
    ],
)
def test_open_files(facts: Mapping[str, Any], status: Status, value: int | None) -> None:
    judged("limits.nofile_low", facts, status, value, 4096)


@pytest.mark.parametrize(
    ("hard", "remedy"), [("unlimited", "ulimit -n 65536 "), (8000, "ulimit -n 8000 "), (2000, "for good:")]
)
def test_open_files_remedy_is_what_this_user_may_do(hard: object, remedy: str) -> None:
    (finding,) = ruled("limits.nofile_low", limits(1024, hard))
    assert finding.remedy is not None
    assert finding.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("facts", "status", "value"),
    [
        (cores(1.5, [0, 1]), Status.INFO, 1.5),
        (cores(2.0, [0, 1]), Status.PASS, 2.0),
        (cores("unlimited", [0, 1]), Status.PASS, None),
        (cores(None, [0, 1]), Status.SKIP, None),
        (cores(1.5, None), Status.SKIP, 1.5),
    ],
)
def test_cpu_quota(facts: Mapping[str, Any], status: Status, value: float | None) -> None:
    allowed = facts["cpu"]["allowed_cpus"]
    judged("cgroup.cpu_quota", facts, status, value, len(allowed) if allowed else None)


@pytest.mark.parametrize(("quota", "ranks"), [(0.5, 1), (2.7, 2)])
def test_cpu_quota_remedy_names_how_many_ranks_fit(quota: float, ranks: int) -> None:
    (finding,) = ruled("cgroup.cpu_quota", cores(quota, range(8)))
    assert finding.remedy == f"keep the number of ranks here to {ranks}, or raise the container's CPU limit"


@pytest.mark.parametrize("part", ["cgroup", "cpu"])
def test_a_rule_needs_all_its_sections(part: str) -> None:
    assert ruled("cgroup.cpu_quota", {part: cores(1.5, [0, 1])[part]}) == []


def judged(check: str, facts: Mapping[str, Any], status: Status, value: object, threshold: object) -> None:
    (finding,) = ruled(check, facts)
    assert (finding.check, finding.status, finding.subject) == (check, status, {"host": "h"})
    if status is not Status.PASS:
        assert (finding.evidence["value"], finding.evidence["threshold"]) == (value, threshold)
        assert (finding.remedy is None) == (status is Status.SKIP)


def test_a_backend_that_could_be_better_is_a_warning() -> None:
    fine = {"name": "a", "summary": "s", "ready": True, "reason": None, "remedy": None}
    lame = {**fine, "name": "b", "reason": "it is slow", "remedy": "mend it"}
    absent = {**lame, "name": "c", "ready": False}
    found: list[Finding] = ruled("backends.caveat", {"backends": [fine, lame, absent]})
    assert [(each.status, each.message, each.remedy) for each in found] == [(Status.WARN, "b: it is slow", "mend it")]
