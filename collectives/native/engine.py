"""The native engine: plans run by the compiled core over shared memory of this host.

Python binds, the core runs: whole calls, and whole timed loops, without the interpreter.
May import: engine, communicator, faults, dtypes, ops, schedule, and this package.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from collectives.communicator import Stamps, Sync, Work
from collectives.dtypes import DTYPES, OPERATORS, Array, name_of
from collectives.errors import CollectiveError, ResourceError, UsageError
from collectives.faults import different_calls, different_messages, timed_out
from collectives.native import core
from collectives.native.compile import words
from collectives.native.exchange import exchange
from collectives.native.region import Mapping, Region, reach
from collectives.placement import Placement
from collectives.rendezvous import Store
from collectives.schedule import Plan
from collectives.secrets import secret
from collectives.transport.base import CallTag

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


@dataclass(slots=True)
class _Program:
    bound: Any
    scratch: Array | None
    latest: Future[Any] | None = None


class _Work:
    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    @property
    def done(self) -> bool:
        return self._future.done()

    def wait(self, timeout: float | None = None) -> bool:
        try:
            self._future.result(timeout)
        except FutureTimeout:
            return False
        return True


class NativeChannel:
    """A group. Its calls run one at a time: at once where nothing is under way, else in turn in the background."""

    def __init__(self, engine: NativeEngine, group: int, ranks: Sequence[int]) -> None:
        self._engine, self._ranks = engine, list(ranks)
        self._member = self._ranks.index(engine.rank)
        eager = _eager(engine.size)
        inbox = engine.region.take(_core.inbox_length(len(self._ranks), eager))
        direct = _DIRECT_CROWDED if engine.crowded else _DIRECT
        try:
            self._core = _core.Channel(engine.world, group, self._ranks, self._member, inbox, eager, direct)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise ResourceError(
                f"rank {engine.rank} takes part in {_core.GROUPS} groups, and there is no room for more"
            ) from None
        self._sequence = 1
        self._order = threading.Lock()
        """Held for a moment, to decide whose turn it is."""
        self._running = threading.Lock()
        """Held by the call that runs."""
        self._background: ThreadPoolExecutor | None = None
        self._latest: Future[Any] | None = None
        self._failed: Exception | None = None

    def bind(
        self,
        plan: Plan,
        send: Array | None,
        recv: Array | None,
        dtype: np.dtype[Any],
        operator: str,
        call: CallTag,
        footprint: int = 0,
    ) -> _Program:
        scratch = self._engine.allocate(plan.scratch, dtype) if plan.scratch else None
        buffers = (_bytes(send), _bytes(recv), _bytes(scratch))
        bound = _core.Program(
            self._core, words(plan, self._member, dtype.itemsize), buffers, list(DTYPES).index(name_of(dtype)),
            list(OPERATORS).index(operator), len(self._ranks) if operator == "avg" else 1, _signature(call),
            call.count, footprint,
        )  # fmt: skip
        return _Program(bound, scratch)

    def run(self, program: _Program) -> None:
        self._refuse_running(program)
        self._in_turn(lambda: self._execute(program))

    def start(self, program: _Program) -> Work:
        self._refuse_running(program)
        with self._order:
            program.latest = self._submit(lambda: self._execute(program))
            return _Work(program.latest)

    def time(self, programs: Sequence[_Program], iterations: int, sync: Sync, batch: int, barrier: _Program) -> Stamps:
        before = barrier.bound if sync == "each" else None
        batch = batch if before is None else 1
        if before is None:
            self.run(barrier)
        stamps = np.empty((-(-iterations // batch), 2), np.int64)
        bounds = [program.bound for program in programs]

        def loop() -> None:
            timeout = self._engine.timeout
            self._sequence, ended = _core.time(bounds, before, iterations, batch, stamps, self._sequence, timeout)
            self._judge(ended)

        self._in_turn(loop)
        return stamps

    def close(self) -> None:
        self._failed = self._failed or UsageError("the communicator is closed")
        self._core.close()
        if self._background:
            self._background.shutdown(wait=False, cancel_futures=True)

    def _in_turn(self, work: Callable[[], None]) -> None:
        """Do it now if it is its turn, in this thread, else wait until it has been done."""
        with self._order:
            queued = self._latest is not None and not self._latest.done()
            now = not queued and self._running.acquire(blocking=False)
            future = None if now else self._submit(work)
        if future:
            future.result()
            return
        try:
            self._guarded(work)
        finally:
            self._running.release()

    def _submit(self, work: Callable[[], None]) -> Future[Any]:
        if self._background is None:
            self._background = ThreadPoolExecutor(1, "opsdist-progress")

        def turn() -> None:
            with self._running:
                self._guarded(work)

        self._latest = self._background.submit(turn)
        return self._latest

    def _guarded(self, work: Callable[[], None]) -> None:
        self._refuse_failed()
        try:
            work()
        except KeyboardInterrupt:
            self._failed = UsageError("an earlier call was interrupted, and the ranks are out of step")
            raise

    def _execute(self, program: _Program) -> None:
        number, self._sequence = self._sequence, self._sequence + 1
        self._judge(program.bound.run(number, self._engine.timeout))

    def _refuse_failed(self) -> None:
        if self._failed:
            raise self._failed

    @staticmethod
    def _refuse_running(program: _Program) -> None:
        if program.latest and not program.latest.done():
            raise UsageError("this call is still under way: wait for its work before it is started again")

    def _judge(self, ended: tuple[Any, ...] | None) -> None:
        """Raise what the core tells. The peers are then out of step for good, so later calls fail in the same way."""
        if ended is not None:
            self._failed = self._fault(*ended)
            raise self._failed

    def _fault(self, kind: str, *told: Any) -> Exception:
        rank, ranks = self._engine.rank, self._ranks
        if kind == "closed":
            return UsageError("the communicator is closed")
        if kind == "timeout":
            mine, step, owed, stuck = told
            waits, sends = [ranks[member] for member in owed], [ranks[member] for member in stuck]
            return timed_out(rank, step, _call(*mine), waits, sends, self._engine.timeout)
        mine, step, length, member, theirs, their_step, their_length = told
        my_call, their_call, peer = _call(*mine), _call(*theirs), ranks[member]
        if my_call.sequence == their_call.sequence and my_call.signature != their_call.signature:
            return different_calls(rank, my_call, peer, their_call)
        return different_messages(rank, my_call, step, length, peer, their_call, their_step, their_length)


class NativeEngine:
    """One rank's. `regions` are those of all ranks, as mapped here; with `crowded`, ranks share cores."""

    def __init__(
        self, rank: int, region: Region, regions: Sequence[Mapping | Region], crowded: bool, timeout: float
    ) -> None:
        self.rank, self.size = rank, len(regions)
        self.region, self.timeout = region, timeout
        self.name, self.transport = f"native core ({_core.features()}) over shared memory", "shm"
        self._regions = list(regions)
        self.crowded = crowded
        patience = _CROWDED if crowded else _ALONE
        self.world = _core.World(rank, [mapped.address for mapped in regions], region.length, *patience, _cache())
        self._channels: list[NativeChannel] = []

    @property
    def registered(self) -> int:
        return self.region.handed_out

    def allocate(self, count: int, dtype: np.dtype[Any]) -> Array:
        return self.region.allocate(count, dtype)

    def channel(self, group: int, ranks: Sequence[int]) -> NativeChannel:
        channel = NativeChannel(self, group, ranks)
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
        if self.region.descriptor >= 0:
            self.region.close()


