"""The native engine: plans run by the compiled core, over shared memory inside a host and TCP between hosts.

Python binds, the core runs: whole calls, and whole timed loops, without the interpreter.
May import: engine, communicator, faults, dtypes, ops, recorder, schedule, and this package.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from collectives.communicator import Stamps
from collectives.dtypes import Array
from collectives.errors import CollectiveError
from collectives.native import core
from collectives.native.channel import NativeChannel
from collectives.native.exchange import exchange
from collectives.native.region import Mapping, Region, reach
from collectives.native.wires import Wires
from collectives.placement import Placement
from collectives.recorder import Recorder
from collectives.rendezvous import Store
from collectives.secrets import secret

if TYPE_CHECKING:
    from collectives.native import _core
else:
    _core = core()  # None where it was not built; then nobody opens an engine

_EAGER_TOTAL = 8 << 20
"""Bytes of payload slots towards a rank from all its peers together, at the most, per group."""
_MOST_EAGER, _LEAST_EAGER = 32 << 10, 1 << 10
_DIRECT, _DIRECT_CROWDED = 1 << 10, 8 << 10
"""Messages above it are read where they lie instead of being copied through a slot. Then the sender waits until they
have been read, which costs more where ranks share cores."""
_ALONE = (4000, 200)
"""How often a wait looks for news while spinning, and then while letting others run, before it sleeps."""
_CROWDED = (5, 2000)
"""The same where ranks share cores: who spins keeps off the core the one that is waited for."""
_CACHE = 32 << 20
"""Of the last level, where the system does not tell."""


class NativeEngine:
    """One rank's. `regions` are those of all ranks, as mapped here, and None for ranks of other hosts, which `wires`
    reach; with `crowded`, ranks share cores. Without a `recorder` calls are recorded where nobody looks."""

    def __init__(
        self,
        rank: int,
        region: Region,
        regions: Sequence[Mapping | Region | None],
        crowded: bool,
        timeout: float,
        wires: Wires | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.rank, self.size = rank, len(regions)
        self.region, self.timeout = region, timeout
        self.far = {other for other, mapped in enumerate(regions) if mapped is None}
        self.name = f"native core ({_core.features()}) over shared memory{' and TCP' if wires else ''}"
        self.transport = "shm"
        self._regions, self._wires = list(regions), wires
        self.recorder = recorder or Recorder(rank, self.size)
        self.eager = _eager(len(regions) - len(self.far))
        self.direct = _DIRECT_CROWDED if crowded else _DIRECT
        """Bytes of a payload slot, and of the longest message that always goes through one."""
        patience = _CROWDED if crowded else _ALONE
        addresses = [mapped.address if mapped else 0 for mapped in regions]
        self.world = _core.World(rank, addresses, region.length, *patience, _cache(), self.recorder.memory)
        self._channels: list[NativeChannel] = []

    @property
    def registered(self) -> int:
        return self.region.handed_out

    def allocate(self, count: int, dtype: np.dtype[Any]) -> Array:
        return self.region.allocate(count, dtype)

    def reach(self, group: int, ranks: Sequence[int]) -> dict[int, socket.socket]:
        """See Wires.reach."""
        assert self._wires
        return self._wires.reach(group, ranks, self.timeout)

    def channel(self, group: int, ranks: Sequence[int], name: int = 0) -> NativeChannel:
        channel = NativeChannel(self, group, ranks, name)
        self._channels.append(channel)
        return channel

    def overhead(self, iterations: int) -> Stamps:
        stamps = np.empty((iterations, 2), np.int64)
        _core.overhead(iterations, stamps)
        return stamps

    def close(self) -> None:
        """End what is under way. Memory stays for as long as arrays refer to it."""
        for channel in self._channels:
            channel.close()
        if self._wires:
            self._wires.close()
        if self.region.descriptor >= 0:
            self.region.close()


def open_native(
    placement: Placement,
    store: Store,
    token: str,
    timeout: float,
    address: str | None = None,
    recorder: Recorder | None = None,
) -> NativeEngine:
    """Make this rank's region, get those of the others of this host, and learn how to reach the ranks of other hosts,
    which reach this one at `address`. Raises RendezvousError, ResourceError."""
    rank, size = placement.rank, placement.world_size
    wires = Wires(rank, address, token) if address else None
    try:
        mine = {
            "node": placement.node,
            "reach": reach(placement.local_size),
            "cpus": sorted(os.sched_getaffinity(0)),
            "door": (address, wires.port) if wires else None,
        }
        all_of_us = store.gather("memory", rank, mine, size, timeout)
        if wires:
            wires.learn([tuple(member["door"]) for member in all_of_us])
        near = [other for other, member in enumerate(all_of_us) if member["node"] == placement.node]
        length = min(all_of_us[other]["reach"] for other in near)
        region, regions = _share(placement, near, length, token, store, timeout)
    except CollectiveError:
        if wires:
            wires.close()
        raise
    cpus = {cpu for other in near for cpu in all_of_us[other]["cpus"]}
    everywhere = [regions.get(other) for other in range(size)]
    return NativeEngine(rank, region, everywhere, len(near) > len(cpus), timeout, wires, recorder)


def _share(
    placement: Placement, near: Sequence[int], length: int, token: str, store: Store, timeout: float
) -> tuple[Region, dict[int, Mapping | Region]]:
    """This rank's region, and those of all ranks of this host, by rank."""
    region, rank, proof = Region(length), placement.rank, f"{secret(token, 'regions'):016x}"
    regions: dict[int, Mapping | Region] = {rank: region}
    try:
        descriptors = exchange(rank, placement.world_size, near, region.descriptor, proof, store, timeout)
        try:
            for other, descriptor in descriptors.items():
                regions[other] = Mapping(descriptor, length)
        finally:
            for descriptor in descriptors.values():
                os.close(descriptor)
        region.reserve_directory()
    except CollectiveError:
        region.close()
        raise
    return region, regions


def _eager(ranks: int) -> int:
    """Bytes of a payload slot: a power of two, less where many peers need room."""
    share = _EAGER_TOTAL // _core.SLOTS // max(ranks - 1, 1)
    return min(max(1 << share.bit_length() - 1, _LEAST_EAGER), _MOST_EAGER)


def _cache() -> int:
    """Bytes of the last-level cache, beyond which stores go past it."""
    try:
        return max(os.sysconf("SC_LEVEL3_CACHE_SIZE"), os.sysconf("SC_LEVEL2_CACHE_SIZE")) or _CACHE
    except (ValueError, OSError):
        return _CACHE
