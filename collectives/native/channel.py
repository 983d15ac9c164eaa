"""A group of ranks in the native engine: its calls, one at a time, and what is said where one does not come to its end.

May import: communicator, faults, dtypes, schedule, and this package.
"""

from __future__ import annotations

import errno
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
from collectives.faults import different_calls, different_messages, lost, timed_out
from collectives.native import core
from collectives.native.compile import partners, words
from collectives.schedule import Plan
from collectives.transport.base import CallTag

if TYPE_CHECKING:
    from collectives.native import _core
    from collectives.native.engine import NativeEngine
else:
    _core = core()  # None where it was not built; then nobody opens a channel


@dataclass(slots=True)
class _Program:
    bound: Any
    scratch: Array | None
    far: frozenset[int]
    """Members of other hosts that it exchanges messages with."""
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

    def __init__(self, engine: NativeEngine, group: int, ranks: Sequence[int], name: int = 0) -> None:
        self._engine, self._group, self._ranks = engine, group, list(ranks)
        self._member = self._ranks.index(engine.rank)
        inbox = engine.region.take(_core.inbox_length(len(self._ranks), engine.eager))
        try:
            self._core = _core.Channel(
                engine.world, group, self._ranks, self._member, inbox, engine.eager, engine.direct, name
            )
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise ResourceError(
                f"rank {engine.rank} takes part in {_core.GROUPS} groups, and there is no room for more"
            ) from None
        self._connected: set[int] = set()
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
        name: int = 0,
    ) -> _Program:
        scratch = self._engine.allocate(plan.scratch, dtype) if plan.scratch else None
        buffers = (_bytes(send), _bytes(recv), _bytes(scratch))
        bound = _core.Program(
            self._core, words(plan, self._member, dtype.itemsize), buffers, list(DTYPES).index(name_of(dtype)),
            list(OPERATORS).index(operator), len(self._ranks) if operator == "avg" else 1, call.word,
            call.count, footprint, name,
        )  # fmt: skip
        far = {member for member in partners(plan, self._member) if self._ranks[member] in self._engine.far}
        return _Program(bound, scratch, frozenset(far))

    def run(self, program: _Program) -> None:
        self._refuse_running(program)
        frame = self._engine.recorder.frame()
        self._in_turn(lambda: self._execute(program, frame))

    def start(self, program: _Program) -> Work:
        self._refuse_running(program)
        frame = self._engine.recorder.frame()
        with self._order:
            program.latest = self._submit(lambda: self._execute(program, frame))
            return _Work(program.latest)

    def time(self, programs: Sequence[_Program], iterations: int, sync: Sync, batch: int, barrier: _Program) -> Stamps:
        before = barrier.bound if sync == "each" else None
        batch = batch if before is None else 1
        if before is None:
            self.run(barrier)
        stamps = np.empty((-(-iterations // batch), 2), np.int64)
        bounds = [program.bound for program in programs]
        frame = self._engine.recorder.frame()

        def loop() -> None:
            self._connect(frozenset[int]().union(*(program.far for program in (*programs, barrier))))
            timeout = self._engine.timeout
            self._sequence, ended = _core.time(
                bounds, before, iterations, batch, stamps, self._sequence, timeout, frame
            )
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

    def _connect(self, members: frozenset[int]) -> None:
        """Have a connection to each of them. The first call of a group that needs one waits for it."""
        missing = {self._ranks[member]: member for member in members - self._connected}
        if not missing:
            return
        try:
            reached = self._engine.reach(self._group, list(missing))
        except CollectiveError as error:
            self._failed = error
            raise
        for rank, connection in reached.items():
            self._core.connect(missing[rank], connection.detach())
        self._connected |= members

    def _execute(self, program: _Program, frame: int) -> None:
        self._connect(program.far)
        number, self._sequence = self._sequence, self._sequence + 1
        self._judge(program.bound.run(number, self._engine.timeout, frame))

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
            return timed_out(rank, step, CallTag.of_word(*mine), waits, sends, self._engine.timeout)
        if kind == "lost":
            mine, step, member = told
            return lost(rank, step, CallTag.of_word(*mine), ranks[member])
        mine, step, length, member, theirs, their_step, their_length = told
        my_call, their_call, peer = CallTag.of_word(*mine), CallTag.of_word(*theirs), ranks[member]
        if my_call.sequence == their_call.sequence and my_call.signature != their_call.signature:
            return different_calls(rank, my_call, peer, their_call)
        return different_messages(rank, my_call, step, length, peer, their_call, their_step, their_length)


def _bytes(array: Array | None) -> Any:
    return None if array is None else array.view(np.uint8)
