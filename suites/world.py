"""The ranks of a run on this host: how many, on which cores, and whether their buffers fit.

Pure decisions from facts; `look` reads the facts. May import: collectives, probes, errors, jobs.arena.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collectives.placement import Placement
from probes import cpu, memory
from probes.host import Host
from suites.errors import UsageError

MOST_RANKS = 8
"""By default; more on request."""
RANK_OVERHEAD = 64 << 20
"""What a rank takes beside buffers, scratch and arena, at the most."""
MOST_ASKED = 4096


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What the choice of a world depends on. Unknown is None."""

    name: str
    core_cpus: tuple[int, ...]
    """One logical CPU per physical core that may be used."""
    cores: int
    available: int | None
    cache: int
    """All last-level caches together, in bytes."""


@dataclass(frozen=True, slots=True)
class World:
    """The ranks of a run and why there are so many."""

    host: str
    placements: tuple[Placement, ...]
    cpus: tuple[tuple[int, ...] | None, ...]
    why: str

    @property
    def size(self) -> int:
        return len(self.placements)


def look(host: Host) -> HostFacts:
    facts = cpu.read(host)
    cores = facts.core_cpus or facts.allowed_cpus or (0,)
    last, shared = facts.last_level_cache_bytes or 0, facts.last_level_cache_shared_by or 1
    caches = max(-(-(facts.logical_cpus or 1) // shared), 1)
    available = memory.available_bytes(host)
    return HostFacts(socket.gethostname(), cores, facts.physical_cores or len(cores), available, last * caches)


def choose(facts: HostFacts, asked: int | None, bind: bool, need: Callable[[int], int]) -> World:
    """The world of a run. `need(ranks)` is the memory that all ranks together take, in bytes.

    An asked number is kept or refused; the default is cut to what fits. Raises UsageError.
    """
    if asked is not None:
        if not 1 <= asked <= MOST_ASKED:
            raise UsageError(f"{asked} ranks: ask for 1 to {MOST_ASKED}")
        refuse_too_much(facts, asked, need(asked))
        return _world(facts, asked, bind, f"{asked} ranks, as asked")
    ranks = max(min(facts.cores, MOST_RANKS), 1)
    why = f"{ranks} ranks: one for each of {facts.cores} physical cores"
    if facts.cores > MOST_RANKS:
        why = f"{ranks} ranks: the most without -n ({facts.cores} physical cores)"
    fitting = ranks
    while fitting > 1 and facts.available is not None and need(fitting) > facts.available:
        fitting -= 1
    if fitting < ranks:
        why = f"{fitting} of {ranks} ranks: more do not fit in {_mib(facts.available or 0)}"
    refuse_too_much(facts, fitting, need(fitting))
    return _world(facts, fitting, bind, why)


def refuse_too_much(facts: HostFacts, ranks: int, needed: int) -> None:
    """Raises UsageError with the arithmetic when the buffers of all ranks do not fit."""
    if facts.available is not None and needed > facts.available:
        raise UsageError(
            f"{ranks} ranks need {_mib(needed)} ({_mib(needed // ranks)} each: buffers, scratch, rotation and "
            f"{_mib(RANK_OVERHEAD)} for the process), but only {_mib(facts.available)} are available; "
            "use a smaller --size, fewer ranks (-n) or --cache warm"
        )


def _world(facts: HostFacts, ranks: int, bind: bool, why: str) -> World:
    pinned = bind and ranks <= min(facts.cores, len(facts.core_cpus))
    cpus: Sequence[tuple[int, ...] | None] = [(core,) for core in facts.core_cpus[:ranks]] if pinned else [None] * ranks
    placements = tuple(Placement(rank, ranks, rank, ranks, 0, 1) for rank in range(ranks))
    return World(facts.name, placements, tuple(cpus), why)


def _mib(count: int) -> str:
    return f"{count / (1 << 20):,.0f} MiB"
