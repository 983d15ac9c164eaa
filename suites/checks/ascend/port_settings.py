"""Rules about how the ports of Ascend NPUs are set, which both ends of a connection must agree on.

May import: agreement, ascend_peers, readings, rule, report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from suites.checks.agreement import Held, grouped, outliers
from suites.checks.ascend.peers import alike, held
from suites.checks.readings import evidence, of_devices, untold, value
from suites.checks.rule import Case, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status


def _speed_unknown(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "speed"):
        link = device["readings"].get("link")
        if reading is None:
            yield untold(device, "speed", name)
        elif not value(reading, "unknown"):
            yield ok(name)
        elif link is None or value(link, "status") != "DOWN":
            yield broken(f"the speed of {name}'s port is unknown", evidence(reading, "unknown"), name)


def _duplex(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "duplex", "duplex"):
        if reading is None:
            yield untold(device, "duplex", name)
        elif value(reading, "duplex") == "Half":
            yield broken(f"the port of {name} is half duplex", evidence(reading, "duplex"), name)
        else:
            yield ok(name)


def _fec_off(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "fec", "mode"):
        speed = device["readings"].get("speed")
        slow = speed is not None and (value(speed, "mbps") or case.limits["least"]) < case.limits["least"]
        if reading is None:
            yield untold(device, "fec", name)
        elif value(reading, "mode") == "no" and not slow:
            shown = evidence(reading, "mode", "rs", "IEEE 802.3: ports of 100 Gb/s and more over optics need RS-FEC")
            yield broken(f"the port of {name} runs without error correction", shown, name)
        else:
            yield ok(name)


def _tls(case: Case) -> Iterator[Judged]:
    found: dict[tuple[str, str], Held] = {}
    for host, facts in case.fleet.items():
        for name, device, reading in of_devices(facts, "ascend", "tls", "switches"):
            if reading is None:
                yield untold(device, "tls", name)
                continue
            for id_, switch in value(reading, "switches").items():
                shown = {"command": reading["source"], "line": reading["lines"].get(f"switch {id_}")}
                found.setdefault((host, id_), Held(host, f"npu{id_}", "on" if switch else "off", shown))
    yield from outliers("encryption (TLS)", list(found.values()))


def _certificates(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "tls"):
        if reading is None:
            yield untold(device, "tls", name)
            continue
        known = value(reading, "certificates") or []
        if fault := value(reading, "fault"):
            yield broken(f"{name}: {fault}", evidence(reading, "fault"), name)
        elif known and all(one["state"] == "normal" for one in known):
            yield ok(name)
        for one in known:
            if one["state"] != "normal":
                yield _certificate(name, one, reading["source"], reading["lines"], bool(value(reading, "switch")))


def _certificate(name: str, one: dict[str, str], source: str, lines: dict[str, str], used: bool) -> Judged:
    shown = {
        "command": source,
        "value": one["state"],
        "ends": one["ends"],
        "line": lines.get(f"certificate {one['name']}"),
    }
    over = one["state"] == "expired"
    ends = f" ({one['ends']})" if one["ends"] else ""
    what = f"the {one['name']} of {name} {'has expired' if over else 'is about to expire'}{ends}"
    message = what if used else f"{what}; TLS is off, so that it is not used now"
    return broken(message, shown, name, status=Status.FAIL if over and used else Status.WARN)


def _switch_ports(case: Case) -> Iterator[Judged]:
    """The name of the switch's port without its number on the card, as 400GE1/2/*:1, is that of a rail."""
    found, silent = held(case, "lldp", "port")
    keyed = []
    for one in found:
        pattern = _PORT_NUMBER.sub(r"/*\1", str(one.value))
        keyed.append((one.device, Held(one.host, one.device, pattern, {**one.evidence, "port": one.value})))
    for group in grouped(keyed):
        yield from outliers(f"the kind of switch port of {group[0].device}", group)
    yield from silent


_PORT_NUMBER = re.compile(r"/[0-9]{1,4}(:[0-9]{1,2})?$")


def _rails(case: Case) -> Iterator[Judged]:
    """A port on the switch where another one of most hosts is, on a host whose other ports are where most are: two
    cables are swapped. Hosts elsewhere in the fabric are on other switches, and on none of these."""
    found, silent = held(case, "lldp", "switch")
    usual: dict[str | None, str] = {}
    for group in grouped((one.device, one) for one in found):
        switch, times = Counter(str(one.value) for one in group).most_common(1)[0]
        if times >= _HOSTS - 1 and 2 * times > len(group) >= _HOSTS:
            usual[group[0].device] = switch
    for on_host in grouped((one.host, one) for one in found if one.device in usual):
        right = sum(one.value == usual[one.device] for one in on_host)
        for one in on_host:
            owner = next((device for device, switch in usual.items() if switch == one.value), None)
            if one.value == usual[one.device]:
                yield ok(one.device, one.host)
            elif owner and 2 * right >= len(on_host):
                message = f"{one.device} is on switch {one.value}, where {owner} of most hosts is, and not on "
                shown = {**one.evidence, "value": one.value, "threshold": usual[one.device], "source": "most hosts"}
                yield broken(message + usual[one.device], shown, one.device, host=one.host)
    yield from silent


_HOSTS = 3


