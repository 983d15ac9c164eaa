"""Interfaces from sysfs and their addresses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import network
from probes.host import Answer
from probes.network import bonding, ethtool, iproute, naming, sysfs
from probes.reading import State
from probes.recorded import open_recorded
from probes.recorded.texthost import TextHost
from probes.visit import Visit
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
            f"{CARD}/flags": "0x1803",
            f"{CARD}/carrier": "1",
            f"{CARD}/carrier_changes": "5",
            f"{CARD}/statistics/rx_errors": "7",
            f"{CARD}/statistics/collisions": "0",
            "/sys/bus/pci/devices/0000:41:00.1/numa_node": "3",
        },
        {
            f"{NET}/eno7": "../../devices/pci0000:40/0000:40:01.0/0000:41:00.1/net/eno7",
            f"{CARD}/device/driver": "../../../bus/pci/drivers/quick_nic",
            f"{CARD}/master": "../../../../../virtual/net/bond0",
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
        up=True,
        carrier=True,
        master="bond0",
        counters={"carrier_changes": 5, "rx_errors": 7},
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


LINK = """\
Settings for eno7:
	Supported ports: [ FIBRE ]
	Supported link modes:   25000baseCR/Full
	Speed: 100000Mb/s
	Duplex: Full
	Auto-negotiation: on
	Port: FIBRE
	Link detected: yes
