"""What the kernel and the fabric manager have written that matters to communication. May import: probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from probes.visit import Visit


@dataclass(frozen=True, slots=True)
class LogFacts:
    events: tuple[Any, ...] | None


def read(visit: Visit) -> LogFacts:
    return LogFacts(None)