def _shaped(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "shaping", "bw_limit", "bw_max"):
        if reading is None:
            yield untold(device, "shaping", name)
        elif 0 < value(reading, "bw_limit") < value(reading, "bw_max"):
            limit, most = value(reading, "bw_limit"), value(reading, "bw_max")
            message = f"the port of {name} is limited to {limit} of {most} Mb/s"
            yield broken(message, evidence(reading, "bw_limit", most), name)
        else:
            yield ok(name)


def _downgraded(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "auto_downgrade", "status"):
        if reading is None:
            yield untold(device, "auto_downgrade", name)
            continue
        shown = evidence(reading, "status", "not downgrade")
        match value(reading, "status"):
            case "not downgrade":
                yield ok(name)
            case "downgrade success":
                yield broken(f"the port of {name} runs with fewer lanes, as some failed", shown, name)
            case status:
                yield broken(f"lanes of {name}'s port failed: {status}", shown, name)


_NEEDS = ("accelerators",)
RULES = (
    Rule(
        name="ascend.speed_unknown",
        summary="ports that have a link know its speed",
        why="A port that does not know its speed has no link, has not finished training, or does not know its module.",
        remedy="look at `hccn_tool -i N -optical -g` and -link_stat; reseat the module, or set the port down and up: "
        "hccn_tool -i N -link -s down, then up",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_speed_unknown,
    ),
    Rule(
        name="ascend.speed_differs",
        summary="the ports of all NPUs have the same speed",
        why="A collective is as slow as its slowest port.",
        remedy="check the switch port's speed, the module's type and the cable of the slow one; `hccn_tool -i N "
        "-auto_downgrade -g` says whether lanes failed",
        status=Status.WARN,
        needs=_NEEDS,
        judge=alike("speed", "mbps", "the speed of a port", " Mb/s"),
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.duplex_half",
        summary="no port is half duplex",
        why="Ports of these speeds know no half duplex; where one says so it was not negotiated right.",
        remedy="set the port down and up, hccn_tool -i N -link -s down, then up, and check the switch port",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_duplex,
    ),
    Rule(
        name="ascend.mtu_differs",
        summary="the ports of all NPUs have the same MTU",
        why="RoCE takes the smaller MTU of two ends, and where a switch has a smaller one packets are lost silently.",
        remedy="hccn_tool -i N -mtu -s size S with the others' size, which the switch must allow too",
        status=Status.WARN,
        needs=_NEEDS,
        judge=alike("mtu", "mtu", "the MTU of a port"),
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.fec_differs",
        summary="the ports of all NPUs correct errors in the same way",
        why="Both ends of a link need the same FEC mode: with different ones it does not come up, or has errors.",
        remedy="hccn_tool -i N -fec -s with the mode of the others, and the same mode at the switch port",
        status=Status.WARN,
        needs=_NEEDS,
        judge=alike("fec", "mode", "the FEC mode of a port"),
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.fec_off",
        summary="fast ports correct errors",
        why="At 100 Gb/s and more a link over optics has bit errors all the time, which RS-FEC is there to correct.",
        remedy="hccn_tool -i N -fec -s with mode rs, and the same at the switch port; a copper cable of less than "
        "100 Gb/s may do without",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_fec_off,
        thresholds={"least": Threshold(100_000, "Mb/s", "IEEE 802.3, clause 91: RS-FEC for 100GBASE-R")},
    ),
    Rule(
        name="ascend.tls_differs",
        summary="the connections of all NPUs are encrypted, or none",
        why="An NPU that speaks TLS and one that does not never get a connection: HCCL fails with EI0006, and its "
        "manual names this first.",
        remedy="hccn_tool -i N -tls -s enable 0 (or 1) on those that differ, so that all are the same",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_tls,
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.tls_certificate",
        summary="certificates of NPUs are valid for a while",
        why="With TLS on no connection is made with an expired certificate, or a revocation list that is too old.",
        remedy="put new ones in place: hccn_tool -i N -tls -s path P pri K pub C ca1 A ca2 B crl R; with TLS off they "
        "can be cleared, hccn_tool -i N -tls -c",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_certificates,
    ),
    Rule(
        name="ascend.switch_port_differs",
        summary="NPUs of the same number are on switch ports of the same kind",
        why="Where rails are cabled alike, NPU i of every host is on the same sort of port of its leaf switch; one "
        "that is not may be plugged in wrong. Other ways of cabling are right too, so this is only told.",
        remedy="compare `hccn_tool -i N -lldp -g` of the hosts with the cabling plan",
        status=Status.INFO,
        needs=_NEEDS,
        judge=_switch_ports,
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.rails_swapped",
        summary="NPUs of the same number are on the same switches",
        why="Where rails are cabled alike NPU i of every host is on the same leaf; with two cables swapped the traffic "
        "of two rails crosses the spine, and collides there.",
        remedy="compare `hccn_tool -i N -lldp -g` of the hosts with the cabling plan, and swap the two cables back",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_rails,
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.port_shaped",
        summary="no port is limited to less than its speed",
        why="A bandwidth limit that was set for a test stays in /etc/hccn.conf and is set again at every start.",
        remedy="hccn_tool -i N -shaping -s bw_limit M with bw_max as M",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_shaped,
    ),
    Rule(
        name="ascend.lanes_downgraded",
        summary="no port has given up lanes",
        why="A port whose lanes fail goes on with fewer of them: the link is up, and slower than its peers wait for.",
        remedy="reseat or replace the module or the cable, then set the port down and up; see -optical and -stat_extra "
        "for the lane that fails",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_downgraded,
    ),
)
