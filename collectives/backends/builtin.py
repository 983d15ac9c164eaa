"""The built-in backend: proven plans, run by the portable engine over ZeroMQ.

May import: everything in collectives; zmq only through the transport.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib.metadata import version

import numpy as np

from collectives.algorithms import algorithm_named
from collectives.binding import check_group, check_pair, check_writeable, common_dtype, resolve
from collectives.communicator import Call, Stamps, Sync, Work, nothing, timed
from collectives.dtypes import DTYPES, OPERATORS, Array, dtype_named, name_of
from collectives.errors import RendezvousError, UsageError
from collectives.execute import BoundPlan, Execution
from collectives.ops import COLLECTIVES
from collectives.placement import Placement
from collectives.progress import Engine
from collectives.rendezvous import Store
from collectives.schedule import Plan, Receive, Send, Span, Step
from collectives.select import choose
from collectives.transport.base import CallTag
from collectives.transport.streams import Streams, describe
from collectives.world import meet


class BuiltinWork:
    """A call that the engine drives in the background."""

    def __init__(self, engine: Engine, execution: Execution) -> None:
        self._engine, self._execution = engine, execution

    @property
    def done(self) -> bool:
        return self._execution.done

    def wait(self, timeout: float | None = None) -> bool:
        return self._engine.wait(self._execution, timeout)


class BuiltinCall:
    """A plan bound to buffers, and the tag its next run will bear."""

    def __init__(
        self, owner: BuiltinCommunicator, bound: BoundPlan, tag: CallTag, operator: str, algorithm: str, why: str
    ) -> None:
        self._owner, self._bound, self._tag, self._operator = owner, bound, tag, operator
        self._divisor = owner.size if operator == "avg" else 1
        self._latest: Execution | None = None
        self.algorithm, self.why = algorithm, why

    def run(self) -> None:
        self._owner.engine.run(self._execution())

    def start(self) -> Work:
        execution = self._execution()
        self._owner.engine.start(execution)
        return BuiltinWork(self._owner.engine, execution)

    def time(self, iterations: int, sync: Sync, batch: int = 1, rotation: Sequence[Call] = ()) -> Stamps:
        runs = [self.run, *(call.run for call in rotation)]
        if sync == "each":
            return timed(runs, iterations, 1, self._owner.barrier)
        self._owner.barrier()
        return timed(runs, iterations, batch, nothing)

    def _execution(self) -> Execution:
        if self._latest and not self._latest.done:
            raise UsageError("this call is still under way: wait for its work before it is started again")
        tag = replace(self._tag, sequence=self._owner.next_sequence())
        self._latest = Execution(self._bound, self._owner.engine.transport, tag, self._operator, self._divisor)
        return self._latest


class BuiltinCommunicator:
    """A group of ranks over an engine. `ranks` are the members' ranks in the world, in order."""

    def __init__(self, engine: Engine, ranks: Sequence[int], token: str, name: str, close: Callable[[], None]) -> None:
        self.engine = engine
        self.library = f"opsdist {version('opsdist')}, portable engine over {engine.transport.name}"
        self.transport = engine.transport.name
        self._ranks = tuple(ranks)
        self.rank = self._ranks.index(engine.transport.rank)
        self.size = len(self._ranks)
        self._token, self._name = token, name
        self._group = _secret(token, name)
        self._sequence = 0
        self._lock = threading.Lock()
        self._pairs: dict[tuple[int, int], int] = {}
        self._children: dict[tuple[int, ...], int] = {}
        self._close = close
        self._barrier: Call | None = None

    def allocate(self, count: int, dtype: str) -> Array:
        return np.empty(count, dtype_named(dtype)[1])

    def bind(
        self,
        collective: str,
        send: Array | None,
        recv: Array | None,
        *,
        operator: str = "sum",
        root: int = 0,
        algorithm: str = "auto",
        send_counts: Sequence[int] | None = None,
        recv_counts: Sequence[int] | None = None,
        groups: Sequence[Sequence[int]] = (),
    ) -> Call:
        binding = resolve(
            collective, self.rank, self.size, send, recv, operator, root, send_counts, recv_counts, groups
        )
        shape, dtype = binding.shape, binding.dtype
        why = "asked for"
        if algorithm == "auto":
            algorithm, why = choose(collective, self.size, binding.nbytes)
        chosen = algorithm_named(collective, algorithm)
        if reason := chosen.unmet(shape):
            raise UsageError(f"{collective} by {algorithm} {reason}")
        tag = CallTag(
            self._group, 0, list(COLLECTIVES).index(collective), list(OPERATORS).index(operator),
            list(DTYPES).index(name_of(dtype)), root, binding.count,
        )  # fmt: skip
        bound = BoundPlan(chosen.plan(shape), send, recv, dtype, self._ranks, self.rank)
        return BuiltinCall(self, bound, tag, operator, algorithm, why)

    def allreduce(self, send: Array, recv: Array | None = None, operator: str = "sum") -> Array:
        """Reduce over all ranks, in place unless `recv` is given. Returns the result."""
        recv = send if recv is None else recv
        self.bind("allreduce", send, recv, operator=operator).run()
        return recv

    def send(self, array: Array, peer: int) -> None:
        """Send to `peer`, which must call recv. Raises TransportTimeout, UsageError."""
        plan = Plan((Step(sends=(Send(peer, (Span("send", 0, len(array)),)),)),))
        self._run_pair(plan, array, None, self.rank, peer)

    def recv(self, array: Array, peer: int) -> None:
        """Receive from `peer` into `array`. Raises TransportTimeout, MismatchError, UsageError."""
        check_writeable("recv", array)
        plan = Plan((Step(receives=(Receive(peer, (Span("recv", 0, len(array)),)),)),))
        self._run_pair(plan, None, array, peer, self.rank)

    def _run_pair(self, plan: Plan, send: Array | None, recv: Array | None, source: int, target: int) -> None:
        check_pair(source, target, self.size)
        dtype = common_dtype(send, recv)
        array = send if send is not None else recv
        assert array is not None
        with self._lock:
            number = self._pairs[source, target] = self._pairs.get((source, target), -1) + 1
        # Every ordered pair is a group of its own, so point-to-point calls of different pairs are independent.
        group = _secret(self._token, f"{self._name} {source}>{target}")
        kind = list(COLLECTIVES).index("sendrecv")
        tag = CallTag(group, number, kind, 0, list(DTYPES).index(name_of(dtype)), 0, len(array))
        bound = BoundPlan(plan, send, recv, dtype, self._ranks, self.rank)
        self.engine.run(Execution(bound, self.engine.transport, tag, "sum", 1))

    def group(self, ranks: Sequence[int]) -> BuiltinCommunicator:
        members = tuple(ranks)
        check_group(members, self.rank, self.size)
        with self._lock:
            number = self._children[members] = self._children.get(members, -1) + 1
        world = [self._ranks[rank] for rank in members]
        return BuiltinCommunicator(self.engine, world, self._token, f"{self._name}/{members}#{number}", nothing)

    def barrier(self) -> None:
        if self._barrier is None:
            self._barrier = self.bind("barrier", None, None)
        self._barrier.run()

    def overhead(self, iterations: int) -> Stamps:
        return timed([nothing], iterations, 1, nothing)

    def close(self) -> None:
        self._close()

    def __enter__(self) -> BuiltinCommunicator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def next_sequence(self) -> int:
        with self._lock:
            self._sequence += 1
            return self._sequence


