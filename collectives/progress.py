"""Drives executions over one transport until they are done: whoever waits for one drives all.

May import: errors, execute, faults, transport.base.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from collectives.errors import TransportTimeout, UsageError
from collectives.execute import Execution
from collectives.faults import timed_out
from collectives.transport.base import Transport

_POLL = 0.05
"""Seconds a wait for arrivals lasts at most before deadlines are looked at again."""
_SHARED_POLL = 0.001
"""The same while several threads take turns."""


class _Turns:
    """A lock that is handed on in the order of asking, since a thread that polls in a loop would starve the others."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._queue: deque[threading.Lock] = deque()

    @property
    def wanted(self) -> bool:
        """Whether another thread waits for its turn."""
        return bool(self._queue)

    def __enter__(self) -> None:
        with self._mutex:
            if not self._taken:
                self._taken = True
                return
            gate = threading.Lock()
            gate.acquire()
            self._queue.append(gate)
        try:
            gate.acquire()
        except BaseException:  # Ctrl-C: nobody may hand the turn to a thread that has gone
            with self._mutex:
                queued = gate in self._queue
                if queued:
                    self._queue.remove(gate)
            if not queued:
                self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        with self._mutex:
            if self._queue:
                self._queue.popleft().release()
            else:
                self._taken = False


class Engine:
    """Drives executions over one transport. Any number of threads may wait; one at a time drives.

    Executions of one group run one after the other, in the order they were begun. After a failure the peers are out of
    step for good, so whatever is begun later fails in the same way.
    """

    def __init__(self, transport: Transport, timeout: float) -> None:
        self.transport, self.timeout = transport, timeout
        self._turn = _Turns()
        self._active: list[Execution] = []
        self._background: threading.Thread | None = None
        self._moved = time.monotonic()
        self._failed: Exception | None = None

    def run(self, execution: Execution) -> None:
        """Run to the end. Raises what went wrong, TransportTimeout when nothing moves for `timeout` seconds."""
        with self._turn:
            self._begin(execution)
        self.wait(execution)

    def start(self, execution: Execution) -> None:
        """Begin, and let a background thread drive it on. Raises what went wrong earlier."""
        with self._turn:
            self._begin(execution)
            if not self._background:
                self._background = threading.Thread(target=self._drive_all, daemon=True, name="opsdist-progress")
                self._background.start()

    def wait(self, execution: Execution, timeout: float | None = None) -> bool:
        """Drive until it is done (True) or `timeout` seconds have passed (False). Raises what went wrong in it."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not execution.done:
            left = _POLL if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return False
            with self._turn:
                if not execution.done:
                    self._drive(min(left, _POLL))
        if execution.error:
            raise execution.error
        return True

    def close(self) -> None:
        """Let go of the transport. What is still under way fails; what has failed is not delivered any more."""
        with self._turn:
            well = not (self._failed or self._active)
            self._fail(UsageError("the communicator is closed"))
            self.transport.close(well)

    def _begin(self, execution: Execution) -> None:
        if self._failed:
            raise self._failed
        self._moved = time.monotonic()
        self._active.append(execution)
        self._advance()

    def _drive(self, timeout: float) -> None:
        """Move messages once. It is the caller's turn."""
        try:
            moved = self.transport.progress(_SHARED_POLL if self._background or self._turn.wanted else timeout)
        except Exception as error:
            self._fail(error)
            return
        if self._advance() or moved:
            self._moved = time.monotonic()
        elif self._active and time.monotonic() - self._moved > self.timeout:
            self._fail(self._timed_out(self._active[0]))

    def _advance(self) -> bool:
        """Let every group's first execution go on; whether a step was entered."""
        entered = False
        under_way: set[int] = set()
        for execution in self._active:
            if execution.call.group in under_way:
                continue
            try:
                entered = execution.advance() or entered
            except Exception as error:
                self._fail(error)
                return False
            if not execution.done:
                under_way.add(execution.call.group)
        self._active = [execution for execution in self._active if not execution.done]
        return entered

    def _fail(self, error: Exception) -> None:
        self._failed = self._failed or error
        for execution in self._active:
            if not execution.done:
                execution.fail(error)
        self._active = []

    def _timed_out(self, execution: Execution) -> TransportTimeout:
        owed, stuck = execution.waiting_for()
        return timed_out(self.transport.rank, execution.step, execution.call, owed, stuck, self.timeout)

    def _drive_all(self) -> None:
        """The background thread: lives while something is under way."""
        while True:
            with self._turn:
                if not self._active:
                    self._background = None
                    return
                self._drive(_SHARED_POLL)
