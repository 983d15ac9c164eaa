"""Rules about network interfaces, from what the kernel and the tools tell to the finding."""

from __future__ import annotations

import json
from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

NET = "/sys/class/net"
NO_CABLE = "Settings for ens3:\n\tSpeed: Unknown!\n\tDuplex: Unknown! (255)\n\tLink detected: no (No cable)\n"


def entry(name: str, **more: Any) -> dict[str, Any]:
    return {"ifname": name, "flags": ["UP", "LOWER_UP"], "operstate": "UP", "mtu": 9000, **more}


def address(text: str) -> list[dict[str, Any]]:
    return [{"family": "inet", "local": text, "prefixlen": 24}]


DOWN: dict[str, Any] = {"flags": ["NO-CARRIER", "UP"], "operstate": "DOWN"}


def of_ip(*entries: dict[str, Any], environ: dict[str, str] | None = None) -> dict[str, Any]:
    return facts_of({"ip -j addr": json.dumps(entries)}, None, environ, sections=("network", "environment"))


def of_files(commands: dict[str, str] | None = None, **files: str) -> dict[str, Any]:
    """`ens3__mtu` is the file of an interface."""
    return facts_of(
        commands, {f"{NET}/{name.replace('__', '/')}": text for name, text in files.items()}, sections=("network",)
    )


def test_an_interface_of_which_ethtool_alone_says_that_it_has_no_link() -> None:
    (finding,) = ruled("network.no_link", facts_of({"ethtool ens3": NO_CABLE}, sections=("network",)))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "h", "device": "ens3"})
    assert finding.message == "ens3 has no link: No cable"
    assert finding.evidence["line"] == "Link detected: no (No cable)"


@pytest.mark.parametrize(
    ("more", "environ", "found"),
    [
        ({}, {}, [Status.PASS]),
        ({**DOWN, "addr_info": address("192.0.2.7")}, {}, [Status.WARN]),
        ({**DOWN, "master": "bond0", "addr_info": []}, {}, [Status.WARN]),
        ({**DOWN, "addr_info": []}, {}, [Status.INFO]),
        (DOWN, {}, [Status.INFO]),
        ({**DOWN, "addr_info": []}, {"NCCL_SOCKET_IFNAME": "=ens3,ens4"}, [Status.WARN]),
        ({**DOWN, "addr_info": []}, {"NCCL_SOCKET_IFNAME": "^ens4,ens3"}, [Status.INFO]),
        ({"flags": ["BROADCAST"], "operstate": "DOWN", "addr_info": []}, {}, [Status.PASS]),
        ({**DOWN, "ifname": "docker0", "addr_info": address("172.17.0.1")}, {}, []),
    ],
)
def test_a_link_matters_where_the_interface_is_used(
    more: dict[str, Any], environ: dict[str, str], found: list[Status]
) -> None:
    assert statuses(ruled("network.no_link", of_ip(entry("ens3") | more, environ=environ))) == found


@pytest.mark.parametrize(
    ("duplex", "carrier", "found"),
    [("half", "1", [Status.WARN]), ("full", "1", [Status.PASS]), ("half", "0", []), ("unknown", "1", [])],
)
def test_half_duplex(duplex: str, carrier: str, found: list[Status]) -> None:
    assert statuses(ruled("network.half_duplex", of_files(ens3__duplex=duplex, ens3__carrier=carrier))) == found


def test_a_member_that_carries_less_than_its_bond() -> None:
    members = [entry("ens3", master="bond0", mtu=1500), entry("ens4", master="bond0")]
    (finding,) = ruled("network.bond_mtu", of_ip(*members, entry("bond0", flags=["MASTER", "UP", "LOWER_UP"])))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "ens3")
    assert finding.evidence == {"command": "ip -j addr", "value": 1500, "threshold": 9000}


def test_a_port_that_is_slower_than_its_sibling() -> None:
    settings = {
        f"ethtool ens{n}": f"Settings for ens{n}:\n\tSpeed: {n}0000Mb/s\n\tLink detected: yes\n" for n in (1, 4)
    }
    links = json.dumps([entry("ens1", master="bond0"), entry("ens4", master="bond0"), entry("ens9")])
    facts = facts_of({"ip -j link": links, **settings}, sections=("network",))
    (finding,) = ruled("network.speed_siblings", facts)
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "ens1")
    assert finding.message == "the speed of ens1 is 10 Gb/s, and 40 Gb/s elsewhere on bond0"


MEMBER = "Slave Interface: {}\nMII Status: {}\nAggregator ID: {}\n"
HEAD = "Bonding Mode: IEEE 802.3ad\nMII Status: up\n\tAggregator ID: 1\n\tPartner Mac Address: {}\n"