"""
NO_LINK = LINK.replace("100000Mb/s", "Unknown!").replace(": Full", ": Unknown! (255)").replace(
    "detected: yes", "detected: no (Autoneg, No partner detected)"
)  # fmt: skip


def test_what_ethtool_adds(tree: TreeHost) -> None:
    tree.network = {}
    tree.write({f"{CARD}/operstate": "up"}, {f"{NET}/eno7": CARD.replace("/sys", "../..", 1)})
    tree.tools = {
        "ethtool eno7": LINK,
        "ethtool -i eno7": "driver: quick_nic\nversion: 5.1\nfirmware-version: 9.41.1 (MT_1)\nbus-info: 0000:41:00.1\n",
        "ethtool --show-fec eno7": "FEC parameters for eno7:\nConfigured FEC encodings: Auto\nActive FEC encoding: RS",
        "ethtool -a eno7": "Pause parameters for eno7:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n",
    }
    (found,) = network.read(Visit(tree)).interfaces or ()
    assert (found.speed_bytes_per_second, found.duplex, found.carrier) == (12_500_000_000, "full", True)
    assert found.driver == "quick_nic"
    assert found.readings["driver"].values == {"driver": "quick_nic", "version": "5.1", "firmware": "9.41.1 (MT_1)"}
    assert found.readings["fec"].values == {"configured": "Auto", "active": "RS"}
    assert found.readings["pause"].values == {"autonegotiate": False, "rx": True, "tx": False}


def test_tools_are_asked_neither_of_a_plain_host_nor_about_virtual_interfaces(tree: TreeHost) -> None:
    tree.network = {}
    tree.write({"/sys/devices/virtual/net/veth1/mtu": "1500"}, {f"{NET}/veth1": "../../devices/virtual/net/veth1"})
    asked: list[str] = []
    assert (network.read(Visit(tree, tell=asked.append)).interfaces or ())[0].mtu == 1500
    assert asked == []
    tree.tools = {"ethtool eno7": LINK}
    assert network.read(tree).interfaces != ()


def test_ethtool_alone_names_an_interface() -> None:
    facts = network.read(Visit(TextHost({}, {"ethtool eno7": Answer(0, NO_LINK, "")})))
    (found,) = facts.interfaces or ()
    assert (found.name, found.carrier, found.speed_bytes_per_second, facts.source) == ("eno7", False, None, None)
    assert found.readings["link"].values["reason"] == "Autoneg, No partner detected"
    assert found.readings["link"].lines["link"] == "Link detected: no (Autoneg, No partner detected)"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("\tLink detected: no\n", {"link": False}),
        ("  Link detected: no (No cable)\r\n", {"link": False, "reason": "No cable"}),
        ("\tSpeed: 10Mb/s\n\tDuplex: Half\n", {"speed_bytes_per_second": 1_250_000, "duplex": "half"}),
        ("\tSpeed: 4294967295Mb/s\n", {}),
        ("netlink error: No such device\n", {}),
    ],
)
def test_parse_link(text: str, values: dict[str, Any]) -> None:
    assert ethtool.parse_link(text).values == values


def test_what_ethtool_says_of_several_interfaces_may_stand_in_one_file(tmp_path: Path) -> None:
    fec = "FEC parameters for ens9:\nActive FEC encoding: RS\n"
    (tmp_path / "ethtool_all.txt").write_text(LINK + NO_LINK.replace("eno7", "ens9") + fec)
    (recorded,) = open_recorded(tmp_path)
    first, second = network.read(Visit(recorded.host)).interfaces or ()
    assert [(each.name, each.carrier) for each in (first, second)] == [("eno7", True), ("ens9", False)]
    assert (list(first.readings), list(second.readings)) == (["link"], ["link", "fec"])


def test_an_interface_that_ethtool_does_not_know(tree: TreeHost) -> None:
    tree.tools = {"ethtool eno7": Answer(75, "", "netlink error: No such device\n")}
    assert Visit(tree).ask(ethtool.TOOL, ethtool.QUERIES[0], interface="eno7").state is State.ABSENT


IP = [
    {
        "ifname": "lo", "flags": ["LOOPBACK", "UP", "LOWER_UP"], "mtu": 65536, "operstate": "UNKNOWN",
        "link_type": "loopback", "address": "00:00:00:00:00:00",
    },
    {
        "ifname": "ens3", "flags": ["BROADCAST", "SLAVE", "UP", "LOWER_UP"], "mtu": 9000, "master": "bond0",
        "operstate": "UP", "link_type": "ether", "address": "02:00:5e:00:53:01",
        "addr_info": [
            {"family": "inet", "local": "192.0.2.7", "prefixlen": 24},
            {"family": "inet6", "local": "fe80::1", "prefixlen": 64},
        ],
    },
    {"ifname": "ens4", "flags": ["NO-CARRIER", "BROADCAST", "UP"], "mtu": 1500, "operstate": "DOWN"},
    {"ifname": "ens5", "flags": ["BROADCAST", "UP", "LOWER_UP"], "mtu": 1500, "operstate": "DOWN"},
    {"ifname": "bond0", "flags": ["MASTER", "UP", "LOWER_UP"], "mtu": 9000, "operstate": "UP"},
    {},
]  # fmt: skip


@pytest.mark.parametrize("command", ["ip -j addr", "ip -j link", "ip -j addr show", "/sbin/ip -json link"])
def test_ip_alone(command: str) -> None:
    facts = network.read(Visit(TextHost({}, {command: Answer(0, json.dumps(IP), "")})))
    found = {each.name: each for each in facts.interfaces or ()}
    assert list(found) == ["lo", "ens3", "ens4", "ens5", "bond0"]
    assert found["lo"].loopback is True
    ens3 = found["ens3"]
    assert (ens3.state, ens3.mtu, ens3.master, ens3.up, ens3.carrier) == ("up", 9000, "bond0", True, True)
    assert ens3.addresses == ("192.0.2.7/24",)
    assert [found[name].carrier for name in ("ens4", "ens5", "bond0")] == [False, False, True]
    assert (found["ens4"].addresses, found["bond0"].virtual, ens3.virtual) == (None, True, None)
    assert "5e:00:53" not in repr(facts)


def test_what_is_cut_off_keeps_what_is_whole() -> None:
    text = json.dumps(IP)
    assert list(iproute.parse(text[: text.index("ens5")]).values) == ["lo", "ens3", "ens4"]


BOND = """\
Ethernet Channel Bonding Driver: v9.1

Bonding Mode: IEEE 802.3ad Dynamic link aggregation
MII Status: up
802.3ad info
Active Aggregator Info:
	Aggregator ID: 1
	Number of ports: 1
	Partner Mac Address: 02:00:5e:00:53:99

