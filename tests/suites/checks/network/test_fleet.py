"""Rules about interfaces that several hosts have."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.network.test_interfaces import DOWN, address, entry, of_files, of_ip
from tests.suites.checks.ruled import fleet, statuses
from tests.suites.checks.told import facts_of


def hosts(**mtus: int) -> dict[str, dict[str, Any]]:
    return {name: of_ip(entry("ens3", mtu=mtu)) for name, mtu in mtus.items()}


def settings(command: str, text: str) -> dict[str, Any]:
    return facts_of({f"ethtool {command} ens3": text}, sections=("network",))


def test_an_mtu_unlike_that_of_most_names_the_host() -> None:
    (finding,) = fleet("network.mtu_differs", **hosts(a=9192, b=9192, c=1500))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "c", "device": "ens3"})
    assert finding.message == "the MTU of ens3 is 1500, and 9192 on 2 of 3"


def test_of_two_hosts_neither_is_the_culprit() -> None:
    (finding,) = fleet("network.mtu_differs", **hosts(a=9192, b=1500))
    assert (finding.status, finding.subject) == (Status.WARN, {"device": "ens3"})


def test_one_host_is_right_whatever_its_mtu() -> None:
    assert fleet("network.mtu_differs", **hosts(a=1500)) == []


@pytest.mark.parametrize("more", [DOWN, {"ifname": "docker0"}, {"ifname": "lo", "link_type": "loopback"}])
def test_what_leads_to_nobody_may_differ(more: dict[str, Any]) -> None:
    told = {name: of_ip(entry("ens3", mtu=mtu) | more) for name, mtu in (("a", 9000), ("b", 1500))}
    assert fleet("network.mtu_differs", **told) == []


def test_an_interface_that_is_not_set_up_may_differ() -> None:
    told = {name: of_files(ens3__operstate="down", ens3__mtu=mtu) for name, mtu in (("a", "9000"), ("b", "1500"))}
    assert fleet("network.mtu_differs", **told) == []


def test_speeds() -> None:
    def told(speed: int) -> dict[str, Any]:
        return settings("", f"Settings for ens3:\n\tSpeed: {speed}Mb/s\n\tLink detected: yes\n")

    (finding,) = fleet("network.speed_differs", a=told(200000), b=told(200000), c=told(100000))
    assert finding.subject == {"host": "c", "device": "ens3"}
    assert finding.message == "the speed of ens3 is 100 Gb/s, and 200 Gb/s on 2 of 3"


@pytest.mark.parametrize(
    ("rule", "command", "usual", "other"),
    [
        ("fec_differs", "--show-fec", "Active FEC encoding: RS\n", "Active FEC encoding: Off\n"),
        ("pause_differs", "-a", "RX:\t\toff\n", "RX:\t\ton\n"),
        ("firmware_differs", "-i", "firmware-version: 1.2\n", "firmware-version: 1.1\n"),
    ],
)
def test_settings(rule: str, command: str, usual: str, other: str) -> None:
    a, b = settings(command, usual), settings(command, other)
    (finding,) = fleet(f"network.{rule}", a=a, b=b, c=a)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b", "device": "ens3"})
    assert finding.evidence["command"] == f"ethtool {command} ens3"
    assert statuses(fleet(f"network.{rule}", a=a, c=a)) == [Status.PASS]


def test_a_port_that_has_left_its_bond() -> None:
    within, apart = of_ip(entry("ens3", master="bond0")), of_ip(entry("ens3"))
    (finding,) = fleet("network.membership_differs", a=within, b=within, c=apart)
    assert finding.message == "what ens3 is a part of is nothing, and bond0 on 2 of 3"
    assert fleet("network.membership_differs", a=apart, b=apart) == []


def test_a_card_that_is_missing_is_named() -> None:
    both, one = of_ip(entry("ens3"), entry("ens4")), of_ip(entry("ens3"))
    missing, fine = fleet("network.interface_missing", a=both, b=one, c=both)[:2], of_ip(entry("eth0"))
    assert (missing[0].status, missing[0].subject) == (Status.WARN, {"host": "b", "device": "ens4"})
    assert len(missing) == 1
    assert statuses(fleet("network.interface_missing", a=both, b=fine)) == [Status.PASS]


def test_an_address_that_two_hosts_have() -> None:
    def told(text: str, name: str = "ens3") -> dict[str, Any]:
        return of_ip(entry(name, addr_info=address(text)))

    (finding,) = fleet("network.address_twice", a=told("192.0.2.7"), b=told("192.0.2.7"))
    assert finding.status is Status.FAIL
    assert finding.message == "192.0.2.7 is an address of 2 hosts: a ens3, b ens3"
    assert statuses(fleet("network.address_twice", a=told("192.0.2.7"), b=told("192.0.2.8"))) == [Status.PASS]
    for name, text in (("docker0", "172.17.0.1"), ("ens3", "169.254.1.1")):
        assert fleet("network.address_twice", a=told(text, name), b=told(text, name)) == []


def test_a_port_of_an_rdma_device_is_told_by_the_rules_of_rdma() -> None:
    told = {"name": "mlx5_0", "firmware": "1.1", "ports": [{"netdev": "ens3", "rate_bits_per_second": 10**11}]}
    port: dict[str, Any] = {"rdma": {"devices": [told]}}
    speeds = {
        name: settings("", f"Settings for ens3:\n\tSpeed: {speed}Mb/s\n") | port
        for name, speed in (("a", 200000), ("b", 200000), ("c", 100000))
    }
    assert fleet("network.speed_differs", **speeds) == []
    firmware = {name: settings("-i", f"firmware-version: 1.{minor}\n") | port for name, minor in (("a", 1), ("b", 2))}
    assert fleet("network.firmware_differs", **firmware) == []
    driver = {name: settings("-i", f"version: 1.{minor}\n") | port for name, minor in (("a", 1), ("b", 2))}
    assert statuses(fleet("network.firmware_differs", **driver)) == [Status.WARN]
    one, two = of_ip(entry("ens4")), of_ip(entry("ens3"), entry("ens4"))
    assert statuses(fleet("network.interface_missing", a=two, b=one)) == [Status.WARN]
    assert Status.WARN not in statuses(
        fleet("network.interface_missing", a=two | port, b=one | {"rdma": {"devices": []}})
    )
