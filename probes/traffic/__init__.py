"""Traffic of links: what NICs, RDMA ports and the links of devices have counted until now, or measure themselves.

A source is asked again and again. What it tells at one time is a `Look`; what that says of one link, a `Sighting`.
Nothing here subtracts: that is for whoever keeps the one before. May import: probes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from probes.reading import Reading, State

Clock = Callable[[], float]
"""Seconds of a clock that never goes back."""

MOST = (1 << 64) - 1
"""No counter is wider."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One link as one source saw it. `time`: of the clock, when it was read. `source`: the file or command.

    `traffic`: rx_bytes tx_bytes rx_packets tx_packets, counted since some time before. `rates`: rx_bytes and tx_bytes
    a second, where the source measures them itself. `errors`, `drops` and `retransmits` are counters by the source's
    own names. `limit`: bytes/s that the link carries in one direction. `incarnation`: another one means that the name
    is now another link's, whose counters have nothing to do with those before.
    """

    link: str
    kind: str
    time: float
    source: str
    traffic: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    drops: Mapping[str, int] = field(default_factory=dict)
    retransmits: Mapping[str, int] = field(default_factory=dict)
    limit: float | None = None
    incarnation: int | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """All links of one `scope`, such as the NICs of the host, or why they could not be seen: the question to a tool,
    how it ended, and the reason."""

    scope: str
    sightings: tuple[Sighting, ...]
    state: State = State.TOLD
    reason: str | None = None
    question: str | None = None


def blind(scope: str, reading: Reading) -> Look:
    """A look at which a tool told nothing."""
    return Look(scope, (), reading.state, reading.reason, reading.source)


def counter(text: str | None) -> int | None:
    """What a file of one counter holds; None for what no counter can be."""
    digits = (text or "").strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(MOST))):
        return None
    found = int(digits)
    return found if found <= MOST else None


def known(values: Mapping[str, int | None]) -> dict[str, int]:
    """Those that are."""
    return {name: value for name, value in values.items() if value is not None}
