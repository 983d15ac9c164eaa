"""PCI Express: width and speed of links, ACS and relaxed ordering, of accelerators, network cards and above.

Sources: /sys/bus/pci/devices, and `lspci -vvv` for what only root may see. Where a host was recorded without sysfs, its
`lspci` is all there is. May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from probes.pcie import lspci, sysfs
from probes.pcie.isolation import iommu, virtual
from probes.pcie.kinds import BRIDGE, kind_of_text
from probes.pcie.lspci import Block
from probes.reading import Reading, State
from probes.visit import Visit


@dataclass(frozen=True, slots=True)
class PcieDevice:
    """`id`: the PCI address with its domain. `kind`: accelerator, network, bridge or other. Speeds in GT/s, a read
    request in bytes. `upstream`: the bridges above it, the root port first. `access_control`: ACS is on, and traffic to
    a neighbour goes up to the root port. `off_bus`: it no longer answers, as `lspci` sees it. `source`: `lspci`, or the
    folder in sysfs. `lines`: fact -> the line of `lspci` it stood in."""

    id: str
    kind: str
    name: str | None = None
    class_code: str | None = None
    vendor: str | None = None
    device: str | None = None
    width: int | None = None
    width_max: int | None = None
    speed: float | None = None
    speed_max: float | None = None
    numa_node: int | None = None
    upstream: tuple[str, ...] = ()
    driver: str | None = None
    virtual_function: bool | None = None
    relaxed_ordering: bool | None = None
    max_read_request: int | None = None
    access_control: bool | None = None
    off_bus: bool | None = None
    source: str = ""
    lines: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PcieFacts:
    """Of all devices only accelerators, network cards and the bridges above them. `capabilities`: how the question for
    what only root may see ended. `iommu`: off, passthrough or translated. `virtual`: this is a virtual machine."""

    devices: tuple[PcieDevice, ...] | None
    capabilities: Reading | None = None
    iommu: str | None = None
    virtual: bool | None = None


def read(visit: Visit) -> PcieFacts:
    found = sysfs.devices(visit)
    blocks, reading = lspci.ask(visit, needed=found != ())
    devices = None if found is None else tuple(_from_sysfs(entry, blocks.get(entry.id)) for entry in found)
    if found is None and blocks:
        devices = _of_text(blocks)
    return PcieFacts(
        devices=devices,
        capabilities=None if reading.state is State.ABSENT else replace(reading, values={}, lines={}),
        iommu=iommu(visit, [device.id for device in devices or () if device.kind != BRIDGE]),
        virtual=virtual(visit, [block.name for block in blocks.values()]),
    )


def _from_sysfs(entry: sysfs.Entry, block: Block | None) -> PcieDevice:
    """sysfs, and what `lspci` adds to it."""
    device = PcieDevice(
        entry.id, entry.kind, None, entry.class_code, entry.vendor, entry.device, entry.width, entry.width_max,
        entry.speed, entry.speed_max, entry.numa_node, entry.upstream, entry.driver, entry.virtual_function,
        source=f"{sysfs.DEVICES}/{entry.id}",
    )  # fmt: skip
    if block is None:
        return device
    return replace(
        device,
        name=block.name,
        relaxed_ordering=block.relaxed_ordering,
        max_read_request=block.max_read_request,
        access_control=block.access_control,
        off_bus=block.off_bus,
        lines={name: line for name, line in block.lines.items() if name in _ONLY_LSPCI},
    )


_ONLY_LSPCI = ("relaxed_ordering", "max_read_request", "access_control", "off_bus")


def _of_text(blocks: Mapping[str, Block]) -> tuple[PcieDevice, ...]:
    """An excerpt may hold nothing but bridges, and then all of them are of interest."""
    above = {slot: _above(slot, blocks) for slot in blocks}
    kinds = {slot: kind_of_text(block.title, block.name) for slot, block in blocks.items()}
    ends = [slot for slot in blocks if kinds[slot] not in (None, BRIDGE)]
    wanted = {*ends, *(bridge for slot in ends for bridge in above[slot])}
    wanted |= {slot for slot in blocks if kinds[slot] == BRIDGE and _leads_anywhere(blocks[slot])}
    if all(kind == BRIDGE for kind in kinds.values()):
        wanted = set(blocks)
    return tuple(
        _from_text(slot, blocks[slot], kinds[slot] or BRIDGE, above[slot]) for slot in blocks if slot in wanted
    )


def _leads_anywhere(bridge: Block) -> bool:
    """Its buses are left out of an excerpt that has its capabilities."""
    return bridge.secondary > bridge.subordinate and bridge.access_control is not None


def _above(slot: str, blocks: Mapping[str, Block]) -> tuple[str, ...]:
    """The bridges behind which the bus of this address lies, the root port first."""
    domain, bus = slot.split(":")[:2]
    holding = [
        (block.secondary, bridge)
        for bridge, block in blocks.items()
        if bridge.startswith(f"{domain}:") and block.secondary <= int(bus, 16) <= block.subordinate
    ]
    return tuple(bridge for _, bridge in sorted(holding))


def _from_text(slot: str, block: Block, kind: str, above: tuple[str, ...]) -> PcieDevice:
    return PcieDevice(
        slot, kind, block.name, None, block.vendor, None, block.width, block.width_max, block.speed, block.speed_max,
        block.numa_node, above, block.driver, block.virtual_function, block.relaxed_ordering, block.max_read_request,
        block.access_control, block.off_bus, block.source, block.lines,
    )  # fmt: skip
