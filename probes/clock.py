"""The clock: what keeps it, and whether it is synchronised. May import: probes."""

from __future__ import annotations

from dataclasses import dataclass

from probes.visit import Visit


@dataclass(frozen=True, slots=True)
class ClockFacts:
    synchronised: bool | None


def read(visit: Visit) -> ClockFacts:
    return ClockFacts(None)
