"""The built-in backend: proven plans, run by the native core over shared memory or by the portable engine over ZeroMQ.

May import: everything in collectives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from collectives import native
from collectives.algorithms import algorithm_named
from collectives.binding import check_group, check_pair, check_writeable, common_dtype, resolve
from collectives.communicator import Call, Stamps, Sync, Work, nothing
from collectives.dtypes import DTYPES, OPERATORS, Array, dtype_named, name_of
from collectives.engine import Channel, Engine, Program
from collectives.errors import UsageError
from collectives.join import join
from collectives.ops import COLLECTIVES
from collectives.placement import Placement
from collectives.recorder import Named, Recorder
from collectives.rendezvous import Store
from collectives.schedule import Plan, Receive, Send, Shape, Span, Step
from collectives.secrets import secret
from collectives.select import choose
from collectives.transport.base import CallTag


class BuiltinCall:
    """A plan bound to buffers."""

    def __init__(
        self, channel: Channel, program: Program, barrier: Callable[[], Program], algorithm: str, why: str
    ) -> None:
        self._channel, self._program, self._barrier = channel, program, barrier
        self.algorithm, self.why = algorithm, why

    def run(self) -> None:
        self._channel.run(self._program)

    def start(self) -> Work:
        return self._channel.start(self._program)

    def time(self, iterations: int, sync: Sync, batch: int = 1, rotation: Sequence[Any] = ()) -> Stamps:
        programs = [call._program for call in (self, *rotation)]
        return self._channel.time(programs, iterations, sync, batch, self._barrier())


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two ranks of the world, the first of which sends to the second, and what they are recorded as."""

    ranks: tuple[int, int]
    label: int
    channel: Channel


