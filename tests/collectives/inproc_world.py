"""Whole worlds in one process over the wire for tests: all ranks in one thread, in an order drawn at random, or each
in a thread of its own."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from collectives.algorithms import Algorithm
from collectives.backends.builtin import BuiltinCommunicator
from collectives.dtypes import Array
from collectives.execute import BoundPlan, Execution
from collectives.ops import COLLECTIVES, Collective
from collectives.portable import PortableEngine
from collectives.progress import Engine
from collectives.schedule import Shape
from collectives.transport.base import CallTag
from collectives.transport.inproc import Hub, InprocWire
from collectives.transport.streams import Streams

PATIENCE = 20.0


def buffers(row: Collective, shape: Shape, fill: Array) -> tuple[Array | None, Array | None]:
    """Send and receive buffer of a rank, coinciding where the shape is in place; the send buffer holds `fill`."""
    alias = row.alias(shape) if shape.in_place and row.alias else None
    send_start, recv_start = (0, len(fill)) if alias is None else (max(alias, 0), max(-alias, 0))
    ends = send_start + shape.send.count, recv_start + shape.recv.count
    memory = np.zeros(max(ends), fill.dtype)
    memory[send_start : ends[0]] = fill
    send = memory[send_start : ends[0]] if shape.send_counts else None
    recv = memory[recv_start : ends[1]] if shape.recv_counts else None
    return send, recv


def run_plans(
    algorithm: Algorithm, shapes: Sequence[Shape], fills: Sequence[Array], operator: str, segment: int, seed: int
) -> list[Array | None]:
    """Run the algorithm on all ranks; the receive buffers afterwards.

    Messages travel in segments of `segment` bytes; which rank goes on and which pair delivers next is drawn.
    """
    draw = random.Random(seed)
    size, row = len(shapes), COLLECTIVES[algorithm.collective]
    hub = Hub(size, draw)
    call = CallTag(1, 1, list(COLLECTIVES).index(row.name), 0, 0, 0, 0)
    results, executions, ends = [], [], []
    for shape, fill in zip(shapes, fills, strict=True):
        send, recv = buffers(row, shape, fill)
        streams = Streams(shape.rank, size, InprocWire(hub, shape.rank))
        streams.segment = segment
        bound = BoundPlan(algorithm.plan(shape), send, recv, fill.dtype, range(size), shape.rank)
        executions.append(Execution(bound, streams, call, operator, size if operator == "avg" else 1))
        ends.append(streams)
        results.append(recv)
    left = list(range(size))
    for _ in range(1_000_000):
        if not left:
            return results
        rank = draw.choice(left)
        ends[rank].progress(0)
        executions[rank].advance()
        if executions[rank].done:
            left.remove(rank)
    raise AssertionError(f"{row.name} {algorithm.name}: ranks {left} never finish")


def communicators(size: int, timeout: float = PATIENCE) -> list[BuiltinCommunicator]:
    """One for each rank of a world."""
    hub = Hub(size)
    world = []
    for rank in range(size):
        engine = Engine(Streams(rank, size, InprocWire(hub, rank)), timeout)
        world.append(BuiltinCommunicator(PortableEngine(engine), range(size), "token", "world", engine.close))
    return world


def run_threads(functions: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run each in a thread; their results, or the first error by position. Fails when one does not come to an end."""
    results: list[Any] = [None] * len(functions)
    errors: list[BaseException | None] = [None] * len(functions)

    def call(index: int) -> None:
        try:
            results[index] = functions[index]()
        except BaseException as error:
            errors[index] = error

    threads = [threading.Thread(target=call, args=(index,), daemon=True) for index in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a rank does not come to an end"
    for error in errors:
        if error:
            raise error
    return results


def run_world(size: int, function: Callable[[BuiltinCommunicator], Any], timeout: float = PATIENCE) -> list[Any]:
    """Run `function(comm)` on every rank, in a thread each."""
    return run_threads([lambda comm=comm: function(comm) for comm in communicators(size, timeout)])  # type: ignore[misc]
