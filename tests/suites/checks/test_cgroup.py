"""Rules about control groups."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.plain_hosts import GPUS, found_on, host, silent
from tests.suites.checks.ruled import ruled, statuses

GIB = 1 << 30


def grouped(commands: dict[str, str] | None = None, cpus: str = "0-3", **files: object) -> dict[str, Any]:
    """A control group of version 2 with these files, by their names with _ for the point."""
    told = {f"/sys/fs/cgroup/job/{name.replace('_', '.', 1)}": f"{value}\n" for name, value in files.items()}
    machine = {"/sys/devices/system/cpu/online": cpus, "/proc/self/status": f"Cpus_allowed_list:\t{cpus}\n"}
    return host(
        "cpu", "cgroup", "accelerators", commands=commands, files={"/proc/self/cgroup": "0::/job\n", **machine, **told}
    )


@pytest.mark.parametrize(
    ("limit", "commands", "found"),
    [
        (2 * GIB - 4096, None, [Status.INFO]),
        (2 * GIB, None, []),
        (18 * GIB - 4096, GPUS, [Status.WARN]),  # 2 and 8 for each of two devices
        (18 * GIB, GPUS, []),
        ("max", GPUS, []),
    ],
)
def test_memory_limit(limit: object, commands: dict[str, str] | None, found: list[Status]) -> None:
    assert statuses(found_on("cgroup.memory_limit", grouped(commands, memory_max=limit))) == found


def test_memory_that_is_left() -> None:
    assert silent("cgroup.memory_left", grouped(memory_max=4 * GIB, memory_current=GIB))
    assert silent("cgroup.memory_left", grouped(memory_max=4 * GIB, memory_current=4 * GIB - GIB // 4))
    (finding,) = found_on("cgroup.memory_left", grouped(memory_max=4 * GIB, memory_current=4 * GIB - 4096))
    assert (finding.status, finding.evidence["value"]) == (Status.WARN, 4096)
    assert finding.evidence["file"] == "/sys/fs/cgroup/job/memory.max"


def test_processes_that_were_ended_at_some_time_are_a_remark() -> None:
    assert statuses(found_on("cgroup.oom_kills", grouped(memory_events="oom_kill 2"))) == [Status.INFO]
    assert silent("cgroup.oom_kills", grouped(memory_events="oom_kill 0"))
    assert ruled("cgroup.oom_kills", grouped()) == []


@pytest.mark.parametrize(("before", "after", "found"), [(1, 2, Status.WARN), (2, 2, Status.PASS)])
def test_processes_that_were_ended_since(before: int, after: int, found: Status) -> None:
    now, then = (grouped(memory_events=f"oom_kill {count}") for count in (after, before))
    assert statuses(ruled("cgroup.oom_killed", now, earlier=then)) == [found]


def test_cpus_that_are_granted() -> None:
    assert silent("cgroup.cpus_restricted", grouped(cpuset_cpus="0-3"))
    (finding,) = found_on("cgroup.cpus_restricted", grouped(cpuset_cpus="0-1"))
    assert (finding.status, finding.message) == (Status.INFO, "the control group grants 2 of the host's 4 CPUs")


@pytest.mark.parametrize(
    ("limit", "commands", "found"),
    [(4095, GPUS, [Status.WARN]), (4095, None, [Status.INFO]), (4096, GPUS, []), ("max", GPUS, [])],
)
def test_threads(limit: object, commands: dict[str, str] | None, found: list[Status]) -> None:
    assert statuses(found_on("cgroup.pids_low", grouped(commands, pids_max=limit))) == found


def test_what_was_not_counted_before_or_now_is_no_growth() -> None:
    counted, uncounted = grouped(memory_events="oom_kill 2"), grouped()
    assert ruled("cgroup.oom_killed", counted, earlier=uncounted) == []
    assert ruled("cgroup.oom_killed", uncounted, earlier=counted) == []
    assert ruled("cgroup.oom_killed", grouped(memory_events="oom_kill 1"), earlier=counted) == []


def test_granted_cpus_of_a_host_of_unknown_size() -> None:
    facts = host("cpu", "cgroup", files={"/proc/self/cgroup": "0::/j\n", "/sys/fs/cgroup/j/cpuset.cpus": "0-1\n"})
    assert ruled("cgroup.cpus_restricted", facts) == []
