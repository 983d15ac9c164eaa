"""Rules about network interfaces that several hosts have. May import: agreement, network_ports, rule, report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from suites.checks.agreement import Held, grouped, outliers
from suites.checks.network.ports import RATE, Interface, evidence, gigabits, interfaces, is_physical, of_rdma, spoken
from suites.checks.readings import evidence as reading_evidence
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, broken, ok
from suites.report import Status


def _used(each: Interface) -> bool:
    """It may lead to other hosts, and is not down."""
    return spoken(each["name"]) and not each["loopback"] and each["state"] != "down" and each["carrier"] is not False


def _same(case: Case, what: str, of: Callable[[Facts, Interface], Any], fact: str) -> Iterator[Judged]:
    """Interfaces of one name on all hosts."""
    found = [
        (each["name"], Held(host, each["name"], value, evidence(facts, each, fact, None)))
        for host, facts in case.fleet.items()
        for each in interfaces(facts)
        if _used(each) and (value := of(facts, each)) is not None
    ]
    for group in grouped(found):
        yield from outliers(f"{what} of {group[0].device}", group)


def _mtu(case: Case) -> Iterator[Judged]:
    yield from _same(case, "the MTU", lambda _, each: each["mtu"], "mtu")


def _speed(case: Case) -> Iterator[Judged]:
    yield from _same(case, "the speed", _rate, "speed_bytes_per_second")


def _rate(facts: Facts, each: Interface) -> str | None:
    """Of an interface behind which there is a device: what a bond says is the sum of its members."""
    speed = None if each["name"] in of_rdma(facts, RATE) else each["speed_bytes_per_second"]
    return gigabits(speed) if speed and is_physical(each) else None


def _setting(case: Case, query: str, names: tuple[str, ...], what: str) -> Iterator[Judged]:
    """What `ethtool` says of interfaces of one name and driver. The firmware of an RDMA device is told by its rule."""
    found = []
    for host, facts in case.fleet.items():
        ports = of_rdma(facts, "firmware")
        for each in filter(_used, interfaces(facts)):
            reading = each["readings"].get(query)
            for name in names:
                if reading and name in reading["values"] and not (name == "firmware" and each["name"] in ports):
                    held = Held(host, each["name"], reading["values"][name], reading_evidence(reading, name))
                    found.append(((each["name"], each["driver"], name), held))
    for group in grouped(found):
        yield from outliers(f"{what} of {group[0].device}", group)


def _membership(case: Case) -> Iterator[Judged]:
    """Only of interfaces that are part of a bond or bridge somewhere."""
    members = {
        each["name"] for facts in case.fleet.values() for each in interfaces(facts) if each["master"] and _used(each)
    }
    found = [
        (each["name"], Held(host, each["name"], each["master"] or "nothing", evidence(facts, each, "master", None)))
        for host, facts in case.fleet.items()
        for each in interfaces(facts)
        if each["name"] in members
    ]
    for group in grouped(found):
        yield from outliers(f"what {group[0].device} is a part of", group)


def _missing(case: Case) -> Iterator[Judged]:
    """A host whose interfaces are some of another's lacks the others; where names are unlike, hosts are too. A port of
    an RDMA device is missed by the rule that counts these."""
    held = {
        host: {each["name"] for each in interfaces(facts) if is_physical(each)}
        for host, facts in case.fleet.items()
        if facts["network"]["source"]
    }
    held = {host: names for host, names in held.items() if names}
    if len(held) < 2:
        return
    fullest = max(held, key=lambda host: len(held[host]))
    for host, names in held.items():
        counted = (case.fleet[host].get("rdma") or {}).get("devices") is not None
        elsewhere = of_rdma(case.fleet[fullest]) if counted else set()
        for name in sorted(held[fullest] - names - elsewhere) if names <= held[fullest] else ():
            found = {"command": "ip link", "value": sorted(names), "threshold": sorted(held[fullest])}
            yield broken(f"there is no {name} here, and there is one on {fullest}", found, name, host=host)
        if names == held[fullest]:
            yield ok(host=host)


def _duplicates(case: Case) -> Iterator[Judged]:
    """An address that two hosts have. What leads to containers has the same one everywhere, and may."""
    owners: dict[str, list[tuple[str, str]]] = {}
    for host, facts in case.fleet.items():
        for each in interfaces(facts):
            for text in each["addresses"] or () if spoken(each["name"]) and not each["loopback"] else ():
                address = text.partition("/")[0]
                if not address.startswith(("127.", "169.254.")):
                    owners.setdefault(address, []).append((host, each["name"]))
    for address, places in owners.items():
        hosts = list(dict.fromkeys(host for host, _ in places))
        if len(hosts) > 1:
            told = ", ".join(f"{host} {name}" for host, name in places[:4])
            found = {"command": "ip addr", "value": address, "threshold": "one host"}
            yield broken(f"{address} is an address of {len(hosts)} hosts: {told}", found)
        elif len(case.fleet) > 1:
            yield ok()


def _rule(name: str, judge: Callable[[Case], Iterator[Judged]], words: tuple[str, str, str], status: Status) -> Rule:
    summary, why, remedy = words
    return Rule(f"network.{name}", summary, why, remedy, status, ("network",), judge, scope=Scope.FLEET)


_SAME = "on the hosts that have something else than most"

RULES = (
    _rule(
        "mtu_differs",
        _mtu,
        (
            "interfaces of one name have the same MTU on all hosts",
            "Where the MTU of two ends differs large packets are lost or cut up, and RoCE takes the smaller one.",
            f"`ip link set INTERFACE mtu N` {_SAME}; the switch has to carry it too: `ping -M do -s 8972 ADDRESS`",
        ),
        Status.WARN,
    ),
    _rule(
        "speed_differs",
        _speed,
        (
            "interfaces of one name have the same speed on all hosts",
            "Every collective runs at the speed of the slowest link.",
            f"look {_SAME} at cable, module and switch port: `ethtool INTERFACE`",
        ),
        Status.WARN,
    ),
    _rule(
        "membership_differs",
        _membership,
        (
            "interfaces of one name are part of the same bond on all hosts",
            "A port that has left its bond carries nothing of the bond's traffic.",
            f"`cat /proc/net/bonding/BOND` {_SAME}; put the port back: `ip link set INTERFACE master BOND`",
        ),
        Status.WARN,
    ),
    _rule(
        "interface_missing",
        _missing,
        (
            "every host has the network cards that its peers have",
            "A card that has failed or lost its driver is missing without a word.",
            "`lspci | grep -i -E 'ethernet|infiniband'` there, and `dmesg` for the card's address or driver",
        ),
        Status.WARN,
    ),
    _rule(
        "address_twice",
        _duplicates,
        (
            "no two hosts have the same address",
            "Whoever speaks to that address reaches now one host and now the other.",
            "give one of them another address; behind a NAT of its own a host has to be reached by another interface",
        ),
        Status.FAIL,
    ),
    _rule(
        "fec_differs",
        partial(_setting, query="fec", names=("active",), what="the FEC"),
        (
            "interfaces of one name have the same FEC on all hosts",
            "Both ends of a link have to correct errors in the same way, or it flaps or does not come up.",
            f"`ethtool --set-fec INTERFACE encoding rs` (or what the others have) {_SAME}, and the switch port alike",
        ),
        Status.WARN,
    ),
    _rule(
        "pause_differs",
        partial(_setting, query="pause", names=("rx", "tx"), what="the flow control"),
        (
            "interfaces of one name have the same flow control on all hosts",
            "A host without flow control drops what others hold back, and with pause and PFC together they stop it.",
            f"`ethtool -A INTERFACE rx on tx on` (or off, where PFC is used: `mlnx_qos -i INTERFACE`) {_SAME}",
        ),
        Status.WARN,
    ),
    _rule(
        "firmware_differs",
        partial(_setting, query="driver", names=("firmware", "version"), what="the firmware or driver"),
        (
            "network cards have the same firmware and driver on all hosts",
            "Cards of different versions have different bugs, and negotiate differently.",
            f"bring driver and firmware to one version {_SAME}: `ethtool -i INTERFACE`, `mlxfwmanager`",
        ),
        Status.WARN,
    ),
)