class BuiltinCommunicator:
    """A group of ranks over an engine. `ranks` are the members' ranks in the world, in order."""

    def __init__(self, engine: Engine, ranks: Sequence[int], token: str, name: str, close: Callable[[], None]) -> None:
        self.engine = engine
        self.library = f"opsdist {version('opsdist')}, {engine.name}"
        self.transport = engine.transport
        self._ranks = tuple(ranks)
        self.rank = self._ranks.index(engine.rank)
        self.size = len(self._ranks)
        self._token, self._name = token, name
        self._group = secret(token, name)
        self._label = engine.recorder.group(name, self._ranks)
        self._channel = engine.channel(self._group, self._ranks, self._label)
        self._lock = threading.Lock()
        self._pairs: dict[tuple[int, int], _Pair] = {}
        self._children: dict[tuple[int, ...], int] = {}
        self._close = close
        self._barrier: Program | None = None

    @property
    def registered(self) -> int:
        return self.engine.registered

    def allocate(self, count: int, dtype: str) -> Array:
        return self.engine.allocate(count, dtype_named(dtype)[1])

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
        plan, row = chosen.plan(shape), binding.row
        named = Named(
            self._label, collective, algorithm, name_of(dtype), operator if row.reduces else None,
            root if row.rooted else None, binding.count, binding.nbytes,
        )  # fmt: skip
        label = self.engine.recorder.program(named, plan, self._ranks, self.rank)
        program = self._channel.bind(plan, send, recv, dtype, operator, tag, binding.footprint, label)
        return BuiltinCall(self._channel, program, self._barrier_program, algorithm, why)

    def allreduce(self, send: Array, recv: Array | None = None, operator: str = "sum") -> Array:
        """Reduce over all ranks, in place unless `recv` is given. Returns the result."""
        recv = send if recv is None else recv
        self.bind("allreduce", send, recv, operator=operator).run()
        return recv

    def send(self, array: Array, peer: int) -> None:
        """Send to `peer`, which must call recv. Raises TransportTimeout, UsageError."""
        plan = Plan((Step(sends=(Send(1, (Span("send", 0, len(array)),)),)),))
        self._run_pair(plan, array, None, self.rank, peer)

    def recv(self, array: Array, peer: int) -> None:
        """Receive from `peer` into `array`. Raises TransportTimeout, MismatchError, UsageError."""
        check_writeable("recv", array)
        plan = Plan((Step(receives=(Receive(0, (Span("recv", 0, len(array)),)),)),))
        self._run_pair(plan, None, array, peer, self.rank)

    def _run_pair(self, plan: Plan, send: Array | None, recv: Array | None, source: int, target: int) -> None:
        check_pair(source, target, self.size)
        dtype = common_dtype(send, recv)
        array = send if send is not None else recv
        assert array is not None
        # Every ordered pair is a group of its own, so point-to-point calls of different pairs are independent.
        name = f"{self._name} {source}>{target}"
        group = secret(self._token, name)
        kind = list(COLLECTIVES).index("sendrecv")
        tag = CallTag(group, 0, kind, 0, list(DTYPES).index(name_of(dtype)), 0, len(array))
        with self._lock:
            pair = self._pairs.get((source, target)) or self._open_pair(source, target, group, name)
            self._pairs[source, target] = pair
        collective, peer = ("send", pair.ranks[1]) if send is not None else ("recv", pair.ranks[0])
        count, nbytes = len(array), array.nbytes
        named = Named(pair.label, collective, "direct", name_of(dtype), None, None, count, nbytes, peer)
        label = self.engine.recorder.program(named, plan, pair.ranks, int(send is None))
        pair.channel.run(pair.channel.bind(plan, send, recv, dtype, "sum", tag, 0, label))

    def _open_pair(self, source: int, target: int, group: int, name: str) -> _Pair:
        ranks = (self._ranks[source], self._ranks[target])
        label = self.engine.recorder.group(name, ranks)
        return _Pair(ranks, label, self.engine.channel(group, ranks, label))

    def group(self, ranks: Sequence[int]) -> BuiltinCommunicator:
        members = tuple(ranks)
        check_group(members, self.rank, self.size)
        with self._lock:
            number = self._children[members] = self._children.get(members, -1) + 1
        world = [self._ranks[rank] for rank in members]
        return BuiltinCommunicator(self.engine, world, self._token, f"{self._name}/{members}#{number}", nothing)

    def barrier(self) -> None:
        self._channel.run(self._barrier_program())

    def _barrier_program(self) -> Program:
        if self._barrier is None:
            kind = list(COLLECTIVES).index("barrier")
            algorithm, _ = choose("barrier", self.size, 0)
            shape = Shape(self.rank, self.size, (), ())
            tag = CallTag(self._group, 0, kind, 0, list(DTYPES).index("uint8"), 0, 0)
            plan = algorithm_named("barrier", algorithm).plan(shape)
            named = Named(self._label, "barrier", algorithm, "uint8", None, None, 0, 0)
            label = self.engine.recorder.program(named, plan, self._ranks, self.rank)
            self._barrier = self._channel.bind(plan, None, None, DTYPES["uint8"], "sum", tag, 0, label)
        return self._barrier

    def overhead(self, iterations: int) -> Stamps:
        return self.engine.overhead(iterations)

    def close(self) -> None:
        self._close()

    def __enter__(self) -> BuiltinCommunicator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class BuiltinBackend:
    name: str = "builtin"
    summary: str = "opsdist's own proven plans, over shared memory and TCP"
    plans: bool = True

    def unavailable(self) -> str | None:
        return None

    def claims(self) -> bool:
        return False

    def caveat(self) -> str | None:
        return native.unavailable()

    def lacks(self, collective: str, dtype: str, operator: str) -> str | None:
        return None

    def open(
        self,
        placement: Placement,
        store: Store,
        token: str,
        timeout: float,
        address: str | None = None,
        recorder: Recorder | None = None,
    ) -> BuiltinCommunicator:
        """Meet the others, prove that the world is the one asked for, and connect by the best engine that all have."""
        engine = join(placement, store, token, timeout, address, recorder)
        return BuiltinCommunicator(engine, range(placement.world_size), token, "world", engine.close)


BACKEND = BuiltinBackend()
