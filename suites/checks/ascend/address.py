"""Rules about the addresses of Ascend NPUs' ports: those that are in force, and those in /etc/hccn.conf.

May import: agreement, ascend_peers, readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address, ip_interface, ip_network
from typing import Any

from suites.checks.agreement import Held, outliers
from suites.checks.ascend.peers import held
from suites.checks.readings import devices, evidence, label, of_devices, of_host, untold, value
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, broken, ok
from suites.report import Status

FILE = "/etc/hccn.conf"
_ADDRESS = ("address", "IPv6address")


def _missing(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "ip", "configured"):
        if reading is None:
            yield untold(device, "ip", name)
        elif value(reading, "configured"):
            yield ok(name)
        else:
            yield broken(f"the network port of {name} has no address", evidence(reading, "configured"), name)


def _duplicate(case: Case) -> Iterator[Judged]:
    owners: dict[str, list[Held]] = {}
    for host, facts in case.fleet.items():
        for one in _addresses(host, facts):
            owners.setdefault(str(one.value), []).append(one)
    for address, sharing in owners.items():
        if len(sharing) == 1:
            yield ok(sharing[0].device, sharing[0].host)
            continue
        for one in sharing:
            others = ", ".join(other.place for other in sharing if other is not one)
            message = f"{address} is the address of {one.device} and also of {others}"
            yield broken(message, {"value": address, **one.evidence}, one.device, host=one.host)


def _addresses(host: str, facts: Facts) -> Iterator[Held]:
    """What a port's address is by the tool, and where that does not tell, by the file."""
    settings = _settings(facts)
    for device in devices(facts, "ascend"):
        reading = (device.get("readings") or {}).get("ip")
        in_file = next((key for key in _ADDRESS if key in settings.get(str(device["id"]), {})), None)
        if reading and value(reading, "address"):
            shown = evidence(reading, "address")
            yield Held(host, label("ascend", device), shown.pop("value"), shown)
        elif in_file and not (reading and value(reading, "configured") is False):
            line = _line(facts, in_file, device["id"])
            yield Held(
                host, label("ascend", device), settings[str(device["id"])][in_file], {"file": FILE, "line": line}
            )


def _settings(facts: Facts) -> Mapping[str, Mapping[str, str]]:
    reading = of_host(facts, "ascend", "settings")
    return reading["values"].get("devices", {}) if reading else {}


def _line(facts: Facts, key: str, device: int) -> str | None:
    reading = of_host(facts, "ascend", "settings")
    found = reading["lines"].get(f"{key}_{device}") if reading else None
    return found if isinstance(found, str) else None


def _incomplete(case: Case) -> Iterator[Judged]:
    settings = _settings(case.facts)
    if not settings:
        return
    known = {device["id"] for device in devices(case.facts, "ascend")} | set(map(int, settings))
    expected = known | set(range(min(known), max(known)))
    keys = {key for key in _KEYS if 2 * sum(key in found for found in settings.values()) > len(settings)}
    for device in sorted(expected):
        lacking = sorted(keys - settings.get(str(device), {}).keys())
        shown = {"file": FILE, "value": sorted(settings.get(str(device), {})), "threshold": sorted(keys)}
        wrong = [key for key in _KEYS if not _is_address(settings.get(str(device), {}).get(key))]
        if wrong:
            told = settings[str(device)][wrong[0]]
            line = {"file": FILE, "value": told, "line": _line(case.facts, wrong[0], device)}
            yield broken(f"{told} is set as {wrong[0]} of npu{device}, and is no address", line, f"npu{device}")
        elif not lacking:
            yield ok(f"npu{device}")
        elif str(device) not in settings:
            yield broken(
                f"nothing is set for npu{device}, while other NPUs have {_listed(keys)}", shown, f"npu{device}"
            )
        else:
            others = f"{_listed(lacking)} of npu{device} is not set, as it is for most others"
            status = None if "address" in lacking else Status.WARN
            yield broken(others, shown, f"npu{device}", status=status)


_KEYS = ("address", "IPv6address", "netmask", "netdetect", "gateway")
"""What an NPU needs of the file; other settings are often made for one NPU only."""


def _is_address(text: str | None) -> bool:
    """Nothing at all is another fault."""
    try:
        return text is None or bool(ip_address(text))
    except ValueError:
        return False


def _listed(names: Any) -> str:
    return ", ".join(sorted(names))


def _differs(case: Case) -> Iterator[Judged]:
    settings = _settings(case.facts)
    for name, device, reading in of_devices(case.facts, "ascend", "ip", "configured"):
        mine = settings.get(str(device["id"]), {})
        configured = next((mine[key] for key in _ADDRESS if key in mine), None)
        if configured is None or reading is None:
            continue
        address = value(reading, "address")
        if address in (configured, device.get("address")) or address in (mine.get(key) for key in _ADDRESS):
            yield ok(name)
        else:
            line = _line(case.facts, "address", device["id"])
            shown = {**evidence(reading, "address"), "file": FILE, "threshold": configured, "file_line": line}
            message = f"{name} has the address {address or 'none'}, and {configured} is set for it"
            yield broken(message, shown, name)


def _masks(case: Case) -> Iterator[Judged]:
    found, _ = held(case, "ip", "netmask")
    yield from outliers("the netmask", found)


