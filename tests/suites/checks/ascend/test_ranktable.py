"""Rules about HCCL's rank table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

RULES = ("unreadable", "incomplete", "servers", "ranks", "addresses")


def table(*addresses: str, ranks: tuple[object, ...] | None = None, **keys: object) -> dict[str, Any]:
    """A table of servers n0, n1, ... with two devices each; the last one may have one."""
    numbers = ranks or tuple(range(len(addresses)))
    devices = [
        {"device_id": str(index % 2), "device_ip": address, "rank_id": str(numbers[index])}
        for index, address in enumerate(addresses)
    ]
    servers = [
        {"server_id": f"n{start // 2}", "device": devices[start : start + 2]} for start in range(0, len(devices), 2)
    ]
    return {"status": "completed", "version": "1.0", "server_count": str(len(servers)), "server_list": servers, **keys}


FINE = table("192.0.2.10", "192.0.2.11", "192.0.2.20", "192.0.2.21")


def with_table(found: dict[str, Any] | str, *own: str) -> dict[str, Any]:
    """Facts of a host with this table, whose NPUs have these addresses."""
    text = found if isinstance(found, str) else json.dumps(found)
    commands = {f"hccn_tool -i {device} -ip -g": f"ipaddr:{address}\n" for device, address in enumerate(own)}
    return facts_of(commands, {"/t.json": text}, {"RANK_TABLE_FILE": "/t.json"})


def test_a_table_that_is_right() -> None:
    for rule in RULES:
        assert statuses(ruled(f"ascend.ranktable_{rule}", with_table(FINE))) == [Status.PASS]


def test_without_a_table_there_is_nothing_to_say() -> None:
    for rule in (*RULES, "foreign", "differs"):
        assert ruled(f"ascend.ranktable_{rule}", facts_of({})) == []


def test_a_table_that_is_no_json() -> None:
    (finding,) = ruled("ascend.ranktable_unreadable", with_table('{"server_list": [\n  oops\n'))
    assert (finding.status, finding.evidence["line"]) == (Status.FAIL, "oops")
    for rule in RULES[1:]:
        assert ruled(f"ascend.ranktable_{rule}", with_table("{")) == []


def test_a_table_that_is_not_there() -> None:
    facts = facts_of({}, {}, {"RANK_TABLE_FILE": "/t.json"})
    assert statuses(ruled("ascend.ranktable_unreadable", facts)) == [Status.FAIL]


@pytest.mark.parametrize("status", ["initializing", None])
def test_a_table_that_is_not_completed(status: str | None) -> None:
    assert statuses(ruled("ascend.ranktable_incomplete", with_table({**FINE, "status": status}))) == [Status.FAIL]


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"server_count": "3"}, Status.FAIL, "has 3 servers, and lists 2"),
        ({"server_count": 2}, Status.PASS, ""),
        ({"super_pod_list": [{"server_list": [{"server_id": "n0"}, {"server_id": "n1"}]}]}, Status.PASS, ""),
        ({"super_pod_list": [{"server_list": [{"server_id": "n0"}]}]}, Status.FAIL, "server n1"),
        (
            {"super_pod_list": [{"server_list": [{"server_id": name} for name in ("n0", "n1", "n7")]}]},
            Status.FAIL,
            "server n7",
        ),
    ],
)
def test_the_servers_of_a_table(changes: dict[str, Any], status: Status, said: str) -> None:
    (finding,) = ruled("ascend.ranktable_servers", with_table({**FINE, **changes}))
    assert finding.status is status
    assert said in finding.message


def two_pods(first: list[str], second: list[str]) -> dict[str, Any]:
    """Servers n0 and n1, each in a super-pod of its own, with these super_device_ids."""
    servers = [
        {**server, "device": [{**device, "super_device_id": sdids[n]} for n, device in enumerate(server["device"])]}
        for server, sdids in zip(FINE["server_list"], (first, second), strict=True)
    ]
    pods = [{"super_pod_id": str(n), "server_list": [{"server_id": f"n{n}"}]} for n in range(2)]
    return {**FINE, "server_list": servers, "super_pod_list": pods}


def changed(server: int, device: int | None, **keys: object) -> dict[str, Any]:
    """A table that is right but for this server or device; None leaves a key out."""
    found = json.loads(json.dumps(FINE))
    holder = found["server_list"][server]
    holder = holder if device is None else holder["device"][device]
    holder |= keys
    return found


@pytest.mark.parametrize(
    ("rule", "found", "status", "said"),
    [
        ("servers", changed(0, 1, device_id="0"), Status.FAIL, "device_id 0 in server n0 2 times"),
        ("servers", changed(1, None, server_id="n0"), Status.FAIL, "the rank table has server_id n0 2 times"),
        ("servers", two_pods(["5", "5"], ["1", "2"]), Status.FAIL, "super_device_id 5 in super-pod 0 2 times"),
        ("servers", two_pods(["1", "2"], ["1", "2"]), Status.PASS, ""),
        ("addresses", changed(1, 0, device_ip="192.0.2.300"), Status.FAIL, "192.0.2.300, which is none"),
        ("addresses", changed(1, 0, device_ip="192.0.2.30,192.0.2.31"), Status.PASS, ""),
        ("addresses", changed(1, 1, device_ip=None), Status.WARN, "no address to device 1 of n1"),
        ("ranks", changed(1, 1, rank_id=3), Status.WARN, "numbers where HCCL reads texts: rank_id"),
    ],
)
def test_what_each_device_has_once(rule: str, found: dict[str, Any], status: Status, said: str) -> None:
    finding = ruled(f"ascend.ranktable_{rule}", with_table(found))[0]
    assert finding.status is status
    assert said in finding.message


def test_without_any_address_there_is_none_to_miss() -> None:
    none = json.loads(json.dumps(FINE).replace("device_ip", "made_up"))
    assert ruled("ascend.ranktable_addresses", with_table(none)) == []


@pytest.mark.parametrize(
    ("ranks", "said"),
    [((0, 1, 2, 5), "3 missing"), ((0, 1, 1, 2), "rank 1 is given to"), ((0, 1, 2, "x"), "device 1 of n1 has x")],
)
def test_ranks_that_are_not_0_to_n(ranks: tuple[object, ...], said: str) -> None:
    found = table("192.0.2.10", "192.0.2.11", "192.0.2.20", "192.0.2.21", ranks=ranks)
    (finding,) = ruled("ascend.ranktable_ranks", with_table(found))
    assert finding.status is Status.FAIL
    assert said in finding.message


def test_ranks_in_another_order_are_right() -> None:
    found = table("192.0.2.10", "192.0.2.11", "192.0.2.20", "192.0.2.21", ranks=(2, 3, 0, 1))
    assert statuses(ruled("ascend.ranktable_ranks", with_table(found))) == [Status.PASS]


def test_an_address_that_is_given_twice() -> None:
    found = table("192.0.2.10", "192.0.2.11", "192.0.2.10", "192.0.2.21")
    (finding,) = ruled("ascend.ranktable_addresses", with_table(found))
    assert finding.status is Status.FAIL
    assert "192.0.2.10 to device 0 of n0 and device 0 of n1" in finding.message


def test_addresses_of_this_host_that_are_not_those_of_the_table() -> None:
    (finding,) = ruled("ascend.ranktable_foreign", with_table(FINE, "192.0.2.20", "192.0.2.99"))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu1")
    assert (finding.evidence["value"], finding.evidence["threshold"]) == ("192.0.2.21", "192.0.2.99")
    assert statuses(ruled("ascend.ranktable_foreign", with_table(FINE, "192.0.2.20", "192.0.2.21"))) == [Status.PASS]


def test_a_device_of_the_table_that_this_host_does_not_have() -> None:
    (finding,) = ruled("ascend.ranktable_foreign", with_table(FINE, "192.0.2.20"))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu1")


def test_a_host_that_the_table_does_not_have() -> None:
    assert statuses(ruled("ascend.ranktable_foreign", with_table(FINE, "198.51.100.1"))) == [Status.INFO]


def test_hosts_with_different_tables() -> None:
    other = table("192.0.2.10", "192.0.2.11", "192.0.2.20", "192.0.2.22")
    (finding,) = fleet("ascend.ranktable_differs", a=with_table(FINE), b=with_table(FINE), c=with_table(other))
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "c"})
    assert statuses(fleet("ascend.ranktable_differs", a=with_table(FINE), b=with_table(FINE))) == [Status.PASS]


def test_the_address_in_force_counts_and_not_that_of_the_file() -> None:
    commands = {"hccn_tool -i 0 -ip -g": "ipaddr:192.0.2.20\n", "hccn_tool -i 1 -ip -g": "ipaddr:192.0.2.99\n"}
    files = {"/t.json": json.dumps(FINE), "/etc/hccn.conf": "address_1=192.0.2.21\n"}
    facts = facts_of(commands, files, {"RANK_TABLE_FILE": "/t.json"})
    assert statuses(ruled("ascend.ranktable_foreign", facts)) == [Status.FAIL]
