"""Rules about memory: swap, what was ended for want of it, and hosts that have less."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.plain_hosts import GPUS, found_on, host, silent
from tests.suites.checks.ruled import fleet, ruled, statuses


def sized(gigabytes: float) -> dict[str, Any]:
    return host("memory", files={"/proc/meminfo": f"MemTotal: {int(gigabytes * (1 << 20))} kB\n"})


def swapping(kilobytes: int, commands: dict[str, str] | None = None) -> dict[str, Any]:
    return host("memory", "accelerators", commands=commands, files={"/proc/meminfo": f"SwapTotal: {kilobytes} kB\n"})


def killed(count: int | None) -> dict[str, Any]:
    return host("memory", files={} if count is None else {"/proc/vmstat": f"oom_kill {count}\n"})


def test_swap() -> None:
    assert statuses(found_on("memory.swap_on", swapping(1 << 21, GPUS))) == [Status.WARN]
    assert statuses(found_on("memory.swap_on", swapping(1 << 21))) == [Status.INFO]
    assert silent("memory.swap_on", swapping(0, GPUS))
    assert ruled("memory.swap_on", host("memory")) == []


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [(1, 3, [Status.WARN]), (3, 3, [Status.PASS]), (3, 1, []), (None, 3, []), (1, None, [])],
)
def test_processes_ended_for_want_of_memory(before: int | None, after: int | None, found: list[Status]) -> None:
    """Fewer than before: the host was started anew."""
    assert statuses(ruled("memory.oom_kill", killed(after), earlier=killed(before))) == found


def test_a_host_with_less_memory_is_named() -> None:
    (finding,) = fleet("memory.size_differs", a=sized(1024), b=sized(1024), c=sized(960))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "c"})
    assert finding.message == "960 GiB of memory, and 1 TiB on most hosts"


def test_what_firmware_keeps_is_no_missing_module() -> None:
    assert statuses(fleet("memory.size_differs", a=sized(1024), b=sized(1024), c=sized(980))) == [Status.PASS]


def test_of_two_hosts_none_is_the_culprit() -> None:
    (finding,) = fleet("memory.size_differs", a=sized(512), b=sized(1024))
    assert "host" not in finding.subject
    assert "a: 512 GiB, b: 1 TiB" in finding.message


def test_a_module_less_is_seen_beside_a_single_peer_too() -> None:
    (finding,) = fleet("memory.size_differs", a=sized(1024), b=sized(960))
    assert "host" not in finding.subject
    assert "a: 1 TiB, b: 960 GiB" in finding.message


def test_one_host_has_nobody_to_be_compared_with() -> None:
    assert fleet("memory.size_differs", a=sized(512)) == []


def test_pages_of_a_fleet() -> None:
    def paged(huge: str) -> dict[str, Any]:
        return host("memory", files={"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size": huge})

    (finding,) = fleet("memory.pages_differ", a=paged("2097152"), b=paged("536870912"), c=paged("536870912"))
    assert finding.subject == {"host": "a"}
    assert finding.message == "the size of a page is 4096 bytes, and 65536 bytes on 2 of 3"


def test_where_half_of_the_hosts_are_odd_none_is_the_culprit() -> None:
    (finding,) = fleet("memory.size_differs", a=sized(1000), b=sized(1024), c=sized(500), d=sized(1500))
    assert "host" not in finding.subject