@pytest.mark.parametrize(
    ("partner", "states", "status", "words"),
    [
        ("02:00:5e:00:53:99", [("up", 1), ("up", 1)], Status.PASS, ""),
        ("02:00:5e:00:53:99", [("up", 1), ("down", 2)], Status.WARN, "bond0 lacks ens1: 1 of 2 members are up"),
        ("02:00:5e:00:53:99", [("up", 1), ("up", 2)], Status.WARN, "ens1 of bond0 carries nothing"),
        ("00:00:00:00:00:00", [("up", 1), ("up", 2)], Status.WARN, "does not speak LACP"),
        ("02:00:5e:00:53:99", [("down", 1), ("down", 2)], Status.FAIL, "no member of bond0 has a link"),
    ],
)
def test_bonds(partner: str, states: list[tuple[str, int]], status: Status, words: str) -> None:
    text = HEAD.format(partner) + "".join(MEMBER.format(f"ens{n}", *state) for n, state in enumerate(states))
    (finding,) = ruled("network.bond_degraded", facts_of({}, {"/proc/net/bonding/bond0": text}, sections=("network",)))
    assert finding.status is status
    assert words in finding.message


@pytest.mark.parametrize(
    ("hosts", "found"),
    [
        ("127.0.1.1 n7\n", [Status.WARN]),
        ("192.0.2.7 n7\n", [Status.PASS]),
        ("127.0.1.1 n7\n192.0.2.7 n7\n", [Status.PASS]),
        ("127.0.0.1 localhost\n", []),
    ],
)
def test_where_the_own_name_leads(hosts: str, found: list[Status]) -> None:
    files = {"/proc/sys/kernel/hostname": "n7\n", "/etc/hosts": hosts}
    assert statuses(ruled("network.own_name", facts_of({}, files, sections=("network",)))) == found


@pytest.mark.parametrize(
    ("rule", "before", "after", "found"),
    [
        ("link_changes", {"carrier_changes": "7"}, {"carrier_changes": "9"}, [Status.WARN]),
        ("link_changes", {"carrier_changes": "7"}, {"carrier_changes": "7"}, [Status.PASS]),
        ("link_changes", {"carrier_changes": "7"}, {"carrier_changes": "1"}, [Status.SKIP]),  # booted in between
        ("link_changes", {}, {"carrier_changes": "1"}, [Status.PASS]),
        ("link_changes", {"mtu": "1500"}, {"mtu": "1500"}, []),
        ("errors_grew", {"statistics/rx_crc_errors": "5"}, {"statistics/rx_crc_errors": "6"}, [Status.WARN]),
        ("errors_grew", {"statistics/rx_crc_errors": "5"}, {"statistics/rx_crc_errors": "5"}, [Status.PASS]),
        (
            "drops_grew",
            {"statistics/rx_dropped": "0", "statistics/rx_packets": "0"},
            {"statistics/rx_dropped": "10", "statistics/rx_packets": "100000"},
            [Status.PASS],
        ),
        (
            "drops_grew",
            {"statistics/rx_dropped": "0", "statistics/rx_packets": "0"},
            {"statistics/rx_dropped": "200", "statistics/rx_packets": "100000"},
            [Status.WARN],
        ),
    ],
)
def test_counters_against_an_earlier_look(
    rule: str, before: dict[str, str], after: dict[str, str], found: list[Status]
) -> None:
    then, now = (
        of_files(**{"ens3__type": "1", **{f"ens3__{k}": v for k, v in each.items()}}) for each in (before, after)
    )
    assert statuses(ruled(f"network.{rule}", now, earlier=then)) == found


def test_how_much_a_counter_grew_is_said() -> None:
    then, now = of_files(ens3__carrier_changes="7"), of_files(ens3__carrier_changes="9")
    (finding,) = ruled("network.link_changes", now, earlier=then)
    assert "came or went 2 times" in finding.message
    assert finding.evidence == {"file": f"{NET}/ens3/carrier_changes", "value": 9, "threshold": 7}


@pytest.mark.parametrize("rule", ["link_changes", "errors_grew", "drops_grew"])
def test_counters_that_were_reset_are_unknown(rule: str) -> None:
    names = ("carrier_changes", "statistics__rx_errors", "statistics__rx_dropped", "statistics__rx_packets")
    before, after = (of_files(**{f"ens3__{name}": count for name in names}) for count in ("9", "1"))
    assert statuses(ruled(f"network.{rule}", after, earlier=before)) == [Status.SKIP]


def test_a_name_that_leads_nowhere_by_nobodys_word_is_unknown() -> None:
    """As in a record that somebody edited."""
    facts = facts_of({}, {}, sections=("network",))
    facts["network"] |= {"host_name": "n7", "host_addresses": [], "name_source": None}
    assert ruled("network.own_name", facts) == []