Slave Interface: ens3
MII Status: up
Speed: 25000 Mbps
Duplex: full
Link Failure Count: 4
Permanent HW addr: 02:00:5e:00:53:01
Aggregator ID: 1

Slave Interface: ens4
MII Status: down
Speed: Unknown
Link Failure Count: 1
Aggregator ID: 2
"""


def test_a_bond_and_its_members(tree: TreeHost) -> None:
    (found,) = bonding.bonds(tree.write({"/proc/net/bonding/bond7": BOND}))
    assert (found.name, found.state, found.aggregator, found.partner) == ("bond7", "up", 1, True)
    assert found.mode == "IEEE 802.3ad Dynamic link aggregation"
    assert found.members == (
        bonding.BondMember("ens3", "up", 3_125_000_000, 1, 4),
        bonding.BondMember("ens4", "down", None, 2, 1),
    )


def test_a_switch_that_does_not_speak_lacp() -> None:
    assert bonding.parse("b", BOND.replace("02:00:5e:00:53:99", "00:00:00:00:00:00")).partner is False
    assert bonding.parse("b", "Bonding Mode: fault-tolerance (active-backup)\n").partner is None


GETENT = "getent ahosts n7"


@pytest.mark.parametrize(
    ("tools", "hosts", "addresses", "source"),
    [
        ({GETENT: "192.0.2.7      STREAM n7\n192.0.2.7      DGRAM\n"}, "", ("192.0.2.7",), GETENT),
        ({GETENT: Answer(2, "", "")}, "192.0.2.1 n7", (), GETENT),
        ({}, "127.0.0.1 localhost\n127.0.1.1\tn7.example n7 # old\n", ("127.0.1.1",), "/etc/hosts"),
        ({}, "127.0.0.1 localhost\n192.0.2.7 n77\n", None, None),
    ],
)
def test_where_the_hosts_own_name_leads(
    tree: TreeHost, tools: dict[str, str | Answer], hosts: str, addresses: tuple[str, ...] | None, source: str | None
) -> None:
    tree.tools = tools
    tree.write({"/proc/sys/kernel/hostname": "n7", "/etc/hosts": hosts})
    told = naming.read(tree, Visit(tree))
    assert (told.name, told.addresses, told.source) == ("n7", addresses, source)


def test_how_tools_answered_is_kept_without_what_they_told(tree: TreeHost) -> None:
    tree.tools = {GETENT: Answer(None, "192.0.2.7 STREAM n7\n", ""), "ip -j addr": json.dumps(IP)}
    tree.write({"/proc/sys/kernel/hostname": "n7"})
    readings = network.read(Visit(tree)).readings
    assert {name: (reading.source, reading.state) for name, reading in readings.items()} == {
        "interfaces": ("ip -j addr", State.TOLD),
        "host_name": (GETENT, State.LATE),
    }
    assert not any(reading.values or reading.lines for reading in readings.values())


def test_a_name_that_is_none_is_not_asked_for(tree: TreeHost) -> None:
    tree.write({"/proc/sys/kernel/hostname": "-x; reboot"})
    asked: list[str] = []
    naming.read(tree, Visit(tree, tell=asked.append))
    assert asked == []


@pytest.mark.parametrize(
    ("text", "up"), [("0x1003\n", True), ("0x1002", False), ("", None), (None, None), ("up", None)]
)
def test_whether_it_is_set_up(text: str | None, up: bool | None) -> None:
    assert sysfs.parse_set_up(text) is up


@given(st.text(), st.integers(0, 400))
def test_no_text_makes_a_parser_raise(text: str, cut: int) -> None:
    samples = (LINK, BOND, json.dumps(IP), "192.0.2.7 STREAM n7\n")
    for each in (text, *(sample[:cut] + text + sample[cut:] for sample in samples)):
        for query in ethtool.QUERIES:
            query.parse(each)
        bonding.parse("b", each)
        naming.parse_addresses(each)
        naming.parse_hosts(each, "n7")
        network.read(Visit(TextHost({}, {"ip -j addr": Answer(0, each, "")})))
