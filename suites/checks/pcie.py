"""Rules about PCI Express links and what stands in the way of peers. May import: agreement, rule, report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suites.checks.agreement import Held, grouped, outliers
from suites.checks.equipment import port_rate
from suites.checks.rdma.adapters import pcie_rate
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

Device = Mapping[str, Any]

_RDMA_VENDORS = frozenset({"15b3"})
"""All cards of Mellanox carry RDMA."""
_WORDS = {"accelerator": "accelerator", "network": "network card", "bridge": "bridge", "other": "device"}
_FILES = {"width": "current_link_width", "speed": "current_link_speed"}
_SLEEPING = 2.5
"""GT/s of the first generation, to which a GPU without work goes down."""
_FAST_LINK = 64
"""GT/s times lanes, a third-generation x8 link: what 25 Gb/s and more takes. The small cards on boards have less."""


def _devices(facts: Facts) -> list[Device]:
    return list((facts.get("pcie") or {}).get("devices") or ())


def _judged(facts: Facts) -> list[Device]:
    """Accelerators, and network cards that are made for RDMA or for 25 Gb/s: a small card on the board often has fewer
    lanes than it could, and that is how the board was made."""
    return [each for each in _devices(facts) if each["kind"] == "accelerator" or _is_fast(each)]


def _is_fast(device: Device) -> bool:
    if device["kind"] not in ("network", "other") or device["virtual_function"]:
        return False
    carries_rdma = device["vendor"] in _RDMA_VENDORS or (device["class_code"] or "").startswith("0207")
    return carries_rdma or (device["speed_max"] or 0) * (device["width_max"] or 0) >= _FAST_LINK


def _name(device: Device) -> str:
    return f"{_WORDS[device['kind']]} {device['id']}"


def _evidence(device: Device, fact: str, threshold: Any = None) -> dict[str, Any]:
    """Of sysfs only the links are told; all else is from `lspci`."""
    folder = device["source"] if device["source"].startswith("/") else ""
    where = {"file": f"{folder}/{_FILES[fact]}"} if folder and fact in _FILES else {"command": "lspci -vvv"}
    found: dict[str, Any] = {**where, "value": device[fact]}
    if fact in device["lines"]:
        found["line"] = device["lines"][fact]
    return found if threshold is None else {**found, "threshold": threshold}


def _judged_elsewhere(facts: Facts) -> set[str | None]:
    """Addresses of devices whose own tool or class has told their lanes, so that a rule of theirs judges these."""
    rdma = (facts.get("rdma") or {}).get("devices") or ()
    found = {device["pci_slot"] for device in rdma if device["pcie_width"] is not None}
    for vendor in ("nvidia", "amd"):
        for device in ((facts.get("accelerators") or {}).get(vendor) or {}).get("devices") or ():
            if any({"pcie_width", "width"} & reading["values"].keys() for reading in device["readings"].values()):
                found.add(device["bus"])
    return found


def _width(case: Case) -> Iterator[Judged]:
    known = {device["id"]: device for device in _devices(case.facts)}
    elsewhere = _judged_elsewhere(case.facts)
    for device in _judged(case.facts):
        width, most = device["width"], device["width_max"]
        if width is None or most is None or device["id"] in elsewhere:
            continue
        if width >= most:
            yield ok(device["id"])
            continue
        evidence = {**_evidence(device, "width", most), "source": "what the device itself can do"}
        slot = known.get(device["upstream"][-1], {}).get("width_max") if device["upstream"] else None
        message = f"the PCIe link of {_name(device)} has {width} of its {most} lanes"
        if slot is not None and slot <= width:
            message += f"; the slot itself has {slot}"
            yield broken(message, evidence, device["id"], status=Status.WARN, remedy=_OTHER_SLOT)
        else:
            yield broken(message, evidence, device["id"])
    yield from _switches(known, _judged(case.facts))


def _switches(known: Mapping[str, Device], below: Sequence[Device]) -> Iterator[Judged]:
    """Ports by which a switch is reached, where both ends could do more. On the way down from the root port every other
    bridge is one of them; the ports between are as wide as what is plugged into them."""
    ways = {tuple(device["upstream"][place - 1 : place + 1]) for device in below for place in _odd(device["upstream"])}
    for above, port in sorted(ways):
        width, most = (known.get(port, {}).get(name) for name in ("width", "width_max"))
        other = known.get(above, {}).get("width_max")
        if width and most and other and width < min(most, other):
            message = f"the PCIe link of the switch at {port} has {width} of {min(most, other)} lanes"
            yield broken(message, _evidence(known[port], "width", min(most, other)), port)


def _odd(upstream: Sequence[str]) -> range:
    return range(1, len(upstream), 2)


def _speed(case: Case) -> Iterator[Judged]:
    """One judgement for all: an idle accelerator lowers its speed, so this is no more than a remark."""
    known = [each for each in _judged(case.facts) if each["speed"] and each["speed_max"] and not _is_idle(case, each)]
    slow = [each for each in known if each["speed"] < each["speed_max"] and not _holds_up(case.facts, each)]
    if slow:
        names = ", ".join(f"{each['id']} {each['speed']:g} of {each['speed_max']:g} GT/s" for each in slow[:4])
        more = f" and {len(slow) - 4} more" if len(slow) > 4 else ""
        message = f"PCIe links below the speed that the devices can do: {names}{more}"
        yield broken(message, _evidence(slow[0], "speed", slow[0]["speed_max"]))
    elif known:
        yield ok()


def _is_idle(case: Case, device: Device) -> bool:
    """A GPU of NVIDIA that sleeps at the lowest speed, or of which its own tool tells more."""
    nvidia = ((case.facts.get("accelerators") or {}).get("nvidia") or {}).get("devices") or ()
    told = {
        each["bus"]
        for each in nvidia
        if any("pcie_generation_max" in reading["values"] for reading in each["readings"].values())
    }
    gpu = device["kind"] == "accelerator" and device["vendor"] == "10de"
    return gpu and (device["speed"] <= _SLEEPING or device["id"] in told)


def _card_speed(case: Case) -> Iterator[Judged]:
    for device in filter(_is_fast, _judged(case.facts)):
        speed, most = device["speed"], device["speed_max"]
        if not speed or not most:
            continue
        if _holds_up(case.facts, device):
            message = f"the PCIe link of {_name(device)} runs at {speed:g} of its {most:g} GT/s"
            evidence = {**_evidence(device, "speed", most), "source": "what the device itself can do"}
            yield broken(message, evidence, device["id"])
        elif speed >= most:
            yield ok(device["id"])


def _holds_up(facts: Facts, device: Device) -> bool:
    """A card that is slower on PCIe than it can be: not where its slot can do no more, nor where what is left is enough
    for its ports."""
    if not _is_fast(device) or device["speed"] >= device["speed_max"]:
        return False
    above = {each["id"]: each["speed_max"] for each in _devices(facts)}
    slot = above.get(device["upstream"][-1]) if device["upstream"] else None
    rate, carried = port_rate(facts, device["id"]), pcie_rate(f"{device['speed']} GT/s", device["width"])
    return not (slot and slot <= device["speed"]) and not (rate and carried and rate <= carried)


def _off_bus(case: Case) -> Iterator[Judged]:
    for device in _devices(case.facts):
        if device["off_bus"]:
            message = f"{_name(device)} is off the bus: all its registers read as ones"
            yield broken(message, _evidence(device, "off_bus", False), device["id"])
        elif device["off_bus"] is False:
            yield ok(device["id"])


def _access_control(case: Case) -> Iterator[Judged]:
    """Only where traffic between devices could pass: in an excerpt without any device, at every bridge."""
    if case.facts["pcie"]["virtual"]:
        return
    peers = _judged(case.facts)
    above = {bridge for device in peers for bridge in device["upstream"]}
    if not peers and any(device["kind"] != "bridge" for device in _devices(case.facts)):
        return
    for device in _devices(case.facts):
        if device["kind"] != "bridge" or (above and device["id"] not in above):
            continue
        if device["access_control"]:
            sure = "" if case.facts["pcie"]["virtual"] is False else ", if this is no virtual machine"
            message = (
                f"ACS is on at {_name(device)}: traffic between devices below takes the way over the root port{sure}"
            )
            yield broken(message, _evidence(device, "access_control", False), device["id"])
        elif device["access_control"] is False:
            yield ok(device["id"])


def _relaxed_ordering(case: Case) -> Iterator[Judged]:
    for device in _capable(case.facts):
        if device["relaxed_ordering"] is False:
            evidence = _evidence(device, "relaxed_ordering", True)
            yield broken(f"relaxed ordering is off at {_name(device)}", evidence, device["id"])
        elif device["relaxed_ordering"]:
            yield ok(device["id"])


def _read_request(case: Case) -> Iterator[Judged]:
    least = case.limits["least"]
    for device in filter(_is_fast, _capable(case.facts)):
        size = device["max_read_request"]
        if size is not None and size < least:
            message = f"{_name(device)} reads memory in requests of at most {size} bytes"
            yield broken(message, _evidence(device, "max_read_request", least), device["id"])
        elif size is not None:
            yield ok(device["id"])


def _capable(facts: Facts) -> list[Device]:
    """Without virtual functions, whose own registers mean nothing."""
    return [device for device in _judged(facts) if not device["virtual_function"]]


def _iommu(case: Case) -> Iterator[Judged]:
    mode = case.facts["pcie"]["iommu"]
    if mode is None or not _judged(case.facts) or case.facts["pcie"]["virtual"]:
        return
    evidence = {"file": "/sys/kernel/iommu_groups, /proc/cmdline", "value": mode, "threshold": "off or passthrough"}
    yield broken("the IOMMU translates every access of devices to memory", evidence) if mode == "translated" else ok()


def _widths(case: Case) -> Iterator[Judged]:
    """Of those that do not know what they could do, or have all of it: the others are already found."""
    found = [
        ((device["kind"], device["vendor"], device["device"] or device["name"]), held)
        for host, facts in case.fleet.items()
        for device in _judged(facts)
        if device["width"] and device["width"] >= (device["width_max"] or 0)
        for held in [Held(host, device["id"], device["width"], _evidence(device, "width"))]
    ]
    for group in grouped(found):
        yield from outliers("the number of PCIe lanes", group)


def _counts(case: Case) -> Iterator[Judged]:
    """A host whose addresses are part of another's lacks the rest of them, also where there are but two hosts."""
    held = {
        host: {device["id"] for device in _devices(facts) if device["kind"] == "accelerator"}
        for host, facts in case.fleet.items()
    }
    held = {host: slots for host, slots in held.items() if slots}
    if len(held) < 2:
        return
    fullest = max(held, key=lambda host: len(held[host]))
    unlike = [host for host, slots in held.items() if not slots <= held[fullest]]
    if unlike:
        counts = [Held(host, None, len(slots), {"command": "lspci"}) for host, slots in held.items()]
        yield from outliers("the number of accelerators on the PCI bus", counts)
        return
    for host, slots in held.items():
        lacking = sorted(held[fullest] - slots)
        if lacking:
            message = f"{len(slots)} accelerators on the PCI bus, and {len(held[fullest])} on {fullest}: there is no "
            evidence = {"command": "lspci", "value": sorted(slots), "threshold": sorted(held[fullest])}
            yield broken(message + ", ".join(lacking), evidence, lacking[0], host=host)
        else:
            yield ok(host=host)


