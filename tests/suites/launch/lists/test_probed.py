"""A host list with what its hosts say of their NPUs, and what such a list cannot be made of."""

from __future__ import annotations

from typing import Any

import pytest

from suites.errors import LaunchError
from suites.launch.lists.hostformats import lacks_devices, render
from suites.launch.lists.hosts import parse_hostfile, parse_hosts
from suites.launch.lists.probed import with_devices
from suites.launch.lists.ranktable import Device


def facts(first: str | None, count: int = 8, *, present: bool = True, configured: bool | None = True) -> dict[str, Any]:
    """As `accelerators.ascend` has them: NPUs 0, 1 ... with the addresses from the first one on."""
    net, _, last = (first or "").rpartition(".")
    devices = [
        {"id": number, "present": present, "address": f"{net}.{int(last) + number}" if first else None}
        for number in range(count)
    ]
    return {"devices": devices, "configured": configured}


def problems(hosts: str, *known: dict[str, Any]) -> list[str]:
    with pytest.raises(LaunchError) as caught:
        with_devices(parse_hosts(hosts), known)
    return list(caught.value.__notes__)


def test_ranks_go_from_host_to_host() -> None:
    found = with_devices(parse_hosts("a,me@b"), [facts("192.0.2.10", 2), facts("192.0.2.20", 2)])
    assert [(entry.name, entry.slots) for entry in found.entries] == [("a", 2), ("b", 2)]
    assert [device for entry in found.entries for device in entry.devices] == [
        Device("0", "192.0.2.10", "0"),
        Device("1", "192.0.2.11", "1"),
        Device("0", "192.0.2.20", "2"),
        Device("1", "192.0.2.21", "3"),
    ]
    assert found.remarks == ()


def test_slots_say_how_many() -> None:
    (entry,) = with_devices(parse_hosts("a:4"), [facts("192.0.2.10")]).entries
    assert [device.device_id for device in entry.devices] == ["0", "1", "2", "3"]


def test_what_is_written_is_a_rank_table() -> None:
    listed = parse_hosts("a:2,fd00::1")
    assert lacks_devices(listed, "rank-table")
    assert not lacks_devices(listed, "mpich")
    found = with_devices(listed, [facts("192.0.2.10"), facts("192.0.2.20", 3)]).entries
    assert not lacks_devices(found, "rank-table")
    assert parse_hostfile(render(found, "rank-table"), "f") == found


def test_a_container_gives_what_it_was_given() -> None:
    known = facts("192.0.2.10")
    for device in known["devices"][:6]:
        device["present"] = False
    (entry,) = with_devices(parse_hosts("a"), [known]).entries
    assert [device.device_id for device in entry.devices] == ["6", "7"]


def test_without_device_files_the_configuration_counts_and_that_is_said() -> None:
    found = with_devices(parse_hosts("a"), [facts("192.0.2.10", present=False)])
    assert len(found.entries[0].devices) == 8
    assert found.remarks == ("a has no /dev/davinci* now; its devices are those of /etc/hccn.conf",)


@pytest.mark.parametrize(
    ("hosts", "known", "told"),
    [
        ("a", facts(None, 0, configured=False), "a: no NPU: no /dev/davinci*, and there is no /etc/hccn.conf"),
        ("a", facts(None, 0, configured=None), "a: no NPU: no /dev/davinci*, and /etc/hccn.conf cannot be read"),
        ("a", facts(None, 0), "a: no NPU: no /dev/davinci*, and no address in /etc/hccn.conf"),
        ("a", facts(None, configured=False), "a: there is no /etc/hccn.conf (in a container: mount it)"),
        ("a", facts(None, configured=None), "a: /etc/hccn.conf cannot be read by this user"),
        ("a:9", facts("192.0.2.10"), "a: 9 slots, and 8 NPUs; give it 8 slots"),
        ("a", facts(None, 1), "a: NPU 0 has no address in /etc/hccn.conf; set one: hccn_tool -i 0 -ip -s address A"),
    ],
)
def test_what_no_table_can_be_made_of(hosts: str, known: dict[str, Any], told: str) -> None:
    (problem,) = problems(hosts, known)
    assert problem.startswith(told)


def test_all_hosts_that_lack_something_are_named() -> None:
    assert [problem[0] for problem in problems("a,b,c", facts(None, 0), facts("192.0.2.1"), facts(None, 1))] == list(
        "ac"
    )


def test_an_address_belongs_to_one_device() -> None:
    (problem,) = problems("a:1,b:1", facts("192.0.2.10"), facts("192.0.2.10"))
    assert problem == "NPU 0 of b has the address of NPU 0 of a, 192.0.2.10; give it another one"


def test_two_kinds_of_addresses_do_not_meet() -> None:
    known = facts("192.0.2.10", 2)
    known["devices"][1]["address"] = "fd00::1"
    (problem,) = problems("a", known)
    assert problem == "NPU 1 of a has an IPv6 address, and NPU 0 of a an IPv4 one; HCCL takes one kind"
