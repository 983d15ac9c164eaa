"""What a controller knows of one rank. May import: the standard library."""

from __future__ import annotations

from dataclasses import dataclass


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
