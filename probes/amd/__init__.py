"""AMD GPUs: which there are, and what amd-smi, rocm-smi and sysfs say of them. May import: probes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.reading import Reading
from probes.visit import Visit


@dataclass(frozen=True, slots=True)
class AmdDevice:
    """By its index in amd-smi, which orders by PCI address. `bus`: the PCI address."""

    id: int
    name: str | None = None
    bus: str | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AmdFacts:
    """None where nothing could be asked. `readings`: of all devices together."""

    devices: tuple[AmdDevice, ...] | None
    readings: Mapping[str, Reading] = field(default_factory=dict)


def read(visit: Visit) -> AmdFacts:
    return AmdFacts(None)
