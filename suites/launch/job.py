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

    `lifeline` is how long an agent hears nothing before it takes its controller for gone; None where it would see that.
    `addresses` are where each host is reached by the others; with one host there are none.
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
    addresses: Sequence[str] = ()
    lifeline: float | None = None
    record: bool = False
    """What ranks have recorded is wanted of those that end well too."""

    def frame(self, node: int) -> Frame:
        """What the agent of one host is told. The store is served beside rank 0."""
        mine = [(place, cpus) for place, cpus in zip(self.placements, self.cpus, strict=True) if place.node == node]
        return {
            "type": "job",
            "job": self.name,
            "arguments": dict(self.arguments),
            "placements": [asdict(placement) for placement, _ in mine],
            "cpus": [list(cpus) if cpus else None for _, cpus in mine],
            "token": self.token,
            "store": self.store if any(placement.rank == 0 for placement, _ in mine) else None,
            "address": self.addresses[node] if self.addresses else None,
            "timeout": self.timeout,
            "starter": self.starter,
            "lifeline": self.lifeline,
            "record": self.record,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A frame a rank's job sent."""

    rank: int
    content: Frame


@dataclass(frozen=True, slots=True)
class Output:
    """What a rank, or an agent (rank None), printed. `noise` as a stream is what led to the agent,
    `asking` what an agent is about to ask a tool."""

    rank: int | None
    stream: str
    text: str
    host: str = ""


Event = Report | Output
