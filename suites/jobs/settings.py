"""What all cases of a run share, as the controller tells it to every rank, and the constants of measuring.

May import: collectives' types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectives.communicator import Sync

CHUNK_SECONDS = 0.25
"""Iterations run in chunks of about this long; between them, untimed, progress is reported."""
BATCH_SECONDS = 200e-6
"""With sync none, a sample is a batch of at least this long, so that reading the clock does not matter."""
REPEATS = 3
"""How often a wrong result is tried again, to say "always" or "sometimes"."""
MOST_PASSES = 8
"""Into so many slices the iterations of backends are cut that take turns, where there are as many: enough to tell the
drift of the machine from the difference of the backends, few enough that changing over costs next to nothing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in seconds; `budget` counts from here, or is None."""

    loop: int
    warmup: int
    sync: Sync
    check: bool
    beyond: int
    """Bytes a rank's rotation of buffers must exceed; 0 for a warm cache."""
    loop_asked: bool
    budget: float | None
    peak: float | None
    """Bus bandwidth in bytes/s that replaces the measured ceiling."""
    counts: tuple[int, ...]
    """Ranks on each host."""
    buffers: Literal["registered", "private"]
    """Memory that the backend has handed out, or memory it knows nothing of."""
