"""Whole worlds of the native engine in one process: every rank a thread with a region of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from collectives.algorithms import Algorithm
from collectives.backends.builtin import BuiltinCommunicator
from collectives.dtypes import DTYPES, OPERATORS, Array
from collectives.native.engine import NativeEngine
from collectives.native.region import Region
from collectives.native.wires import Wires
from collectives.ops import COLLECTIVES, Collective
from collectives.schedule import Shape
from collectives.transport.base import CallTag
from tests.collectives.inproc_world import PATIENCE, run_threads

TOKEN = "token"


@contextlib.contextmanager
def engines(
    size: int, timeout: float = PATIENCE, crowded: bool = True, reach: int = 256 << 20, nodes: Sequence[int] = ()
) -> Iterator[list[NativeEngine]]:
    """One a rank, and gone afterwards. Ranks are on one host, or on those that `nodes` says."""
    regions = [Region(reach) for _ in range(size)]
    for region in regions:
        region.reserve_directory()
    nodes = nodes or [0] * size
    several = len(set(nodes)) > 1
    wires = [Wires(rank, "127.0.0.1", TOKEN) if several else None for rank in range(size)]
    doors = [("127.0.0.1", wire.port) for wire in wires if wire]
    world = []
    for rank, wire in enumerate(wires):
        if wire:
            wire.learn(doors)
        seen = [region if nodes[other] == nodes[rank] else None for other, region in enumerate(regions)]
        world.append(NativeEngine(rank, regions[rank], seen, crowded, timeout, wire))
    try:
        yield world
    finally:
        for engine in world:
            engine.close()


@contextlib.contextmanager
def communicators(
    size: int, timeout: float = PATIENCE, nodes: Sequence[int] = ()
) -> Iterator[list[BuiltinCommunicator]]:
    with engines(size, timeout, nodes=nodes) as world:
        yield [BuiltinCommunicator(engine, range(size), TOKEN, "world", engine.close) for engine in world]


def tag(collective: str, operator: str = "sum", dtype: str = "float32", root: int = 0, count: int = 0) -> CallTag:
    return CallTag(
        1,
        0,
        list(COLLECTIVES).index(collective),
        list(OPERATORS).index(operator),
        list(DTYPES).index(dtype),
        root,
        count,
    )


def place(engine: NativeEngine | None, row: Collective, shape: Shape, fill: Array) -> tuple[Array | None, Array | None]:
    """Send and receive buffer of a rank, in registered memory of the engine or, without one, in private memory.

    The send buffer holds `fill`. In place they coincide."""
    alias = row.alias(shape) if shape.in_place and row.alias else None
    send_start, recv_start = (0, len(fill)) if alias is None else (max(alias, 0), max(-alias, 0))
    ends = send_start + shape.send.count, recv_start + shape.recv.count
    memory = engine.allocate(max(ends), fill.dtype) if engine else np.zeros(max(ends), fill.dtype)
    memory[send_start : ends[0]] = fill
    send = memory[send_start : ends[0]] if shape.send_counts else None
    recv = memory[recv_start : ends[1]] if shape.recv_counts else None
    return send, recv


def run_plans(
    world: Sequence[NativeEngine],
    group: int,
    algorithm: Algorithm,
    shapes: Sequence[Shape],
    fills: Sequence[Array],
    operator: str,
    registered: Sequence[bool],
    times: int = 1,
) -> list[Array | None]:
    """Run the algorithm on all ranks, several times on fresh inputs; the receive buffers afterwards. `registered` says
    of each rank where its buffers lie."""
    row = COLLECTIVES[algorithm.collective]

    def rank(engine: NativeEngine, shape: Shape, fill: Array, seen: bool) -> Array | None:
        channel = engine.channel(group, range(len(shapes)))
        send, recv = place(engine if seen else None, row, shape, fill)
        program = channel.bind(algorithm.plan(shape), send, recv, fill.dtype, operator, tag(row.name, operator))
        for _ in range(times):
            if send is not None:
                send[:] = fill
            channel.run(program)
        return None if recv is None else recv.copy()

    return run_threads(
        [
            lambda rank_=rank_: rank(*rank_)  # type: ignore[misc]
            for rank_ in zip(world, shapes, fills, registered, strict=True)
        ]
    )
