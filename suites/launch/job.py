"""What goes into a run and what comes out of it: the job, and the events its ranks cause.

May import: collectives, protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from collectives.placement import Placement
from suites.launch.protocol import Frame


@dataclass(frozen=True, slots=True)
class Job:
    """What the ranks are to do. `store` is the address to serve the rendezvous on; times are in seconds.

    `starter` is a name of STARTERS. Where `spins`, ranks use CPU while they wait, so only what they report shows that
    they go on.
    """

    name: str
    arguments: Mapping[str, Any]
    placements: Sequence[Placement]
    cpus: Sequence[Sequence[int] | None]
    token: str
    store: str
    timeout: float
    starter: str = "fork"
    spins: bool = False

    def frame(self) -> Frame:
        return {
            "type": "job",
            "job": self.name,
            "arguments": dict(self.arguments),
            "placements": [asdict(placement) for placement in self.placements],
            "cpus": [list(cpus) if cpus else None for cpus in self.cpus],
            "token": self.token,
            "store": self.store,
            "timeout": self.timeout,
            "starter": self.starter,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A frame a rank's job sent."""

    rank: int
    content: Frame


@dataclass(frozen=True, slots=True)
class Output:
    """What a rank, or an agent (rank None), printed."""

    rank: int | None
    stream: str
    text: str
