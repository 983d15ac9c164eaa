"""The ranks of a run: how many on each host, on which cores, and whether their buffers fit.

Pure decisions from facts; `look` reads the facts. May import: collectives, probes, errors, jobs.arena.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from collectives import native
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
class Seat:
    """A rank that another launcher has put on a host: its number there, and the CPUs it was given."""

    rank: int
    cpus: tuple[int, ...]


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
    without_core: str | None = field(default=None, kw_only=True)
    """Why there is no native core and what to do, as "reason; remedy"."""


@dataclass(frozen=True, slots=True)
class TakenHost(HostFacts):
    """A host on which another launcher has started the ranks of the run already."""

    launcher: str
    seats: tuple[Seat, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """How many ranks were asked for, all together or on each host; None is the default."""

    ranks: int | None = None
    per_host: int | None = None


@dataclass(frozen=True, slots=True)
class World:
    """The ranks of a run, host after host, and why there are so many."""

    hosts: tuple[str, ...]
    placements: tuple[Placement, ...]
    cpus: tuple[tuple[int, ...] | None, ...]
    why: str

    @property
    def size(self) -> int:
        return len(self.placements)

    @property
    def counts(self) -> tuple[int, ...]:
        """Ranks on each host."""
        return tuple(sum(place.node == node for place in self.placements) for node in range(len(self.hosts)))

    @property
    def host_of(self) -> tuple[str, ...]:
        """The host of every rank."""
        return tuple(self.hosts[place.node] for place in self.placements)


Need = Callable[[Sequence[int]], Sequence[int]]
"""What the ranks of each host take together in bytes, for so many ranks on each."""


def look(host: Host) -> HostFacts:
    facts = cpu.read(host)
    cores = facts.core_cpus or facts.allowed_cpus or (0,)
    last, shared = facts.last_level_cache_bytes or 0, facts.last_level_cache_shared_by or 1
    caches = max(-(-(facts.logical_cpus or 1) // shared), 1)
    available = memory.available_bytes(host)
    return HostFacts(
        socket.gethostname(), cores, facts.physical_cores or len(cores), available, last * caches,
        without_core=native.unavailable(),
    )  # fmt: skip


def choose(facts: Sequence[HostFacts], asked: Asked, slots: Sequence[int | None], bind: bool, need: Need) -> World:
    """The world of a run on these hosts, of which some may have been given a number of slots.

    An asked number is kept or refused; the default is cut to what fits; what another launcher has chosen is taken.
    Raises UsageError.
    """
    if taken := [host for host in facts if isinstance(host, TakenHost)]:
        return _taken(taken, asked, bind, need)
    counts, why = _counts(facts, asked, slots)
    if asked == Asked() and None in slots:
        counts, why = _cut(facts, slots, counts, need, why)
    refuse_too_much(facts, counts, need(counts))
    return _world(facts, counts, bind, why)


def _taken(facts: Sequence[TakenHost], asked: Asked, bind: bool, need: Need) -> World:
    """The world that a launcher has made, host by host, and on the CPUs that it has given to each rank."""
    counts = [len(host.seats) for host in facts]
    ranks = [seat.rank for host in facts for seat in host.seats]
    launcher, size = facts[0].launcher, len(ranks)
    if asked.ranks not in (None, size):
        raise UsageError(f"{asked.ranks} ranks: {launcher} has started {size}; leave -n out, or start as many")
    if asked.per_host is not None and set(counts) != {asked.per_host}:
        had = ", ".join(f"{count} on {host.name}" for host, count in zip(facts, counts, strict=True))
        raise UsageError(f"--per-host {asked.per_host}: {launcher} has started {had}; leave it out")
    refuse_too_much(facts, counts, need(_within(counts)))
    why = f"{size} ranks, as {launcher} has started them"
    if ranks != sorted(ranks):
        why += f", numbered host by host ({launcher}'s own numbers: {', '.join(map(str, ranks))})"
    made = _world(facts, counts, bind, why)
    given = [cpus for host in facts for cpus in _given_cpus(host)]
    cpus = [own or chosen for own, chosen in zip(given, made.cpus, strict=True)]
    return World(made.hosts, made.placements, tuple(cpus), why)


def _given_cpus(host: TakenHost) -> list[tuple[int, ...] | None]:
    """Where all ranks of a host got the same CPUs, none was bound to any."""
    bound = len({seat.cpus for seat in host.seats}) > 1
    return [seat.cpus if bound else None for seat in host.seats]


def planned(names: Sequence[str], asked: Asked, slots: Sequence[int | None]) -> list[int] | None:
    """Ranks on each host, where that is known without a look at them. Raises UsageError."""
    if asked == Asked() and None in slots:
        return None
    return _counts([HostFacts(name, (), 0, None, 0) for name in names], asked, slots)[0]


def _counts(facts: Sequence[HostFacts], asked: Asked, slots: Sequence[int | None]) -> tuple[list[int], str]:
    """Ranks on each host, and why."""
    hosts = len(facts)
    if asked.per_host is not None:
        return _within([asked.per_host] * hosts), f"{asked.per_host * hosts} ranks, {asked.per_host} a host, as asked"
    if asked.ranks is None:
        counts = [slot or max(min(host.cores, MOST_RANKS), 1) for slot, host in zip(slots, facts, strict=True)]
        return _within(counts), _why(facts, counts, slots)
    if 1 <= asked.ranks < hosts:
        raise UsageError(f"{asked.ranks} ranks do not reach all of {hosts} hosts: name those that are to take part")
    if None in slots:
        each, more = divmod(asked.ranks, hosts)
        counts = [each + (number < more) for number in range(hosts)]
    else:
        counts = _fill(asked.ranks, [slot or 0 for slot in slots])
    return _within(counts), f"{asked.ranks} ranks, as asked"


def _fill(ranks: int, slots: Sequence[int]) -> list[int]:
    """One host after the other, as far as its slots go, but at least one on each."""
    if ranks > sum(slots):
        raise UsageError(f"{ranks} ranks: the hosts have {sum(slots)} slots; give more slots, or --per-host")
    counts = [1] * len(slots)
    for number, slot in enumerate(slots):
        counts[number] += min(slot - 1, ranks - sum(counts))
    return counts


def _within(counts: list[int]) -> list[int]:
    if not 1 <= sum(counts) <= MOST_ASKED:
        raise UsageError(f"{sum(counts)} ranks: ask for 1 to {MOST_ASKED}")
    return counts


def _why(facts: Sequence[HostFacts], counts: Sequence[int], slots: Sequence[int | None]) -> str:
    total = sum(counts)
    if len(facts) > 1:
        given = "one for each physical core, at most 8 a host"
        if slots.count(None) < len(slots):
            given = "as the host list says" + f", else {given}" * (None in slots)
        return f"{total} ranks on {len(facts)} hosts: {given}"
    if slots[0]:
        return f"{total} ranks, as the host list says"
    if facts[0].cores > MOST_RANKS:
        return f"{total} ranks: the most without -n ({facts[0].cores} physical cores)"
    return f"{total} ranks: one for each of {facts[0].cores} physical cores"


def _cut(
    facts: Sequence[HostFacts], slots: Sequence[int | None], counts: list[int], need: Need, why: str
) -> tuple[list[int], str]:
    """Fewer ranks on hosts whose memory does not hold the default."""
    fitting = list(counts)
    while short := [
        number
        for number, (host, needed) in enumerate(zip(facts, need(fitting), strict=True))
        if host.available is not None and needed > host.available and fitting[number] > 1 and slots[number] is None
    ]:
        for number in short:
            fitting[number] -= 1
    if fitting != counts:
        where = next(host for host, had, has in zip(facts, counts, fitting, strict=True) if has < had)
        on = f" on {where.name}" * (len(facts) > 1)
        why = f"{sum(fitting)} of {sum(counts)} ranks: more do not fit in {_mib(where.available or 0)}{on}"
    return fitting, why


def refuse_too_much(facts: Sequence[HostFacts], counts: Sequence[int], needed: Sequence[int]) -> None:
    """Raises UsageError with the arithmetic when the buffers of all ranks of a host do not fit there."""
    for host, ranks, need in zip(facts, counts, needed, strict=True):
        if host.available is not None and need > host.available:
            on = f" on {host.name}" * (len(facts) > 1)
            raise UsageError(
                f"{ranks} ranks{on} need {_mib(need)} ({_mib(need // ranks)} each: buffers, scratch, rotation and "
                f"{_mib(RANK_OVERHEAD)} for the process), but only {_mib(host.available)} are available; "
                "use a smaller --size, fewer ranks (-n) or --cache warm"
            )


def _world(facts: Sequence[HostFacts], counts: Sequence[int], bind: bool, why: str) -> World:
    placements: list[Placement] = []
    cpus: list[tuple[int, ...] | None] = []
    for node, (host, ranks) in enumerate(zip(facts, counts, strict=True)):
        first = len(placements)
        placements += [Placement(first + n, sum(counts), n, ranks, node, len(facts)) for n in range(ranks)]
        pinned = bind and ranks <= min(host.cores, len(host.core_cpus))
        cpus += [(core,) for core in host.core_cpus[:ranks]] if pinned else [None] * ranks
    return World(tuple(host.name for host in facts), tuple(placements), tuple(cpus), why)


def _mib(count: int) -> str:
    return f"{count / (1 << 20):,.0f} MiB"
