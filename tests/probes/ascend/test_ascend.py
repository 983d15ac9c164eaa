"""Ascend devices from /dev, and their addresses from /etc/hccn.conf."""

from __future__ import annotations

import pytest

from probes import accelerators, ascend
from probes.ascend import AscendDevice
from probes.ascend.config import parse_addresses
from probes.visit import Visit
from tests.tree_host import TreeHost

CONFIGURED = """\
address_0=192.0.2.10
netmask_0=255.255.255.0
netdetect_0=192.0.2.1
gateway_0=192.0.2.1
send_arp_status_0=1
address_1=192.0.2.11
netmask_1=255.255.255.0
"""


def test_a_host_with_two_of_them(tree: TreeHost) -> None:
    tree.write({"/etc/hccn.conf": CONFIGURED, "/dev/davinci0": "", "/dev/davinci1": "", "/dev/davinci_manager": ""})
    found = ascend.read(Visit(tree))
    assert found.devices == (AscendDevice(0, True, "192.0.2.10"), AscendDevice(1, True, "192.0.2.11"))
    assert found.configured is True
    assert accelerators.read(Visit(tree)).ascend == found


def test_a_container_has_only_some(tree: TreeHost) -> None:
    tree.write({"/etc/hccn.conf": CONFIGURED, "/dev/davinci1": ""})
    assert [(device.id, device.present) for device in ascend.read(Visit(tree)).devices] == [(0, False), (1, True)]


def test_one_that_is_not_configured(tree: TreeHost) -> None:
    tree.write({"/etc/hccn.conf": CONFIGURED, "/dev/davinci10": "", "/dev/davinci0": ""})
    assert ascend.read(Visit(tree)).devices[-1] == AscendDevice(10, True, None)


def test_a_host_with_none(tree: TreeHost) -> None:
    tree.write({"/etc/hosts": "", "/dev/null": ""})
    assert ascend.read(Visit(tree)) == ascend.AscendFacts((), False)


def test_a_host_that_does_not_tell(tree: TreeHost) -> None:
    assert ascend.read(Visit(tree)) == ascend.AscendFacts(None, None)


def test_a_configuration_that_cannot_be_read(tree: TreeHost) -> None:
    (tree.folder / "etc" / "hccn.conf").mkdir(parents=True)
    assert ascend.read(Visit(tree)).configured is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("address_3 = 192.0.2.3\r\n\taddress_12=192.0.2.12", {3: "192.0.2.3", 12: "192.0.2.12"}),
        ("# address_0=192.0.2.1\nxaddress_0=192.0.2.1\naddress_=192.0.2.1", {}),
        ("address_0=-.-.-.-\naddress_1=192.0.2.256", {0: None, 1: None}),
        ("address_0=192.0.2.1\naddress_0=192.0.2.2", {0: "192.0.2.2"}),
        ("IPv6address_0=fd00::0:1", {0: "fd00::1"}),
        ("address_0=192.0.2.1\nIPv6address_0=fd00::1", {0: "192.0.2.1"}),
        ("address_0=\nIPv6address_0=fd00::1", {0: "fd00::1"}),
    ],
)
def test_addresses(text: str, found: dict[int, str | None]) -> None:
    assert parse_addresses(text) == found
