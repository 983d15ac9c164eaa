"""AMD GPUs: which there are, and what amd-smi, rocm-smi and sysfs say of them.

amd-smi is asked first, rocm-smi where that does not tell of links, and sysfs needs no tool at all. They are joined by
PCI address, since each counts GPUs in an order of its own. May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from probes.amd import rocm, smi, sysfs
from probes.by_device import Split, split
from probes.reading import Reading, State, silent
from probes.visit import Visit


@dataclass(frozen=True, slots=True)
class AmdDevice:
    """By its index in amd-smi, which orders by PCI address; where only rocm-smi tells, by its index there. `bus`: the
    PCI address."""

    id: int
    name: str | None = None
    bus: str | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AmdFacts:
    """None where nothing could be asked, or nobody told anything. `readings`: of all devices together. `on_pcie`:
    addresses of the GPUs that PCIe has, whether or not a driver has taken them."""

    devices: tuple[AmdDevice, ...] | None
    readings: Mapping[str, Reading] = field(default_factory=dict)
    on_pcie: tuple[str, ...] | None = None


def read(visit: Visit) -> AmdFacts:
    answers = _asked(visit)
    cards = sysfs.cards(visit)
    buses = _buses(answers)
    for bus in cards:
        if not answers and bus not in buses.values():
            buses[len(buses)] = bus
    none = visit.listdir("/dev") is not None and not silent(answer.host for answer in answers.values())
    none |= any("fault" in answer.host.values for answer in answers.values())
    devices = tuple(_device(gpu, buses[gpu], answers, cards) for gpu in sorted(buses))
    return AmdFacts(
        devices=devices if devices or none else None,
        readings={name: answer.host for name, answer in answers.items()},
        on_pcie=sysfs.on_pcie(visit),
    )


def _asked(visit: Visit) -> dict[str, Split]:
    """rocm-smi's answer about links stands in for amd-smi's, with the addresses that join it to the rest."""
    found = _split(visit.ask_all(smi.TOOL, (*smi.QUERIES, smi.TOPOLOGY)))
    if "topology" in found and found["topology"].gpus:
        return found
    other = _split(visit.ask_all(rocm.TOOL, (rocm.TOPOLOGY, rocm.BUS, rocm.TABLE)))
    known = {bus: str(gpu) for gpu, bus in _buses(found).items() if bus}
    if not known:
        return found | other
    return found | {"topology": links} if (links := rocm.renumbered(other, known)) else found


def _split(readings: Mapping[str, Reading]) -> dict[str, Split]:
    return {name: split(reading) for name, reading in readings.items()}


def _buses(answers: Mapping[str, Split]) -> dict[int, str | None]:
    """Every GPU that any answer is about, with its address where one tells it."""
    found: dict[int, str | None] = {}
    for answer in answers.values():
        for name, reading in answer.gpus.items():
            found[int(name)] = found.get(int(name)) or reading.values.get("bus")
    return found


def _device(gpu: int, bus: str | None, answers: Mapping[str, Split], cards: Mapping[str, Reading]) -> AmdDevice:
    readings = {name: answer.gpus[str(gpu)] for name, answer in answers.items() if str(gpu) in answer.gpus}
    for name, answer in answers.items():
        if answer.host.state is not State.TOLD:
            readings.setdefault(name, replace(answer.host, values={}, counters={}, momentary={}, lines={}))
    if bus and bus in cards:
        readings["sysfs"] = cards[bus]
    names = (reading.values.get("name") for reading in readings.values())
    return AmdDevice(gpu, next(filter(None, names), None), bus, readings)