@dataclass(frozen=True, slots=True)
class BuiltinBackend:
    name: str = "builtin"
    summary: str = "opsdist's own proven plans, over ZeroMQ"
    plans: bool = True

    def unavailable(self) -> str | None:
        return None

    def lacks(self, collective: str, dtype: str, operator: str) -> str | None:
        return None

    def open(self, placement: Placement, store: Store, token: str, timeout: float) -> BuiltinCommunicator:
        """Bind, tell the others where, prove that the world is the one asked for, connect."""
        from collectives.transport.zmq import ZmqWire

        if placement.node_count > 1:
            raise RendezvousError("the built-in backend does not reach other hosts yet")
        wire = ZmqWire(f"ipc://@opsdist-{_secret(token, 'wire'):016x}-{placement.rank}-{os.getpid()}")
        try:
            world = meet(store, "world", placement, timeout, address=wire.address)
        except RendezvousError:
            wire.close()
            raise
        wire.connect([member["address"] for member in world])
        streams = Streams(placement.rank, placement.world_size, wire, _secret(token, "run"))
        engine = Engine(streams, timeout, describe)
        return BuiltinCommunicator(engine, range(placement.world_size), token, "world", engine.close)


BACKEND = BuiltinBackend()


def _secret(token: str, name: str) -> int:
    """A number that only holders of the run's token can know."""
    return int.from_bytes(blake2b(name.encode(), key=token.encode()[:64], digest_size=8).digest(), "little")
