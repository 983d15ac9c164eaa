"""A second backend to compare with, for tests: the built-in engine as a library that chooses its algorithms itself.

It lacks reduce_scatter, `prod` and int8, so that there is something to lack. `TWIN_UNAVAILABLE` in the environment is
why it cannot be used; `TWIN_SLOW` is how many microseconds each of its larger calls takes longer. Its timed loop, it
says, costs a second.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from collectives.backends import LIBRARY
from collectives.backends.builtin import BACKEND as BUILTIN
from collectives.backends.builtin import BuiltinCommunicator
from collectives.communicator import Call, Stamps, Sync, timed
from collectives.dtypes import Array
from collectives.errors import UsageError
from collectives.placement import Placement
from collectives.recorder import Recorder
from collectives.rendezvous import Store


class SlowCall:
    """A call that takes longer."""

    def __init__(self, call: Call, comm: TwinCommunicator, seconds: float) -> None:
        self._call, self._comm, self._seconds = call, comm, seconds
        self.algorithm, self.why = LIBRARY, "the library chooses"

    def run(self) -> None:
        self._call.run()
        ends = time.monotonic() + self._seconds
        while time.monotonic() < ends:
            pass

    def start(self) -> Any:
        return self._call.start()

    def time(self, iterations: int, sync: Sync, batch: int = 1, rotation: Sequence[Call] = ()) -> Stamps:
        runs = [self.run, *(call.run for call in rotation)]
        if sync == "each":
            return timed(runs, iterations, 1, self._comm.barrier)
        self._comm.barrier()
        return timed(runs, iterations, batch, lambda: None)


class Apart:
    """The run's store under names of the twin's own."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def gather(self, key: str, *given: Any) -> Any:
        return self._store.gather(f"twin {key}", *given)


class TwinCommunicator(BuiltinCommunicator):
    """Says what it is; takes no algorithm but its own."""

    def bind(
        self, collective: str, send: Array | None, recv: Array | None, *, algorithm: str = "auto", **given: Any
    ) -> Any:
        if algorithm not in ("auto", LIBRARY):
            raise UsageError(f"twin has no algorithm {algorithm}")
        call = super().bind(collective, send, recv, **given)
        largest = max((len(buffer) for buffer in (send, recv) if buffer is not None), default=0)
        slow = float(os.environ.get("TWIN_SLOW", "0")) / 1e6
        return SlowCall(call, self, slow) if slow and largest > 4 else call

    def overhead(self, iterations: int) -> Stamps:
        return np.tile(np.array([0, 10**9]), (iterations, 1))


@dataclass(frozen=True, slots=True)
class TwinBackend:
    name: str = "twin"
    summary: str = "a stand-in for a library, for tests"
    plans: bool = False
    across: bool = False

    def claims(self) -> bool:
        return False

    def caveat(self) -> str | None:
        return None

    def unavailable(self) -> str | None:
        return os.environ.get("TWIN_UNAVAILABLE")

    def lacks(self, collective: str, dtype: str, operator: str) -> str | None:
        if collective == "reduce_scatter":
            return "twin has no reduce_scatter"
        if dtype == "int8":
            return "twin does not know int8"
        return "twin does not know prod" if operator == "prod" else None

    def open(
        self,
        placement: Placement,
        store: Store,
        token: str,
        timeout: float,
        address: str | None = None,
        recorder: Recorder | None = None,
    ) -> BuiltinCommunicator:
        comm = BUILTIN.open(placement, cast(Store, Apart(store)), f"twin {token}", timeout)
        comm.__class__ = TwinCommunicator
        comm.library, comm.transport = "Twin 1.2.3 at /opt/twin/libtwin.so", "twinned"
        return comm


BACKEND = TwinBackend()
