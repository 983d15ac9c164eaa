"""RDMA devices and their ports: sysfs first, the tools of the fabric where it is not there. May import: probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from probes.visit import Visit


@dataclass(frozen=True, slots=True)
class RdmaFacts:
    devices: tuple[Any, ...] | None


def read(visit: Visit) -> RdmaFacts:
    return RdmaFacts(None)
