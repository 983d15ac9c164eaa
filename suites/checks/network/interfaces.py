"""Rules about the network interfaces of a host. May import: growth, network_ports, readings, rule, report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import groupby

from suites.checks.growth import RESET, grown
from suites.checks.network.ports import (
    Interface,
    evidence,
    gigabits,
    interfaces,
    is_physical,
    names_for_collectives,
    spoken,
)
from suites.checks.readings import evidence as reading_evidence
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.report import Status


def _no_link(case: Case) -> Iterator[Judged]:
    """A port that nobody uses needs no cable: it matters where the interface has an address, is in a bond, is named for
    collectives, or where nothing of this is known."""
    named = names_for_collectives(case.facts)
    for each in interfaces(case.facts):
        if not is_physical(each) or each["carrier"] is None:
            continue
        if each["carrier"]:
            yield ok(each["name"])
            continue
        reading = each["readings"].get("link")
        reason = (reading or {}).get("values", {}).get("reason")
        found = evidence(case.facts, each, "carrier", True)
        if reading and "link" in reading["values"]:
            found = reading_evidence(reading, "link", True)
        message = f"{each['name']} has no link" + (f": {reason}" if reason else "")
        if each["name"] in named:
            yield broken(f"{message}, and {named[each['name']]} names it", found, each["name"])
        elif each["addresses"] or each["master"] or _asked_about(case.facts, each):
            yield broken(message, found, each["name"])
        elif each["up"]:
            yield broken(f"{message}, and nothing uses it", found, each["name"], status=Status.INFO, remedy=_UNUSED)
        else:
            yield ok(each["name"])


def _asked_about(facts: Facts, each: Interface) -> bool:
    """All that was recorded is what `ethtool` said of this interface, so that somebody wanted to know."""
    return facts["network"]["source"] is None or (each["mtu"] is None and "link" in each["readings"])


def _half_duplex(case: Case) -> Iterator[Judged]:
    for each in interfaces(case.facts):
        if each["duplex"] == "half" and each["carrier"] is not False:
            message = f"{each['name']} is in half duplex: it cannot send while it receives"
            yield broken(message, evidence(case.facts, each, "duplex", "full"), each["name"])
        elif each["duplex"] == "full":
            yield ok(each["name"])


def _bond_mtu(case: Case) -> Iterator[Judged]:
    known = {each["name"]: each for each in interfaces(case.facts)}
    for each in known.values():
        above = known.get(each["master"] or "")
        if above is None or each["mtu"] is None or above["mtu"] is None or not is_physical(each):
            continue
        if each["mtu"] >= above["mtu"]:
            yield ok(each["name"])
        else:
            message = f"the MTU of {each['name']} is {each['mtu']}, and {above['mtu']} at {above['name']} above it"
            yield broken(message, evidence(case.facts, each, "mtu", above["mtu"]), each["name"])


def _unlike_siblings(case: Case, fact: str, what: str) -> Iterator[Judged]:
    """Ports with links on one card, or in one bond, that are not alike."""
    for place, group in _siblings(case, fact):
        most = max(each[fact] for each in group)
        if all(each[fact] == most for each in group):
            yield ok(place)
            continue
        for each in group:
            if each[fact] < most:
                message = f"{what} of {each['name']} is {_shown(fact, each[fact])}, and {_shown(fact, most)} elsewhere"
                yield broken(f"{message} on {place}", evidence(case.facts, each, fact, most), each["name"])


def _shown(fact: str, value: int) -> str:
    return gigabits(value) if fact == "speed_bytes_per_second" else str(value)


def _siblings(case: Case, fact: str) -> Iterator[tuple[str, list[Interface]]]:
    """(where, those of which the fact is known)."""
    able = [
        each for each in interfaces(case.facts) if is_physical(each) and each["carrier"] is not False and each[fact]
    ]
    for where in (_card, _bond):
        held = sorted((each for each in able if where(each)), key=where)
        for place, group in groupby(held, key=where):
            members = list(group)
            if len(members) > 1:
                yield place, members


def _card(each: Interface) -> str:
    return f"the card at {each['pci_slot'].rpartition('.')[0]}" if each["pci_slot"] else ""


def _bond(each: Interface) -> str:
    return str(each["master"] or "")


def _bond_degraded(case: Case) -> Iterator[Judged]:
    for bond in case.facts["network"]["bonds"]:
        name, members = bond["name"], bond["members"]
        down = [member["name"] for member in members if member["state"] not in ("up", None)]
        apart = [
            member["name"] for member in members
            if None not in (bond["aggregator"], member["aggregator"]) and member["aggregator"] != bond["aggregator"]
        ]  # fmt: skip
        found = {"file": f"/proc/net/bonding/{name}", "threshold": "all members up, in one aggregator"}
        if down and len(down) == len(members):
            yield broken(f"no member of {name} has a link", {**found, "value": down}, name, status=Status.FAIL)
        elif down:
            message = f"{name} lacks {', '.join(down)}: {len(members) - len(down)} of {len(members)} members are up"
            yield broken(message, {**found, "value": down}, name)
        elif bond["partner"] is False:
            yield broken(f"the switch does not speak LACP with {name}", {**found, "value": "no partner"}, name)
        elif apart:
            message = f"{', '.join(apart)} of {name} carries nothing: it is in another LACP aggregator"
            yield broken(message, {**found, "value": apart}, name)
        else:
            yield ok(name)


def _own_name(case: Case) -> Iterator[Judged]:
    network = case.facts["network"]
    name, addresses, source = network["host_name"], network["host_addresses"], network["name_source"]
    if name is None or addresses is None or source is None:
        return
    found = {"file" if source.startswith("/") else "command": source, "value": addresses}
    if not addresses:
        yield broken(f"nothing knows the host's own name {name}", found, status=Status.FAIL)
    elif all(address.startswith("127.") or address == "::1" for address in addresses):
        yield broken(f"the host's own name {name} leads to {addresses[0]}, where no other host gets", found)
    else:
        yield ok()


def _grew(case: Case, names: tuple[str, ...]) -> Iterator[tuple[Interface, dict[str, int] | None, Mapping[str, int]]]:
    """(interface, how much each counter grew or None where they were reset, the counters of before) of interfaces that
    were there before."""
    before = {each["name"]: each["counters"] for each in interfaces(case.earlier)}
    for each in interfaces(case.facts):
        old, new = before.get(each["name"]), each["counters"]
        if old is None or not spoken(each["name"]):
            continue
        found = grown({name: old[name] for name in names if name in old}, new)
        yield each, None if found is None else {name: now - then for name, (then, now) in found.items()}, old


def _flapped(case: Case) -> Iterator[Judged]:
    for each, more, old in _grew(case, ("carrier_changes",)):
        if more is None:
            yield unknown(RESET, device=each["name"])
        elif changes := more.get("carrier_changes", 0):
            message = f"the link of {each['name']} came or went {changes} times since the earlier look"
            found = evidence(case.facts, each, "carrier_changes", old["carrier_changes"])
            yield broken(message, {**found, "value": each["counters"]["carrier_changes"]}, each["name"])
        elif "carrier_changes" in each["counters"]:
            yield ok(each["name"])


_ERRORS = (
    "rx_errors", "tx_errors", "rx_crc_errors", "rx_frame_errors", "rx_fifo_errors", "rx_missed_errors",
    "rx_over_errors", "tx_carrier_errors", "tx_fifo_errors",
)  # fmt: skip


def _errors(case: Case) -> Iterator[Judged]:
    for each, more, _ in _grew(case, _ERRORS):
        if more is None:
            yield unknown(RESET, device=each["name"])
        elif more:
            told = ", ".join(f"{name} by {count}" for name, count in more.items())
            found = evidence(case.facts, each, f"statistics/{next(iter(more))}", 0)
            message = f"errors of {each['name']} grew since the earlier look: {told}"
            yield broken(message, {**found, "value": more}, each["name"])
        elif any(name in each["counters"] for name in _ERRORS):
            yield ok(each["name"])


def _drops(case: Case) -> Iterator[Judged]:
    """A few are normal: what nobody here listens to is dropped too."""
    for each, more, _ in _grew(case, ("rx_dropped", "tx_dropped", "rx_packets", "tx_packets")):
        if more is None:
            yield unknown(RESET, device=each["name"])
            continue
        drops = more.get("rx_dropped", 0) + more.get("tx_dropped", 0)
        share = drops / max(1, drops + more.get("rx_packets", 0) + more.get("tx_packets", 0))
        if share > case.limits["most"]:
            message = f"{each['name']} dropped {share:.2%} of its packets since the earlier look"
            found = evidence(case.facts, each, "statistics/rx_dropped", case.limits["most"])
            yield broken(message, {**found, "value": drops}, each["name"])
        elif "rx_dropped" in each["counters"]:
            yield ok(each["name"])


_UNUSED = "nothing, if this port is not meant to be used; `ip link set INTERFACE down` makes that plain"
_CABLE = "look at the cable and the module (`ethtool -m INTERFACE`) and at the switch port (`ethtool INTERFACE`)"

RULES = (
    Rule(
        name="network.no_link",
        summary="interfaces that are used have a link",
        why="An interface with an address and no link is a way that leads nowhere: whoever chooses it waits until a "
        "timeout.",
        remedy=f"{_CABLE}: a port may be shut or errdisabled there; or take the interface down and its address away",
        status=Status.WARN,
        needs=("network",),
        judge=_no_link,
    ),
    Rule(
        name="network.half_duplex",
        summary="no interface is in half duplex",
        why="It comes of a failed negotiation of speeds and brings collisions and a small part of the bandwidth.",
        remedy="set both ends to negotiate: `ethtool -s INTERFACE autoneg on`, and the switch port alike",
        status=Status.WARN,
        needs=("network",),
        judge=_half_duplex,
    ),
    Rule(
        name="network.bond_mtu",
        summary="members of a bond or bridge carry what it may send",
        why="Frames larger than a member's MTU are lost on the way through it, and only those.",
        remedy="`ip link set INTERFACE mtu N` with that of the bond, and for good in the network's configuration",
        status=Status.WARN,
        needs=("network",),
        judge=_bond_mtu,
    ),
    Rule(
        name="network.speed_siblings",
        summary="ports of one card or bond run at one speed",
        why="A port that has come up slower than its sibling has a bad cable or module, or a wrong switch setting.",
        remedy=f"{_CABLE}; `ethtool INTERFACE` shows what both ends offer",
        status=Status.WARN,
        needs=("network",),
        judge=partial(_unlike_siblings, fact="speed_bytes_per_second", what="the speed"),
    ),
    Rule(
        name="network.mtu_siblings",
        summary="ports of one card have one MTU",
        why="Ranks that are dealt out to several ports get different packets, and some of them less bandwidth.",
        remedy="`ip link set INTERFACE mtu N` with that of the others, if they are in one network",
        status=Status.INFO,
        needs=("network",),
        judge=partial(_unlike_siblings, fact="mtu", what="the MTU"),
    ),
    Rule(
        name="network.bond_degraded",
        summary="all members of bonds carry traffic",
        why="A bond goes on with what is left of it, so that nothing but its bandwidth shows what is missing.",
        remedy=f"{_CABLE}; /proc/net/bonding/BOND shows each member, and the switch needs one LACP group for them",
        status=Status.WARN,
        needs=("network",),
        judge=_bond_degraded,
    ),
    Rule(
        name="network.own_name",
        summary="the host's own name leads to an address that others reach",
        why="MPI, gloo and torchrun listen at the address that the host's name leads to; with 127.0.1.1, which Debian "
        "and Ubuntu write into /etc/hosts, other hosts find nobody there.",
        remedy="in /etc/hosts put the name behind the address by which other hosts reach this one, or set "
        "GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME and MPI's interface",
        status=Status.WARN,
        needs=("network",),
        judge=_own_name,
    ),
    Rule(
        name="network.link_changes",
        summary="no link has come or gone since the earlier look",
        why="Whatever was on its way over it then was lost, and RDMA connections may have ended.",
        remedy=f"{_CABLE}; `dmesg | grep INTERFACE` says when",
        status=Status.WARN,
        needs=("network",),
        judge=_flapped,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="network.errors_grew",
        summary="no interface has had errors since the earlier look",
        why="Every lost frame costs TCP a retransmission, and RoCE far more.",
        remedy=f"{_CABLE}: CRC errors come of cables and modules, missed and fifo errors of too small rings "
        "(`ethtool -g INTERFACE`) or busy CPUs",
        status=Status.WARN,
        needs=("network",),
        judge=_errors,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="network.drops_grew",
        summary="hardly any packet was dropped since the earlier look",
        why="Dropped packets are sent again, and each of them may stop a connection for 200 ms.",
        remedy="`ethtool -S INTERFACE | grep -E 'drop|discard'` says where; larger rings by `ethtool -G`, more queues, "
        "flow control (PFC) on a RoCE network",
        status=Status.WARN,
        needs=("network",),
        judge=_drops,
        thresholds={"most": Threshold(0.001, "of packets", "our own: TCP's throughput falls visibly from about there")},
        scope=Scope.SNAPSHOTS,
    ),
)  # fmt: skip
