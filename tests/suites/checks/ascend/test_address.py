"""Rules about the addresses of NPU ports."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

CONF = "/etc/hccn.conf"
CONFIGURED = (
    "address_{n}=192.0.2.{a}\nnetmask_{n}=255.255.255.0\nnetdetect_{n}=192.0.2.1\ngateway_{n}=192.0.2.1\n"
    "send_arp_status_{n}=1\n"
)


def conf(*numbers: int) -> str:
    return "".join(CONFIGURED.format(n=number, a=10 + number) for number in numbers)


def ip(device: int, address: str, mask: str = "255.255.255.0") -> dict[str, str]:
    return {f"hccn_tool -i {device} -ip -g": f"ipaddr:{address}\nnetmask:{mask}\n"}


def told(*parts: dict[str, str], text: str | None = None) -> dict[str, Any]:
    commands = {line: said for part in parts for line, said in part.items()}
    return facts_of(commands, {} if text is None else {CONF: text})


def test_a_port_without_an_address() -> None:
    (finding,) = ruled("ascend.ip_missing", told(ip(0, "192.0.2.10"), {"hccn_tool -i 1 -ip -g": "\n"}))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu1")
    assert statuses(ruled("ascend.ip_missing", told(ip(0, "192.0.2.10")))) == [Status.PASS]


def test_a_refusal_is_no_missing_address() -> None:
    facts = told({"hccn_tool -i 0 -ip -g": "permission denied: pls check this cmd run permission.\n"})
    assert statuses(ruled("ascend.ip_missing", facts)) == [Status.SKIP]


def test_one_address_twice_on_a_host_by_its_file() -> None:
    found = ruled("ascend.ip_duplicate", told(text=conf(0, 1) + "address_1=192.0.2.10\n"))
    assert {finding.subject["device"] for finding in found} == {"npu0", "npu1"}
    assert found[0].evidence == {"value": "192.0.2.10", "file": CONF, "line": "address_0=192.0.2.10"}
    assert statuses(found) == [Status.FAIL, Status.FAIL]


def test_one_address_on_two_hosts_is_named_on_both() -> None:
    found = fleet("ascend.ip_duplicate", a=told(ip(0, "192.0.2.10")), b=told(ip(3, "192.0.2.10")))
    assert [finding.subject for finding in found] == [{"host": "a", "device": "npu0"}, {"host": "b", "device": "npu3"}]
    assert "b npu3" in found[0].message


def test_addresses_that_are_all_different() -> None:
    assert statuses(fleet("ascend.ip_duplicate", a=told(ip(0, "192.0.2.10")), b=told(text=conf(1)))) == [Status.PASS]


def test_what_is_in_force_counts_and_not_the_file() -> None:
    facts = told(ip(0, "192.0.2.99"), {"hccn_tool -i 1 -ip -g": "\n"}, text=conf(0, 1) + "address_1=192.0.2.99\n")
    assert statuses(ruled("ascend.ip_duplicate", facts)) == [Status.PASS]


def test_an_npu_that_the_file_leaves_out() -> None:
    (finding,) = ruled("ascend.conf_incomplete", told(text=conf(0, 1, 3)))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu2")


def test_a_setting_that_one_npu_lacks() -> None:
    text = conf(0, 1, 2).replace("gateway_1=192.0.2.1\n", "")
    (finding,) = ruled("ascend.conf_incomplete", told(text=text))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "npu1")
    assert "gateway" in finding.message


def test_an_address_that_is_none() -> None:
    (finding,) = ruled("ascend.conf_incomplete", told(text=conf(0, 1) + "address_1=192.0.2.300\n"))
    assert (finding.status, finding.evidence["line"]) == (Status.FAIL, "address_1=192.0.2.300")


@pytest.mark.parametrize("numbers", [(0,), (0, 1, 2), (4, 5, 6, 7)])
def test_a_complete_file(numbers: tuple[int, ...]) -> None:
    assert statuses(ruled("ascend.conf_incomplete", told(text=conf(*numbers)))) == [Status.PASS]


def test_an_address_other_than_in_the_file() -> None:
    facts = told(ip(0, "192.0.2.10"), ip(1, "192.0.2.77"), text=conf(0, 1))
    (finding,) = ruled("ascend.conf_differs", facts)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu1")
    assert (finding.evidence["value"], finding.evidence["threshold"]) == ("192.0.2.77", "192.0.2.11")
    assert statuses(ruled("ascend.conf_differs", told(ip(0, "192.0.2.10"), text=conf(0)))) == [Status.PASS]


def test_one_netmask_that_differs() -> None:
    facts = told(ip(0, "192.0.2.10"), ip(1, "192.0.2.11"), ip(2, "192.0.2.12", "255.255.0.0"))
    (finding,) = ruled("ascend.netmask_differs", facts)
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "npu2")


def gateway(device: int, address: str | None) -> dict[str, str]:
    none = "Get gateway failed, because no gateway was preset there!\n"
    return {f"hccn_tool -i {device} -gateway -g": f"default gateway:{address}, Iface:eth0\n" if address else none}


def test_a_network_of_its_own_needs_a_gateway() -> None:
    alone = {"a": told(ip(0, "192.0.2.10"), gateway(0, None)), "b": told(ip(0, "198.51.100.10"), gateway(0, None))}
    (finding,) = fleet("ascend.network_differs", **alone)
    assert finding.status is Status.WARN
    routed = {
        "a": told(ip(0, "192.0.2.10"), gateway(0, "192.0.2.1")),
        "b": told(ip(0, "198.51.100.10"), gateway(0, "198.51.100.1")),
    }
    assert fleet("ascend.network_differs", **routed) == []


def test_a_gateway_that_only_one_port_lacks() -> None:
    facts = told(gateway(0, "192.0.2.1"), gateway(1, "192.0.2.1"), gateway(2, None))
    (finding,) = ruled("ascend.gateway_missing", facts)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "h", "device": "npu2"})
    assert statuses(ruled("ascend.gateway_missing", told(gateway(0, None), gateway(1, None)))) == [Status.PASS]


def test_a_gateway_outside_the_network() -> None:
    facts = told(ip(0, "192.0.2.10"), gateway(0, "198.51.100.1"))
    (finding,) = ruled("ascend.gateway_outside", facts)
    assert (finding.status, finding.evidence["command"]) == (Status.FAIL, "hccn_tool -i 0 -gateway -g")
    (finding,) = ruled("ascend.gateway_outside", told(text=conf(0) + "gateway_0=198.51.100.1\n"))
    assert finding.evidence["file"] == CONF
    assert statuses(ruled("ascend.gateway_outside", told(text=conf(0)))) == [Status.PASS]


def test_a_detection_address_that_only_one_port_lacks() -> None:
    commands = {f"hccn_tool -i {device} -netdetect -g": "netdetect addr: 192.0.2.1\n" for device in range(3)}
    commands["hccn_tool -i 1 -netdetect -g"] = "netdetect addr: 0.0.0.0\n"
    (finding,) = ruled("ascend.netdetect_missing", told(commands))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "npu1")
