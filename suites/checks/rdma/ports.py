"""Rules about the ports of RDMA devices: their state, rate, MTU and addresses.

May import: agreement, network_ports, rdma_facts, rule, report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suites.checks.agreement import outliers
from suites.checks.network.ports import interfaces
from suites.checks.rdma.facts import Port, all_ports, gigabits, likes, majority, model, named, ports, same_places, where
from suites.checks.rule import Case, Judged, Outcome, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_BY_PHYSICAL_STATE: Mapping[str | None, str] = {
    "Polling": "it gets no signal from the other side: see that the cable is in and that the switch port is on, reseat "
    "the module, and look at `mlxlink -d DEVICE -m` or `ethtool INTERFACE`",
    "Disabled": "somebody or something switched it off: `ip link set INTERFACE up`, for InfiniBand `ibportstate -D 0 1 "
    "enable`; look for why in `dmesg`",
    "LinkUp": "the cable is fine, the port above it is not up: `ip link set INTERFACE up`; for InfiniBand see that the "
    "subnet manager runs (`sminfo`)",
}
_TRAINING = "the link does not train: replace the cable or the module, then try another switch port"
_ANY = "see `ip link` and `dmesg` for why it is down, then the cable and the switch port"


def _port_down(case: Case) -> Iterator[Judged]:
    used = {port.place for port in all_ports(case) if port.active}
    for host, facts in case.fleet.items():
        found = ports(facts, host)
        for port in found:
            if port.active:
                yield ok(port.name, host)
            elif _is_down(port):
                yield _down(port, [other for other in found if other is not port], port.place in used)


def _is_down(port: Port) -> bool:
    """One in INIT waits for the subnet manager, which is another rule; only RoCE has none."""
    state = port.facts["state"]
    return state not in (None, "INIT") or (state == "INIT" and port.facts["link_layer"] == "Ethernet")


def _down(port: Port, beside: Sequence[Port], used_elsewhere: bool) -> Judged:
    state, physical = port.facts["state"], port.facts["physical_state"]
    said = f"port {port.facts['id']} of {port.device['name']} is {state}" + (f" ({physical})" if physical else "")
    status, but = _severity(port, beside, used_elsewhere)
    training = physical in ("LinkErrorRecovery", "PortConfigurationTraining")
    remedy = _TRAINING if training else _BY_PHYSICAL_STATE.get(physical, _ANY)
    if status is Status.INFO:
        remedy = f"nothing where nobody means to use it; else: {remedy}"
    evidence = port.evidence("state", "ACTIVE")
    if physical:
        evidence["physical_state"] = physical
    return broken(f"{said}, {but}", evidence, port.name, host=port.host, status=status, remedy=_for_port(remedy, port))


def _for_port(remedy: str, port: Port) -> str:
    return remedy.replace("INTERFACE", port.facts["netdev"] or "INTERFACE").replace("DEVICE", port.device["name"])


def _severity(port: Port, beside: Sequence[Port], used_elsewhere: bool) -> tuple[Status, str]:
    """How bad it is that this port is down, by what the others are."""
    if used_elsewhere:
        return Status.FAIL, "and other hosts use theirs of that name"
    card = [other for other in beside if other.device["card"] == port.device["card"] and other.active]
    if card:
        return Status.INFO, f"while {card[0].name} on the same card is active: it is in no use"
    if not any(other.active for other in beside):
        certain = port.facts["physical_state"] in ("Disabled", "LinkUp")
        return Status.FAIL if certain else Status.WARN, "and no RDMA port of this host is active"
    same, certain = _siblings(port, beside)
    active = [other for other in same if other.active]
    if not active:
        return Status.INFO, "while ports of other adapters are active: it is in no use"
    most = len(active) > 1 and 2 * len(active) > len(same) + 1
    return Status.FAIL if most and certain else Status.WARN, f"while {len(active)} like it on this host are active"


def _siblings(port: Port, beside: Sequence[Port]) -> tuple[list[Port], bool]:
    """Ports of the same model, and whether that is certain; where nothing tells the model, all of the same layer."""
    layer = port.facts["link_layer"]
    of_layer = [
        other for other in beside if layer in (None, other.facts["link_layer"]) or not other.facts["link_layer"]
    ]
    made = model(port.device)
    same = [other for other in of_layer if model(other.device) == made]
    return same, made is not None or layer == "InfiniBand"


def _no_subnet_manager(case: Case) -> Iterator[Judged]:
    """Only a port that is known to be of InfiniBand needs one."""
    for port in ports(case.facts):
        facts = port.facts
        if facts["link_layer"] != "InfiniBand" or facts["state"] is None:
            continue
        if facts["state"] != "INIT":
            yield ok(port.name)
            continue
        message = f"port {facts['id']} of {port.device['name']} is in INIT: no subnet manager has set it up"
        others = any(other.active for other in ports({"rdma": {"devices": [port.device]}}))
        yield broken(message, port.evidence("state", "ACTIVE"), port.name, status=Status.WARN if others else None)


def _rate_of_likes(case: Case) -> Iterator[Judged]:
    """Against adapters of the same model, against the same port of other hosts, and, where nothing tells the models of
    InfiniBand adapters, one against all the others."""
    found = [port for port in all_ports(case) if port.facts["rate_bits_per_second"]]
    slow: dict[tuple[str, str], Judged] = {}
    for group in [*likes(found), *same_places(found), *_one_against_all(case)]:
        rates = [port.facts["rate_bits_per_second"] for port in group]
        usual = majority(rates) or max(rates)
        for port in group:
            if port.facts["rate_bits_per_second"] < usual:
                slow.setdefault((port.host, port.name), _slow(port, usual, group, len(case.fleet) > 1))
    yield from slow.values()
    yield from (ok(port.name, port.host) for port in found if (port.host, port.name) not in slow)


def _one_against_all(case: Case) -> Iterator[list[Port]]:
    for host, facts in case.fleet.items():
        group = [port for port in ports(facts, host) if not model(port.device)]
        group = [
            port for port in group if port.facts["link_layer"] == "InfiniBand" and port.facts["rate_bits_per_second"]
        ]
        rates = [port.facts["rate_bits_per_second"] for port in group]
        usual = majority(rates)
        if usual and len(rates) > 3 and rates.count(usual) == len(rates) - 1:
            yield group


def _slow(port: Port, usual: int, group: Sequence[Port], several_hosts: bool) -> Judged:
    rate = port.facts["rate_bits_per_second"]
    like = [where(other, several_hosts) for other in group if other.facts["rate_bits_per_second"] == usual]
    more = f" and {len(like) - 1} more" if len(like) > 1 else ""
    message = f"{port.name} runs at {gigabits(rate)}, and {like[0]}{more} at {gigabits(usual)}"
    return broken(message, port.evidence("rate_text", gigabits(usual), "its like"), port.name, host=port.host)


def _nominal_rate(case: Case) -> Iterator[Judged]:
    """Against what the board is sold for; without knowing the board only what cannot be meant is said."""
    for port in ports(case.facts):
        rate, text = port.facts["rate_bits_per_second"], port.facts["rate_text"] or ""
        if rate is None:
            continue
        board = port.device["board"] or ""
        infiniband = port.facts["link_layer"] == "InfiniBand"
        said = f"{port.name} runs at {gigabits(rate)}"
        if board in case.limits and rate < case.limits[board] * 1e9:
            message = f"{said}, and its board {board} is made for {case.limits[board]:g} Gb/s"
            yield broken(message, port.evidence("rate_text", f"{case.limits[board]:g} Gb/s", "the board"), port.name)
        elif infiniband and "(1X" in text:
            yield broken(f"{said}: one lane of the cable's four is in use", port.evidence("rate_text", "4X"), port.name)
        else:
            yield ok(port.name)


def _active_mtu(case: Case) -> Iterator[Judged]:
    """Beside an InfiniBand fabric, RoCE is the road to storage or management and no matter of collectives."""
    odd = _odd_interfaces(case)
    for host, facts in case.fleet.items():
        found = [port for port in ports(facts, host) if port.active]
        infiniband = any(port.facts["link_layer"] == "InfiniBand" for port in found)
        for port in found:
            mtu, interface = port.facts["active_mtu"], port.facts["netdev"]
            if port.facts["link_layer"] != "Ethernet" or mtu is None or (host, interface) in odd:
                continue
            if mtu >= case.limits["least"]:
                yield ok(port.name, host)
                continue
            yield broken(
                f"{port.name} sends RoCE packets of {mtu} bytes, {case.limits['least']:g} are possible",
                port.evidence("active_mtu", case.limits["least"]),
                port.name,
                host=host,
                status=Status.INFO if infiniband else None,
                remedy=f"`ip link set {interface or 'INTERFACE'} mtu 4200` or more (9000), on all hosts and in the "
                "switches alike",
            )


def _odd_interfaces(case: Case) -> set[tuple[str, str | None]]:
    """(host, interface) whose MTU is not that of most hosts: network.mtu_differs tells of it, the MTU of the port is
    only what comes of it."""
    by_name: dict[str, dict[str, int]] = {}
    for host, facts in case.fleet.items():
        for each in interfaces(facts):
            if each["mtu"] is not None:
                by_name.setdefault(each["name"], {})[host] = each["mtu"]
    usual = {name: majority(list(found.values())) for name, found in by_name.items()}
    return {(host, name) for name, found in by_name.items() for host, mtu in found.items() if mtu != usual[name]}


def _no_ipv4_gid(case: Case) -> Iterator[Judged]:
    for port in ports(case.facts):
        gids = port.facts["gids"]
        if not port.active or port.facts["link_layer"] != "Ethernet" or not gids:
            continue
        families = {gid["family"] for gid in gids if gid["type"] == "RoCE v2"}
        evidence = {"file": f"/sys/class/infiniband/{port.device['name']}/ports/{port.facts['id']}/gids"}
        if port.facts["roce_v2_ipv4_index"] is not None:
            yield ok(port.name)
        elif "ipv6" in families:
            message = f"{port.name} has RoCE v2 addresses of IPv6 only"
            yield broken(message, evidence, port.name, status=Status.INFO)
        else:
            yield broken(f"{port.name} has no RoCE v2 address of IPv4: no route leads to it", evidence, port.name)


def _differing(value: str, what: str, needs_active: bool = True) -> Rule:
    """A rule that a value is the same on adapters of one model and on ports of the same name, or else who differs."""

    def judge(case: Case) -> Iterator[Judged]:
        odd = _odd_interfaces(case) if value == "active_mtu" else set()
        found = [
            port
            for port in all_ports(case)
            if port.facts[value] is not None and (port.active or not needs_active)
            and (port.host, port.facts["netdev"]) not in odd
        ]  # fmt: skip
        said: set[tuple[str | None, str | None]] = set()
        for group in [*likes(found), *same_places(found)]:
            for judged in outliers(what, [port.held(value) for port in group]):
                place = judged.host, judged.device if judged.host else group[0].device["kind"]
                if judged.outcome is Outcome.OK or place not in said:
                    yield named(judged)
                if judged.outcome is not Outcome.OK:
                    said.add(place)

    name, summary, why, remedy = _DIFFERENCES[value]
    return Rule(name, summary, why, remedy, Status.WARN, ("rdma",), judge, scope=Scope.FLEET)


_DIFFERENCES: Mapping[str, tuple[str, str, str, str]] = {
    "roce_v2_ipv4_index": (
        "rdma.gid_index",
        "RoCE ports of one kind have their IPv4 address at one GID index",
        "NCCL_IB_GID_INDEX is one number for all ranks: where the index differs, connections fail.",
        "leave NCCL_IB_GID_INDEX unset (NCCL 2.21 on), or give all interfaces equally many addresses; see `show_gids`",
    ),
    "active_mtu": (
        "rdma.mtu_differs",
        "ports of one kind use the same MTU",
        "A connection uses the smaller MTU of its two ends, so that one port slows all rings that pass it.",
        "set the same MTU on all interfaces and in the switches: `ip link set INTERFACE mtu 9000`",
    ),
    "link_layer": (
        "rdma.link_layer",
        "ports of one name are all of InfiniBand or all of Ethernet",
        "An adapter that can do both keeps its choice in its own settings; ports of two kinds cannot talk.",
        "`mlxconfig -d DEVICE query LINK_TYPE_P1`; set it to the same everywhere and restart the host",
    ),
}
RULES = (
    Rule(
        name="rdma.port_down",
        summary="RDMA ports that peers use are active",
        why="Ranks that are bound to a dead port fall back to TCP or fail at the first connection.",
        remedy=_ANY,
        status=Status.FAIL,
        needs=("rdma",),
        judge=_port_down,
        scope=Scope.FLEET,
    ),
    Rule(
        name="rdma.no_subnet_manager",
        summary="no InfiniBand port waits for a subnet manager",
        why="In INIT the cable works, but nothing is sent before the subnet manager gave the port an address.",
        remedy="see that a subnet manager runs and reaches this port: `sminfo`, `systemctl status opensm`, or the UFM; "
        "then `ibportstate -D 0 1 reset`",
        status=Status.FAIL,
        needs=("rdma",),
        judge=_no_subnet_manager,
    ),
    Rule(
        name="rdma.rate_below_peers",
        summary="RDMA ports are as fast as others of their kind",
        why="A ring runs at the pace of its slowest link; a port that trained at a lower rate slows all ranks.",
        remedy="look at `mlxlink -d DEVICE` for the speeds both sides offer; reseat or replace the cable, and see what "
        "the switch port is set to",
        status=Status.WARN,
        needs=("rdma",),
        judge=_rate_of_likes,
        scope=Scope.FLEET,
    ),
    Rule(
        name="rdma.rate_below_nominal",
        summary="RDMA ports run at the rate their board is made for",
        why="A bad cable or module makes a link train at a lower rate, or on fewer lanes, without any error.",
        remedy="look at `mlxlink -d DEVICE` for the speeds both sides offer; reseat or replace the cable, and see what "
        "the switch can do",
        status=Status.WARN,
        needs=("rdma",),
        judge=_nominal_rate,
        thresholds={
            "MT_0000000838": Threshold(400, "Gb/s", "NVIDIA: ConnectX-7 NDR, MCX75310AAS-NEAT"),
        },
    ),
    Rule(
        name="rdma.active_mtu",
        summary="RoCE ports use the largest MTU",
        why="Small packets cost the adapter four times the work; RoCE has 4096 bytes from an interface MTU of 4200 on.",
        remedy="`ip link set INTERFACE mtu 4200` or more (9000), on all hosts and in the switches alike",
        status=Status.WARN,
        needs=("rdma",),
        judge=_active_mtu,
        scope=Scope.FLEET,
        thresholds={"least": Threshold(4096, "bytes", "the largest MTU of RDMA (InfiniBand specification)")},
    ),
    Rule(
        name="rdma.no_ipv4_gid",
        summary="RoCE ports have a RoCE v2 address of IPv4",
        why="RoCE v2 is routed by IP; without an address on the interface only the link itself is reached.",
        remedy="give the interface an address: `ip addr add ADDRESS/24 dev INTERFACE`; then `show_gids`",
        status=Status.WARN,
        needs=("rdma",),
        judge=_no_ipv4_gid,
    ),
    _differing("roce_v2_ipv4_index", "the GID index of RoCE v2 over IPv4"),
    _differing("active_mtu", "the MTU"),
    _differing("link_layer", "the link layer", needs_active=False),
)
