"""Accelerators, vendor by vendor. May import: probes, one module a vendor."""

from __future__ import annotations

from dataclasses import dataclass

from probes import ascend
from probes.host import Host


@dataclass(frozen=True, slots=True)
class AcceleratorsFacts:
    ascend: ascend.AscendFacts


def read(host: Host) -> AcceleratorsFacts:
    return AcceleratorsFacts(ascend.read(host))
