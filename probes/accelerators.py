"""Accelerators, vendor by vendor. May import: probes, one package a vendor."""

from __future__ import annotations

from dataclasses import dataclass

from probes import amd, ascend, nvidia
from probes.visit import Visit


@dataclass(frozen=True, slots=True)
class AcceleratorsFacts:
    ascend: ascend.AscendFacts
    nvidia: nvidia.NvidiaFacts
    amd: amd.AmdFacts


def read(visit: Visit) -> AcceleratorsFacts:
    return AcceleratorsFacts(ascend.read(visit), nvidia.read(visit), amd.read(visit))
