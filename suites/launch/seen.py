"""What a controller knows of the ranks of a run, by what their agents say of them.

May import: protocol, verdict's Fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from suites.launch.protocol import Frame
from suites.verdict import Fault

_BUSY_SECONDS = 0.1
"""CPU between two heartbeats from which on a rank is at work, not waiting."""


@dataclass(slots=True)
class Seen:
    """What is known of one rank."""

    pid: int | None = None
    phase: str = "start"
    state: str | None = None
    cpu: float = 0.0
    busy: float = 0.0
    """When it was last seen at work; it entered its wait after that."""
    finished: bool = False
    ended: bool = False
    failed: bool = False

    @property
    def silent(self) -> bool:
        """Neither done nor heard to have failed."""
        return not (self.failed or self.ended or self.finished)

    @property
    def stopped(self) -> bool:
        """By a signal or a debugger."""
        return (self.state or "").startswith(("T", "t"))

    @property
    def awaited(self) -> bool:
        """A report may still come."""
        return self.silent and not self.stopped


@dataclass(slots=True)
class Roll:
    """All ranks of a run."""

    ranks: dict[int, Seen] = field(default_factory=dict)

    def __getitem__(self, rank: int) -> Seen:
        return self.ranks[rank]

    @property
    def pids(self) -> dict[int, int]:
        """Of the ranks that were started."""
        return {rank: seen.pid for rank, seen in self.ranks.items() if seen.pid is not None}

    @property
    def all_started(self) -> bool:
        return all(seen.pid is not None for seen in self.ranks.values())

    @property
    def awaited(self) -> bool:
        return any(seen.awaited for seen in self.ranks.values())

    def any_silent(self, ranks: Iterable[int]) -> bool:
        return any(self.ranks[rank].silent for rank in ranks)

    def living(self, ranks: Iterable[int]) -> dict[int, int]:
        """Process ids of those that were started and are not known to have ended."""
        return {rank: pid for rank, pid in self.pids.items() if rank in ranks and not self.ranks[rank].ended}

    def on_beat(self, frame: Frame, now: float) -> bool:
        """Take note of states and CPU; whether any rank has used some."""
        moved = False
        for rank, state in frame["states"].items():
            self.ranks[int(rank)].state = state
        for rank, used in frame["cpu_seconds"].items():
            seen = self.ranks[int(rank)]
            moved |= used > seen.cpu
            if used - seen.cpu >= _BUSY_SECONDS:
                seen.busy = now
            seen.cpu = used
        return moved

    def last_busy(self) -> float:
        """When the last of those whose reports may still come was at work."""
        return max((seen.busy for seen in self.ranks.values() if seen.awaited), default=0.0)

    def silent(self, idle_since: float | None) -> list[Fault]:
        """Those that say nothing. Where waiting uses CPU, who used none since `idle_since` waits for nobody."""
        return [
            Fault(
                rank, "silent", seen.phase, state=seen.state, pid=seen.pid,
                idle=idle_since is not None and seen.busy < idle_since,
            )
            for rank, seen in self.ranks.items()
            if seen.silent
        ]  # fmt: skip
