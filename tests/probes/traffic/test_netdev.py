"""What interfaces have carried, by sysfs and by /proc."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.traffic import Sighting
from probes.traffic.netdev import Interfaces, parse_protocols, parse_table
from tests.probes.traffic.ticking import ticking
from tests.tree_host import TreeHost

NET = "/sys/class/net"
CARD = "/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.1/net/eno7"
TABLE = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compr
    lo: 5000      50    0    0    0     0          0         0     5000      50    0    0    0     0       0          0
 eno7:7000000000   70    1    2    0     0          0         0     9000      90    3    4    0     0       0          0
"""
PROTOCOLS = """\
Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RtoMin MaxConn InSegs OutSegs RetransSegs InErrs OutRsts
Tcp: 1 200 -1 1000 2000 30 4 5
Udp: InDatagrams NoPorts
Udp: 7 8
"""


def by_link(sightings: tuple[Sighting, ...]) -> Mapping[str, Sighting]:
    return {sighting.link: sighting for sighting in sightings}


LINKS = {
    f"{NET}/eno7": "../../devices/pci0000:40/0000:40:01.0/0000:41:00.1/net/eno7",
    f"{CARD}/device/driver": "../../../bus/pci/drivers/quick_nic",
}
ENO7 = Sighting(
    link="eno7",
    kind="nic",
    time=1.0,
    source="/proc/net/dev",
    traffic={"rx_bytes": 7_000_000_000, "tx_bytes": 9000, "rx_packets": 70, "tx_packets": 90},
    errors={"rx_errors": 1, "tx_errors": 3, "carrier_changes": 3},
    drops={"rx_dropped": 2, "tx_dropped": 4},
    limit=25e9,
    incarnation=7,
)


def test_a_card(tree: TreeHost) -> None:
    tree.write({"/proc/net/dev": TABLE, f"{CARD}/ifindex": "7", f"{CARD}/carrier_changes": "3"}, LINKS)
    tree.write({f"{CARD}/speed": "200000"})
    found = by_link(Interfaces(tree, ticking()).look().sightings)
    assert set(found) == {"lo", "eno7"}
    assert found["eno7"] == ENO7
    assert (found["lo"].time, found["lo"].errors, found["lo"].limit) == (1.0, {"rx_errors": 0, "tx_errors": 0}, None)


def test_without_the_table_each_interface_is_read_at_its_own_time(tree: TreeHost) -> None:
    counters = {
        "rx_bytes": "7000000000", "tx_bytes": "9000", "rx_packets": "70", "tx_packets": "90", "rx_errors": "1",
        "tx_errors": "3", "rx_dropped": "2", "tx_dropped": "4",
    }  # fmt: skip
    tree.write({f"{CARD}/statistics/{name}": value for name, value in counters.items()}, LINKS)
    tree.write({f"{CARD}/speed": "200000", f"{CARD}/ifindex": "7", f"{CARD}/carrier_changes": "3"})
    tree.write({f"{NET}/bonding_masters": "", f"{NET}/a0/statistics/rx_bytes": "1"})
    first, second = Interfaces(tree, ticking()).look().sightings
    assert first.link == "a0"
    assert replace(second, time=1.0) == replace(ENO7, source=f"{NET}/eno7/statistics")
    assert second.time > first.time


def test_the_rate_is_asked_again_when_the_carrier_has_changed(tree: TreeHost) -> None:
    place = "/sys/devices/pci0000:40/net/e0"
    tree.write(
        {f"{place}/statistics/rx_bytes": "1", f"{place}/carrier_changes": "1", f"{place}/speed": "10000"},
        {f"{NET}/e0": "../../devices/pci0000:40/net/e0"},
    )
    interfaces = Interfaces(tree, ticking())

    def limit() -> float | None:
        return interfaces.look().sightings[0].limit

    assert limit() == 1.25e9
    tree.write({f"{place}/speed": "1000"})
    assert limit() == 1.25e9
    tree.write({f"{place}/carrier_changes": "2"})
    assert limit() == 0.125e9


def test_what_is_virtual_has_no_rate(tree: TreeHost) -> None:
    place = "/sys/devices/virtual/net/veth1"
    tree.write({f"{place}/statistics/rx_bytes": "1", f"{place}/speed": "10000"})
    tree.write({}, {f"{NET}/veth1": "../../devices/virtual/net/veth1"})
    assert Interfaces(tree, ticking()).look().sightings[0].limit is None


def test_what_tcp_had_to_send_again(tree: TreeHost) -> None:
    tree.write({"/proc/net/snmp": PROTOCOLS})
    (found,) = Interfaces(tree, ticking()).look().sightings
    assert (found.link, found.kind, found.retransmits, found.errors) == (
        "tcp",
        "tcp",
        {"RetransSegs": 30},
        {"InErrs": 4},
    )
    assert found.traffic == {"rx_packets": 1000, "tx_packets": 2000}


def test_nothing_to_see(tree: TreeHost) -> None:
    assert Interfaces(tree, ticking()).look().sightings == ()


@pytest.mark.parametrize("text", ["-1", "", "many", "18446744073709551616", "²", "1" * 5000])
def test_what_is_no_counter_is_not_there(tree: TreeHost, text: str) -> None:
    tree.write({f"{NET}/e0/statistics/rx_bytes": text, f"{NET}/e0/statistics/tx_bytes": "18446744073709551615"})
    (found,) = Interfaces(tree, ticking()).look().sightings
    assert found.traffic == {"tx_bytes": (1 << 64) - 1}


@given(st.text() | st.integers(0, len(TABLE)).map(lambda end: TABLE[:end]))
def test_the_table_never_raises(text: str) -> None:
    for counters in parse_table(text).values():
        assert all(value >= 0 for value in counters.values())


@given(st.text() | st.integers(0, len(PROTOCOLS)).map(lambda end: PROTOCOLS[:end]))
def test_the_protocols_never_raise(text: str) -> None:
    for counters in parse_protocols(text).values():
        assert all(value >= 0 for value in counters.values())
