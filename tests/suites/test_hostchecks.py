"""What is judged about a host: on either side of each threshold, and unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from suites.hostchecks import CHECKS, backends, cpu_quota, open_files, shm
from suites.report import Finding, Status

GIB = 1 << 30


def limits(soft: object, hard: object) -> dict[str, Any]:
    return {"limits": {"nofile": {"soft": soft, "hard": hard}}}


def cores(quota: object, allowed: object) -> dict[str, Any]:
    return {"cgroup": {"cpu_quota": quota}, "cpu": {"allowed_cpus": allowed}}


def test_nothing_is_said_of_sections_not_asked_for() -> None:
    assert [check("h", {}) for check in CHECKS] == [[], [], [], []]
    assert cpu_quota("h", {"cgroup": {"cpu_quota": 1.5}}) == []
    assert cpu_quota("h", {"cpu": {"allowed_cpus": [0, 1]}}) == []


@pytest.mark.parametrize(
    ("size", "status"), [(GIB - 1, Status.WARN), (GIB, None), (None, Status.SKIP), (64 << 20, Status.WARN)]
)
def test_shm(size: int | None, status: Status | None) -> None:
    judged("memory.shm_small", shm("h", {"memory": {"shm_bytes": size}}), status, size, GIB)


@pytest.mark.parametrize(
    ("facts", "status", "value"),
    [
        (limits(4095, 4095), Status.WARN, 4095),
        (limits(4096, 4096), None, 4096),
        (limits("unlimited", "unlimited"), None, None),
        (limits(None, None), Status.SKIP, None),
        ({"limits": {"nofile": None}}, Status.SKIP, None),
    ],
)
def test_open_files(facts: Mapping[str, Any], status: Status | None, value: int | None) -> None:
    judged("limits.nofile_low", open_files("h", facts), status, value, 4096)


@pytest.mark.parametrize(
    ("hard", "remedy"), [("unlimited", "ulimit -n 65536 "), (8000, "ulimit -n 8000 "), (2000, "for good:")]
)
def test_open_files_remedy_is_what_this_user_may_do(hard: object, remedy: str) -> None:
    (finding,) = open_files("h", limits(1024, hard))
    assert finding.remedy is not None
    assert finding.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("facts", "status", "value"),
    [
        (cores(1.5, [0, 1]), Status.INFO, 1.5),
        (cores(2.0, [0, 1]), None, 2.0),
        (cores("unlimited", [0, 1]), None, None),
        (cores(None, [0, 1]), Status.SKIP, None),
        (cores(1.5, None), Status.SKIP, 1.5),
    ],
)
def test_cpu_quota(facts: Mapping[str, Any], status: Status | None, value: float | None) -> None:
    allowed = facts["cpu"]["allowed_cpus"]
    judged("cgroup.cpu_quota", cpu_quota("h", facts), status, value, len(allowed) if allowed else None)


@pytest.mark.parametrize(("quota", "ranks"), [(0.5, 1), (2.7, 2)])
def test_cpu_quota_remedy_names_how_many_ranks_fit(quota: float, ranks: int) -> None:
    (finding,) = cpu_quota("h", cores(quota, range(8)))
    assert finding.remedy == f"keep the number of ranks here to {ranks}, or raise the container's CPU limit"


def judged(check: str, findings: list[Finding], status: Status | None, value: object, threshold: object) -> None:
    assert [finding.status for finding in findings] == ([status] if status else [])
    for finding in findings:
        assert finding.check == check
        assert finding.subject == {"host": "h"}
        assert (finding.evidence["value"], finding.evidence["threshold"]) == (value, threshold)
        assert (finding.remedy is None) == (status is Status.SKIP)


def test_a_backend_that_could_be_better_is_a_warning() -> None:
    fine = {"name": "a", "summary": "s", "ready": True, "reason": None, "remedy": None}
    lame = {**fine, "name": "b", "reason": "it is slow", "remedy": "mend it"}
    absent = {**lame, "name": "c", "ready": False}
    (found,) = backends("h", {"backends": [fine, lame, absent]})
    assert (found.check, found.status) == ("backends.b", Status.WARN)
    assert (found.message, found.remedy) == ("it is slow", "mend it")
