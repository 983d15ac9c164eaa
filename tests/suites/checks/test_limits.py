"""Rules about limits, on both sides of each threshold, with and without accelerators."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.plain_hosts import GPUS, NPUS, adapters, found_on, host, interfaces, silent
from tests.suites.checks.ruled import fleet, ruled, statuses

GIB = 1 << 30
MEMLOCK = "limits.memlock_low"


def limited(row: str, value: object, *sections: str, commands: dict[str, str] | None = None) -> dict[str, Any]:
    files = {"/proc/self/limits": f"{row}  {value}  {value}  units\n"}
    return host("limits", *sections, commands=commands, files=files)


def locked(
    value: object, commands: dict[str, str] | None = None, files: dict[str, str] | None = None
) -> dict[str, Any]:
    told = {"/proc/self/limits": f"Max locked memory  {value}  {value}  bytes\n", **(files or {})}
    return host("limits", "rdma", "accelerators", commands=commands, files=told)


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (8192, Status.FAIL),
        (16 * GIB - 1, Status.FAIL),
        (16 * GIB, Status.WARN),
        (32 * GIB - 1, Status.WARN),
        (32 * GIB, None),
        ("unlimited", None),
    ],
)
def test_locked_memory_where_there_is_rdma(value: object, status: Status | None) -> None:
    found = found_on(MEMLOCK, locked(value, adapters(0)))
    assert statuses(found) == ([status] if status else [])


def test_locked_memory_says_how_little_it_is_and_what_to_do() -> None:
    (finding,) = found_on(MEMLOCK, locked(8192, adapters(0)))
    assert finding.message.startswith("only 8 KiB may be locked")
    assert (finding.evidence["value"], finding.evidence["threshold"]) == (8192, 16 * GIB)
    assert "LimitMEMLOCK=infinity" in (finding.remedy or "")


def test_locked_memory_of_a_plain_host_is_a_remark() -> None:
    assert statuses(found_on(MEMLOCK, locked(8 << 20))) == [Status.INFO]
    assert silent(MEMLOCK, locked(20 * GIB))


def test_an_npu_has_a_port_of_its_own() -> None:
    assert statuses(found_on(MEMLOCK, locked(8 << 20, files=NPUS))) == [Status.FAIL]


def test_gpus_alone_do_not_lock() -> None:
    facts = {**locked(8 << 20, GPUS), "rdma": {"devices": []}}
    assert statuses(found_on(MEMLOCK, facts)) == [Status.WARN]


def test_an_unknown_limit_is_no_verdict() -> None:
    assert statuses(ruled(MEMLOCK, host("limits"))) == [Status.SKIP]


@pytest.mark.parametrize(
    ("value", "commands", "found"),
    [(4096, GPUS, [Status.INFO]), (65535, GPUS, []), ("unlimited", GPUS, []), (4096, None, [])],
)
def test_open_files_that_makers_ask_for(value: object, commands: dict[str, str] | None, found: list[Status]) -> None:
    facts = limited("Max open files", value, "accelerators", commands=commands)
    assert statuses(found_on("limits.nofile_below_advice", facts)) == found


@pytest.mark.parametrize(
    ("value", "commands", "found"),
    [(4095, GPUS, [Status.WARN]), (4095, None, [Status.INFO]), (4096, GPUS, []), ("unlimited", None, [])],
)
def test_processes(value: object, commands: dict[str, str] | None, found: list[Status]) -> None:
    facts = limited("Max processes", value, "accelerators", commands=commands)
    assert statuses(found_on("limits.nproc_low", facts)) == found


@pytest.mark.parametrize(
    ("somaxconn", "backlog", "found"),
    [
        ("128", "65535", [Status.WARN]),
        ("4096", "65535", [Status.INFO]),
        ("65535", "1023", [Status.WARN]),
        ("65535", "1024", [Status.INFO]),
        ("65535", "65535", []),
    ],
)
def test_backlog(somaxconn: str, backlog: str, found: list[Status]) -> None:
    files = {
        "/proc/sys/net/core/somaxconn": somaxconn,
        "/proc/sys/net/ipv4/tcp_max_syn_backlog": backlog,
    }
    facts = host("limits", "accelerators", commands=GPUS, files=files)
    assert statuses(found_on("limits.backlog_low", facts)) == found
    assert ruled("limits.backlog_low", host("limits", "accelerators", files=files)) == []


@pytest.mark.parametrize(
    ("addresses", "everywhere", "one", "found"),
    [
        ({"eth0": "192.0.2.1/24", "eth1": "192.0.2.2/24"}, "0", "1", True),
        ({"eth0": "192.0.2.1/24", "eth1": "192.0.2.2/24"}, "1", "0", True),
        ({"eth0": "192.0.2.1/24", "eth1": "192.0.2.2/24"}, "0", "0", False),
        ({"eth0": "192.0.2.1/24", "eth1": "192.0.2.2/24"}, "2", "1", False),  # the larger of both counts
        ({"eth0": "192.0.2.1/24", "eth1": "198.51.100.2/24"}, "1", "1", False),
        ({"eth0": "192.0.2.1/24"}, "1", "1", False),
    ],
)
def test_strict_filters(addresses: dict[str, str], everywhere: str, one: str, found: bool) -> None:
    conf = "/proc/sys/net/ipv4/conf"
    files = {f"{conf}/all/rp_filter": everywhere, f"{conf}/eth0/rp_filter": one}
    facts = host("limits", "network", commands=interfaces(**addresses), files=files)
    assert statuses(found_on("limits.reverse_path_strict", facts)) == [Status.INFO] * found


def test_limits_of_a_fleet() -> None:
    usual, other = (limited("Max open files", value) for value in (65536, 1024))
    (finding,) = fleet("limits.differ", a=usual, b=usual, c=other)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "c"})
    assert finding.message == "the limit nofile is 1024, and 65536 on 2 of 3"
    assert statuses(fleet("limits.differ", a=usual, b=usual)) == [Status.PASS]


def test_open_files_can_be_raised_here_when_the_hard_limit_is_enough() -> None:
    files = {"/proc/self/limits": "Max open files  1024  4096  files\n"}
    (finding,) = found_on("limits.nofile_low", host("limits", files=files))
    assert (finding.remedy or "").startswith("ulimit -n 4096 ")


def test_filters_without_interfaces_or_interfaces_without_filters_say_nothing() -> None:
    conf = {"/proc/sys/net/ipv4/conf/all/rp_filter": "1"}
    assert ruled("limits.reverse_path_strict", host("limits", "network", files=conf)) == []
    two = interfaces(eth0="192.0.2.1/24", eth1="192.0.2.2/24")
    assert ruled("limits.reverse_path_strict", host("limits", "network", commands=two)) == []


def test_addresses_without_a_width_or_of_version_6_are_in_no_subnet() -> None:
    facts = host("limits", files={"/proc/sys/net/ipv4/conf/all/rp_filter": "1"})
    odd = [{"name": name, "loopback": False, "addresses": ["192.0.2.1", "2001:db8::1/64"]} for name in ("eth0", "eth1")]
    assert ruled("limits.reverse_path_strict", {**facts, "network": {"interfaces": odd}}) == []
