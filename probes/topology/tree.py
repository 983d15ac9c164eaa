"""What the devices of a host hang at: PCIe switches that join several of them, and NUMA nodes.

May import: probes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from probes.kernel_text import cpu_list
from probes.topology.devices import Device
from probes.topology.given import below, rows, whole, wholes
from probes.topology.graph import Node

_NUMA, _CPUS, _SWITCH = PREFIXES = ("numa", "cpus ", "switch")
"""How the names of all nodes begin that are no devices."""


def nodes(facts: Any, devices: Sequence[Device]) -> tuple[Node, ...]:
    """NUMA nodes, then switches, then devices, each with its parent."""
    cpus = list(_cpus(facts, devices))
    switches = _switches(devices)
    return (*cpus, *_switch_nodes(switches, devices), *(_device(device, switches) for device in devices))


def _cpus(facts: Any, devices: Sequence[Device]) -> Iterator[Node]:
    """NUMA nodes that have CPUs, or a device; and where nothing tells the node of a device, the CPUs near it."""
    listed = {whole(row.get("id")): wholes(row.get("cpus")) for row in rows(below(facts, "numa", "nodes"))}
    cpus = {node: found for node, found in listed.items() if node is not None and found}
    sockets = _sockets(sorted(cpus), whole(below(facts, "cpu", "sockets")))
    for node in sorted(set(cpus) | {device.place.numa for device in devices if device.place.numa is not None}):
        near = cpus.get(node) or next((_near(device) for device in devices if device.place.numa == node), None)
        yield Node(_numa_name(node), "cpu", None, node, {"cpus": list(near or ()) or None, "socket": sockets.get(node)})
    for name, near in {
        _cpus_name(one): _near(one) for one in devices if one.place.numa is None and one.affinity
    }.items():
        yield Node(name, "cpu", None, None, {"cpus": list(near or ()) or None, "socket": None})


def _sockets(numa: Sequence[int], sockets: int | None) -> Mapping[int, int]:
    """NUMA node -> socket, where the nodes can be shared out: to each socket as many, in the order of numbers."""
    if not sockets or not numa or len(numa) % sockets:
        return {}
    return {node: place // (len(numa) // sockets) for place, node in enumerate(numa)}


def _near(device: Device) -> tuple[int, ...] | None:
    return cpu_list(device.affinity)


def _numa_name(node: int) -> str:
    return f"{_NUMA}{node}"


def _cpus_name(device: Device) -> str:
    return f"{_CPUS}{device.affinity}"


def _switches(devices: Sequence[Device]) -> Mapping[str, str]:
    """Address of the upstream port -> name, of switches that join at least two devices."""
    below_each: dict[str, int] = {}
    for device in devices:
        for port in device.place.switches:
            below_each[port] = below_each.get(port, 0) + 1
    joining = sorted(port for port, count in below_each.items() if count > 1)
    return {port: f"{_SWITCH}{number}" for number, port in enumerate(joining)}


def _switch_nodes(switches: Mapping[str, str], devices: Sequence[Device]) -> Iterator[Node]:
    for port, name in switches.items():
        device = next(device for device in devices if port in device.place.switches)
        above = device.place.switches[: device.place.switches.index(port)]
        yield Node(name, "switch", _parent(device, above, switches), device.place.numa, {"slot": port})


def _device(device: Device, switches: Mapping[str, str]) -> Node:
    attributes = {**device.attributes, "slot": device.place.slot}
    if device.kind == "accelerator":
        attributes["affinity"] = device.affinity
    parent = _parent(device, device.place.switches, switches)
    return Node(device.name, device.kind, parent, device.place.numa, attributes)


def _parent(device: Device, above: Sequence[str], switches: Mapping[str, str]) -> str | None:
    """The nearest of the switches `above`, else the NUMA node, else the CPUs near the device."""
    if named := [switches[port] for port in above if port in switches]:
        return named[-1]
    if device.place.numa is not None:
        return _numa_name(device.place.numa)
    return _cpus_name(device) if device.affinity else None
