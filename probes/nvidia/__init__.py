"""NVIDIA GPUs: which there are, and what nvidia-smi and its like say of them.

May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from probes.by_device import Split, pci_address, split
from probes.nvidia import dcgm, fabric, identity, nccl_topology, smi
from probes.reading import Reading, State, silent
from probes.visit import Visit

_FILE = re.compile(r"nvidia(\d{1,3})")
_ASKED = re.compile(r"dcgmi nvlink.* -g (\d{1,3})(?!\d)")
_KNOWN_TO_DRIVER = "/proc/driver/nvidia/gpus"


@dataclass(frozen=True, slots=True)
class NvidiaDevice:
    """By its index in nvidia-smi. `bus`: the PCI address."""

    id: int
    name: str | None = None
    bus: str | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NvidiaFacts:
    """None where nothing could be asked, or nobody told anything. `readings`: of all devices together."""

    devices: tuple[NvidiaDevice, ...] | None
    readings: Mapping[str, Reading] = field(default_factory=dict)


def read(visit: Visit) -> NvidiaFacts:
    asked = smi.of_host(visit) | visit.ask_all(dcgm.TOOL, dcgm.HOST_QUERIES)
    answers = {name: split(reading) for name, reading in asked.items()}
    files = visit.listdir("/dev")
    minors = {int(match[1]) for match in map(_FILE.fullmatch, files or ()) if match}
    minors |= {int(match[1]) for match in map(_ASKED.search, visit.recorded() or ()) if match}
    buses = [bus for name in visit.listdir(_KNOWN_TO_DRIVER) or () if (bus := pci_address(name))]
    gpus = identity.joined({name: answer.gpus for name, answer in answers.items()}, minors, buses)
    readings = {name: answer.host for name, answer in answers.items()} | fabric.of_files(visit)
    if topology := nccl_topology.of_file(visit):
        readings["nccl_topology"] = topology
    if gpus or visit.recorded():
        readings |= visit.ask_all(fabric.TOOL, fabric.QUERIES)
    devices = tuple(_device(visit, gpu, answers) for gpu in gpus)
    none = files is not None and not silent(asked.values())
    none |= any(reading.values.get("fault") == "no_devices" for reading in readings.values())
    return NvidiaFacts(devices if devices or none else None, readings)


def _device(visit: Visit, gpu: identity.Gpu, answers: Mapping[str, Split]) -> NvidiaDevice:
    """With the reason for what was not told of any GPU."""
    readings = dict(_untold(answers)) | gpu.readings | visit.ask_all(dcgm.TOOL, dcgm.DEVICE_QUERIES, gpu=gpu.id)
    return NvidiaDevice(gpu.id, gpu.name, gpu.bus, readings)


def _untold(answers: Mapping[str, Split]) -> Iterator[tuple[str, Reading]]:
    for name, answer in answers.items():
        if answer.host.state is not State.TOLD:
            yield name, replace(answer.host, values={}, counters={}, momentary={}, lines={})
