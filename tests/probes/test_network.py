"""Interfaces from sysfs and their addresses."""

from __future__ import annotations

import pytest

from probes import network
from tests.tree_host import TreeHost

NET = "/sys/class/net"
CARD = "/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.1/net/eno7"


def test_a_card(tree: TreeHost) -> None:
    tree.network = {"eno7": (("10.1.2.3", "255.255.252.0"), ("fe80::1%eno7", "ffff:ffff:ffff:ffff::"))}
    tree.write(
        {
            f"{CARD}/operstate": "up",
            f"{CARD}/speed": "200000",
            f"{CARD}/duplex": "full",
            f"{CARD}/mtu": "4200",
            f"{CARD}/type": "1",
            f"{CARD}/address": "02:00:5e:00:53:01",
            "/sys/bus/pci/devices/0000:41:00.1/numa_node": "3",
        },
        {
            f"{NET}/eno7": "../../devices/pci0000:40/0000:40:01.0/0000:41:00.1/net/eno7",
            f"{CARD}/device/driver": "../../../bus/pci/drivers/quick_nic",
        },
    )
    (found,) = network.read(tree).interfaces or ()
    assert found == network.Interface(
        name="eno7",
        state="up",
        speed_bytes_per_second=25_000_000_000,
        duplex="full",
        mtu=4200,
        driver="quick_nic",
        pci_slot="0000:41:00.1",
        numa_node=3,
        virtual=False,
        loopback=False,
        addresses=("10.1.2.3/22",),
    )
    assert "5e:00:53" not in repr(found)


def test_loopback_is_virtual_and_has_no_speed(tree: TreeHost) -> None:
    place = "/sys/devices/virtual/net/lo"
    tree.network = {}
    tree.write(
        {
            f"{place}/type": "772",
            f"{place}/operstate": "unknown",
            f"{place}/duplex": "unknown",
            f"{NET}/bonding_masters": "",
        },
        {f"{NET}/lo": "../../devices/virtual/net/lo"},
    )
    (found,) = network.read(tree).interfaces or ()
    assert (found.name, found.virtual, found.loopback, found.state) == ("lo", True, True, "unknown")
    assert (found.speed_bytes_per_second, found.duplex, found.numa_node, found.addresses) == (None, None, None, ())


def test_without_sysfs_the_addresses_still_name_the_interfaces(tree: TreeHost) -> None:
    tree.network = {"b0": (), "a0": (("10.0.0.1", None),)}
    found = network.read(tree).interfaces or ()
    assert [(each.name, each.addresses, each.virtual) for each in found] == [
        ("a0", ("10.0.0.1",), None),
        ("b0", (), None),
    ]


def test_unknown_without_anything(tree: TreeHost) -> None:
    assert network.read(tree) == network.NetworkFacts(None)


@pytest.mark.parametrize(
    ("text", "rate"), [("100000\n", 12_500_000_000), ("-1", None), ("0", None), ("4294967295", None), ("fast", None)]
)
def test_speed(text: str, rate: int | None) -> None:
    assert network.parse_speed(text) == rate


@pytest.mark.parametrize(
    ("driver", "virtual", "rate"),
    [
        ("mlx5_core", False, 25),
        (None, False, 25),
        ("virtio_net", False, None),
        ("vmxnet3", False, None),
        (None, True, None),  # a veth, a bridge, a bond
        ("mlx5_core", None, None),  # no sysfs to tell
    ],
)
def test_a_speed_is_a_rate_only_where_a_device_with_a_wire_says_it(
    driver: str | None, virtual: bool | None, rate: int | None
) -> None:
    assert network.link_rate(25, driver, virtual) == rate
    assert network.link_rate(None, driver, virtual) is None


@pytest.mark.parametrize(
    ("text", "mask", "shown"),
    [
        ("10.0.0.5", "255.255.255.0", "10.0.0.5/24"),
        ("2001:db8::5", "ffff:ffff:ffff:ffff::", "2001:db8::5/64"),
        ("fe80::aa:bbff:fecc:1%eth0", "ffff:ffff:ffff:ffff::", None),  # made of the hardware address
        ("2001:db8::7%eth0", None, "2001:db8::7"),
        ("169.254.3.4", "255.255.0.0", "169.254.3.4/16"),
        ("02:00:5e:00:53:01", None, None),
    ],
)
def test_address(text: str, mask: str | None, shown: str | None) -> None:
    assert network.address(text, mask) == shown


def test_a_numa_node_of_minus_one_is_unknown(tree: TreeHost) -> None:
    tree.network = {}
    tree.write({f"{NET}/eth5/device/numa_node": "-1", f"{NET}/eth6/device/numa_node": "0"})
    assert [each.numa_node for each in network.read(tree).interfaces or ()] == [None, 0]