def open_native(placement: Placement, store: Store, token: str, timeout: float) -> NativeEngine:
    """Make this rank's region and get everybody else's. Raises RendezvousError, ResourceError."""
    rank, size = placement.rank, placement.world_size
    mine = {"reach": reach(size), "cpus": sorted(os.sched_getaffinity(0))}
    all_of_us = store.gather("memory", rank, mine, size, timeout)
    region = Region(min(member["reach"] for member in all_of_us))
    regions: list[Mapping | Region] = []
    try:
        descriptors = exchange(rank, size, region.descriptor, f"{secret(token, 'regions'):016x}", store, timeout)
        try:
            for descriptor in descriptors:
                regions.append(region if descriptor < 0 else Mapping(descriptor, region.length))
        finally:
            for descriptor in descriptors:
                if descriptor >= 0:
                    os.close(descriptor)
        region.reserve_directory()
    except CollectiveError:
        region.close()
        raise
    cpus = {cpu for member in all_of_us for cpu in member["cpus"]}
    return NativeEngine(rank, region, regions, size > len(cpus), timeout)


def _bytes(array: Array | None) -> Any:
    return None if array is None else array.view(np.uint8)


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


def _signature(call: CallTag) -> int:
    return call.collective | call.operator << 8 | call.dtype << 16 | call.root << 32


def _call(signature: int, count: int, sequence: int) -> CallTag:
    """As the core knows it, which is without the group."""
    collective, operator, dtype = signature & 0xFF, signature >> 8 & 0xFF, signature >> 16 & 0xFF
    return CallTag(0, sequence, collective, operator, dtype, signature >> 32, count)