def _gone(case: Case) -> Iterator[Judged]:
    now = case.facts["pcie"]["devices"]
    if now is None:
        return
    left = {device["id"] for device in now}
    for device in _judged(case.earlier):
        if device["id"] in left:
            yield ok(device["id"])
        else:
            evidence = {"command": "lspci", "value": None, "threshold": "as it was earlier"}
            yield broken(f"{_name(device)} was on the PCI bus earlier and is gone", evidence, device["id"])


_OTHER_SLOT = "put the card into a slot with as many lanes as it has, or take the slot's lanes for what it can do"

RULES = (
    Rule(
        name="pcie.width_low",
        summary="PCIe links of accelerators and fast network cards have all their lanes",
        why="With half the lanes half the bandwidth is left, to the host as to the network, and nothing says so; lanes "
        "are lost by dirt, a bad riser or a card that sits badly. (Speed may drop while idle, width does not.)",
        remedy="reseat the card, its riser and cables; then see the slot's bifurcation in the firmware's setup, and "
        "swap the card with a healthy one: `lspci -vvv -s SLOT | grep -E 'LnkCap|LnkSta'`",
        status=Status.FAIL,
        needs=("pcie",),
        judge=_width,
    ),
    Rule(
        name="pcie.speed_low",
        summary="PCIe links run at the speed that the devices can do",
        why="An idle accelerator lowers its speed and raises it under load, so that only a link which stays slow under "
        "load costs bandwidth; the slot may also be of an older generation.",
        remedy="look again under load: `nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.gen.max --format=csv`, "
        "or `lspci -vvv -s SLOT | grep LnkSta`",
        status=Status.INFO,
        needs=("pcie",),
        judge=_speed,
    ),
    Rule(
        name="pcie.card_speed_low",
        summary="fast network cards have the full speed of PCIe, or what their ports need",
        why="A network card does not lower its speed while idle: the link has trained badly, and carries half.",
        remedy="reseat the card and its riser, and see that the firmware's setup does not hold the slot at a lower "
        "generation; `lspci -vvv -s SLOT | grep -E 'LnkCap|LnkSta'` of the card and of the port above it",
        status=Status.WARN,
        needs=("pcie",),
        judge=_card_speed,
    ),
    Rule(
        name="pcie.off_bus",
        summary="every accelerator, network card and bridge above them answers on PCIe",
        why="A device whose registers read all ones (rev ff, header type 7f) lost its link or power, though the "
        "kernel still lists it.",
        remedy="power-cycle the host, and have the card, its slot and power looked at if it comes again; where power "
        "management lets it sleep /sys/bus/pci/devices/SLOT/power_state says D3cold, and nothing is wrong",
        status=Status.FAIL,
        needs=("pcie",),
        judge=_off_bus,
    ),
    Rule(
        name="pcie.acs_on",
        summary="ACS does not lead traffic between devices over the root port",
        why="With Access Control Services on, GPUDirect and peer-to-peer copies leave the PCIe switch and come back, "
        "which NCCL's troubleshooting guide names as a cause of low bandwidth and hangs.",
        remedy="turn ACS (or the IOMMU, VT-d) off in the firmware's setup; until the next boot: `setpci -s SLOT "
        "ECAP_ACS+0x6.w=0000` for each of these bridges. In a virtual machine it has to stay on",
        status=Status.WARN,
        needs=("pcie",),
        judge=_access_control,
    ),
    Rule(
        name="pcie.relaxed_ordering_off",
        summary="relaxed ordering is on at accelerators and fast network cards",
        why="Without it writes wait for each other on the way to memory, which costs RDMA bandwidth on machines with "
        "several NUMA nodes.",
        remedy="turn PCIe relaxed ordering on in the firmware's setup; for a Mellanox card also `mlxconfig -d SLOT set "
        "PCI_WR_ORDERING=1`",
        status=Status.INFO,
        needs=("pcie",),
        judge=_relaxed_ordering,
    ),
    Rule(
        name="pcie.read_request_small",
        summary="fast network cards read memory in large requests",
        why="Small read requests keep a fast card from filling its link: every one of them waits for its answer.",
        remedy="`setpci -s SLOT CAP_EXP+8.w` shows the register; set MaxReadReq to 4096 in the firmware's setup, or by "
        "setpci until the next boot",
        status=Status.WARN,
        needs=("pcie",),
        judge=_read_request,
        thresholds={"least": Threshold(512, "bytes", "the value after a reset, by the PCI Express specification")},
    ),
    Rule(
        name="pcie.iommu_translates",
        summary="the IOMMU is off or lets devices pass",
        why="Translated addresses cost peer-to-peer and RDMA bandwidth, and some drivers refuse peers because of it.",
        remedy="add iommu=pt to the kernel's command line (on Arm: iommu.passthrough=1) and boot again",
        status=Status.INFO,
        needs=("pcie",),
        judge=_iommu,
    ),
    Rule(
        name="pcie.width_differs",
        summary="devices of one kind have as many PCIe lanes as their peers",
        why="One with fewer lanes than its peers makes all of them wait in every collective.",
        remedy="compare the slot with that of a peer: riser, cables, bifurcation in the firmware's setup",
        status=Status.WARN,
        needs=("pcie",),
        judge=_widths,
        scope=Scope.FLEET,
    ),
    Rule(
        name="pcie.accelerators_differ",
        summary="every host has as many accelerators on the PCI bus",
        why="One that has dropped off the bus is missing without a word from the tools of its vendor.",
        remedy="`lspci` there against a host that has all; look into `dmesg` for the missing address, then reset or "
        "power-cycle the host, and have the card looked at if it stays away",
        status=Status.FAIL,
        needs=("pcie",),
        judge=_counts,
        scope=Scope.FLEET,
    ),
    Rule(
        name="pcie.device_gone",
        summary="all accelerators and fast network cards are still on the PCI bus",
        why="A device that was there before and is gone has dropped off the bus: its link or its power failed.",
        remedy="look into `dmesg` for its address; power-cycle the host, and have the card and its riser looked at",
        status=Status.FAIL,
        needs=("pcie",),
        judge=_gone,
        scope=Scope.SNAPSHOTS,
    ),
)  # fmt: skip
