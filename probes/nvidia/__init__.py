"""NVIDIA GPUs: which there are, and what nvidia-smi and its like say of them. May import: probes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.reading import Reading
from probes.visit import Visit


@dataclass(frozen=True, slots=True)
class NvidiaDevice:
    """By its index in nvidia-smi. `bus`: the PCI address."""

    id: int
    name: str | None = None
    bus: str | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NvidiaFacts:
    """None where nothing could be asked. `readings`: of all devices together."""

    devices: tuple[NvidiaDevice, ...] | None
    readings: Mapping[str, Reading] = field(default_factory=dict)


def read(visit: Visit) -> NvidiaFacts:
    return NvidiaFacts(None)
