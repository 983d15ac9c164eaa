"""The portable engine as an Engine: plans run in Python, over any Transport.

May import: execute, progress, engine, communicator, recorder, numpy.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from collectives.communicator import Stamps, Sync, Work, nothing, timed
from collectives.dtypes import Array
from collectives.errors import UsageError
from collectives.execute import BoundPlan, Execution
from collectives.progress import Engine
from collectives.recorder import Recorder
from collectives.schedule import Plan
from collectives.transport.base import CallTag


@dataclass(slots=True)
class _Program:
    bound: BoundPlan
    call: CallTag
    operator: str
    name: int
    latest: Execution | None = None


class _Work:
    """A call that the engine drives in the background."""

    def __init__(self, engine: Engine, execution: Execution) -> None:
        self._engine, self._execution = engine, execution

    @property
    def done(self) -> bool:
        return self._execution.done

    def wait(self, timeout: float | None = None) -> bool:
        return self._engine.wait(self._execution, timeout)


class PortableChannel:
    def __init__(self, engine: Engine, ranks: Sequence[int], recorder: Recorder, name: int) -> None:
        self._engine, self._ranks = engine, tuple(ranks)
        self._recorder, self._name = recorder, name
        self._sequence = 0
        self._lock = threading.Lock()

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
        member = self._ranks.index(self._engine.transport.rank)
        return _Program(BoundPlan(plan, send, recv, dtype, self._ranks, member), call, operator, name)

    def run(self, program: _Program) -> None:
        self._engine.run(self._execution(program))

    def start(self, program: _Program) -> Work:
        execution = self._execution(program)
        self._engine.start(execution)
        return _Work(self._engine, execution)

    def time(self, programs: Sequence[_Program], iterations: int, sync: Sync, batch: int, barrier: _Program) -> Stamps:
        runs = [lambda program=program: self.run(program) for program in programs]
        if sync == "each":
            return timed(runs, iterations, 1, lambda: self.run(barrier))
        self.run(barrier)
        return timed(runs, iterations, batch, nothing)

    def _execution(self, program: _Program) -> Execution:
        if program.latest and not program.latest.done:
            raise UsageError("this call is still under way: wait for its work before it is started again")
        with self._lock:
            self._sequence += 1
            call = replace(program.call, sequence=self._sequence)
        divisor = len(self._ranks) if program.operator == "avg" else 1
        enter = partial(self._recorder.enter, call, self._name, program.name, self._recorder.frame())
        program.latest = Execution(program.bound, self._engine.transport, call, program.operator, divisor, enter)
        return program.latest


class PortableEngine:
    """Over an engine of progress.py, which is closed with it. `why` says why it was taken, where that matters.
    Without a `recorder` calls are recorded where nobody looks."""

    registered = 0

    def __init__(self, engine: Engine, why: str = "", recorder: Recorder | None = None) -> None:
        self._engine = engine
        self.transport = engine.transport.name
        self.rank, self.size = engine.transport.rank, engine.transport.size
        self.recorder = recorder or Recorder(self.rank, self.size)
        self.name = f"portable engine over {self.transport}" + (f" ({why})" if why else "")

    def allocate(self, count: int, dtype: np.dtype[Any]) -> Array:
        return np.empty(count, dtype)

    def channel(self, group: int, ranks: Sequence[int], name: int = 0) -> PortableChannel:
        return PortableChannel(self._engine, ranks, self.recorder, name)

    def overhead(self, iterations: int) -> Stamps:
        return timed([nothing], iterations, 1, nothing)

    def close(self) -> None:
        self._engine.close()