def _gateway(case: Case) -> Iterator[Judged]:
    """By the tool where it tells address, mask and gateway, else by the file."""
    settings = _settings(case.facts)
    for device in devices(case.facts, "ascend"):
        name, readings = label("ascend", device), device.get("readings") or {}
        told = [_told(readings, *where) for where in (("ip", "address"), ("ip", "netmask"), ("gateway", "address"))]
        set_ = [settings.get(str(device["id"]), {}).get(key) for key in ("address", "netmask", "gateway")]
        address, mask, gateway = told if all(told) else set_
        network = address and mask and _network(address, mask)
        if not gateway or not network:
            continue
        if _in(gateway, network):
            yield ok(name)
        else:
            source = {"command": readings["gateway"]["source"]} if all(told) else {"file": FILE}
            message = f"the gateway {gateway} of {name} is not in its network {network}"
            yield broken(message, {**source, "value": gateway, "threshold": network}, name)


def _told(readings: Mapping[str, Any], query: str, name: str) -> str | None:
    found = value(readings[query], name) if query in readings else None
    return found if isinstance(found, str) else None


def _in(address: str, network: str) -> bool:
    """A gateway of IPv6 is often a link's own address, which is in no network."""
    try:
        found = ip_address(address)
        return found.is_link_local or found in ip_network(network)
    except ValueError:
        return False


def _networks(case: Case) -> Iterator[Judged]:
    """Ports of one index on several hosts that have no gateway must share a network."""
    by_index: dict[str, list[Held]] = {}
    for host, facts in case.fleet.items():
        for name, device, reading in of_devices(facts, "ascend", "ip", "address", "netmask"):
            gateway = (device["readings"].get("gateway") or {"values": {}})["values"].get("configured")
            network = reading and _network(value(reading, "address"), value(reading, "netmask"))
            if reading is not None and network and gateway is False:
                shown = {**evidence(reading, "address"), "value": network}
                by_index.setdefault(name, []).append(Held(host, name, network, shown))
    for name, of_hosts in by_index.items():
        yield from outliers(f"the network of {name}, which has no gateway,", of_hosts)


def _network(address: str, mask: str) -> str | None:
    try:
        return str(ip_interface(f"{address}/{mask}").network)
    except ValueError:
        return None


def _missing_beside(query: str, what: str) -> Callable[[Case], Iterator[Judged]]:
    """A rule by which what most ports have set, all have."""

    def judge(case: Case) -> Iterator[Judged]:
        found, silent = held(case, query, "configured")
        with_it = [one for one in found if one.value]
        for one in found:
            if one.value or 2 * len(with_it) <= len(found):
                yield ok(one.device, one.host)
            else:
                message = f"{one.device} has no {what}, which {len(with_it)} of {len(found)} ports have"
                yield replace(broken(message, {"value": None, **one.evidence}, one.device), host=one.host)
        yield from silent

    return judge


RULES = (
    Rule(
        name="ascend.ip_missing",
        summary="the network port of every NPU has an address",
        why="Ranks on other hosts connect to it; without one HCCL fails at start with EI0006 or EI0004.",
        remedy="hccn_tool -i N -ip -s address A netmask M, with the address that the rank table or your plan has for "
        "it, then -gateway and -netdetect; see also `hccn_tool -i N -cfg recovery`",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_missing,
    ),
    Rule(
        name="ascend.ip_duplicate",
        summary="no two NPUs have the same address",
        why="Two ports with one address take each other's packets: connections time out (EI0006) or break at random.",
        remedy="give one of them its own address: hccn_tool -i N -ip -s address A netmask M",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_duplicate,
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.conf_incomplete",
        summary="/etc/hccn.conf has addresses, masks and gateways for all NPUs alike",
        why="What is not in the file is lost at the next restart, and an NPU that is not in it was perhaps missing "
        "when the others were set up.",
        remedy="set it again for this NPU with hccn_tool -i N (-ip, -gateway, -netdetect) -s, which also writes the "
        "file; if the NPU is gone see `npu-smi info`",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_incomplete,
    ),
    Rule(
        name="ascend.conf_differs",
        summary="NPUs have the addresses that /etc/hccn.conf sets",
        why="The file is what a restart brings back. Where another address is in force, a rank table made from one of "
        "them is wrong.",
        remedy="hccn_tool -i N -cfg recovery to apply the file, or -ip -s address A netmask M to set the right one",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_differs,
    ),
    Rule(
        name="ascend.netmask_differs",
        summary="the ports of all NPUs have the same netmask",
        why="With another mask a port takes near addresses for far ones or the reverse, and reaches only some peers.",
        remedy="hccn_tool -i N -ip -s address A netmask M with the mask of the others",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_masks,
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.network_differs",
        summary="ports without a gateway are in one network with their like on other hosts",
        why="Without a gateway a port reaches its own network only; ranks with the same local number on other hosts "
        "talk over it.",
        remedy="set a gateway, hccn_tool -i N -gateway -s gateway A, or give the ports addresses of one network",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_networks,
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.gateway_outside",
        summary="the gateway of every port is in the port's network",
        why="hccn_tool refuses such a gateway; one that stands in /etc/hccn.conf was written there by hand, and is "
        "not in force after a restart.",
        remedy="correct it: hccn_tool -i N -ip -s address A netmask M, then -gateway -s gateway G",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_gateway,
    ),
    Rule(
        name="ascend.gateway_missing",
        summary="every port has a gateway if most have",
        why="A port without the gateway of its neighbours reaches only its own network.",
        remedy="hccn_tool -i N -gateway -s gateway A",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_missing_beside("gateway", "gateway"),
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.netdetect_missing",
        summary="every port watches an address if most do",
        why="Without a detection address the state of the network stays Init, and nobody hears when it breaks.",
        remedy="hccn_tool -i N -netdetect -s address A, usually with the gateway's address",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_missing_beside("netdetect", "detection address"),
        scope=Scope.FLEET,
    ),
)
