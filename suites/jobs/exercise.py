"""The job `exercise`: one rank's part of the calls that exercise.py lists, one after the other, each result checked.

May import: numpy, collectives, exercise, strikes, pattern, launch.rank's context, and from this package.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from collectives.backends import backend_named
from collectives.communicator import Communicator
from collectives.dtypes import DTYPES, Array
from collectives.ops import COLLECTIVES
from collectives.rendezvous import Store
from suites.exercise import WORLD, Scheduled, calls_of, groups_of, script
from suites.jobs.altered import altered
from suites.jobs.queue import QueueWait
from suites.jobs.sabotage import Saboteur
from suites.launch.rank import RankContext
from suites.pattern import Pattern, Wrong
from suites.strikes import Strike

_PERIOD = 4093
"""A prime; see Pattern. Every buffer is used once, so a long period would take longer than the calls."""
_POISON = 0xFF


def run(context: RankContext) -> None:
    """The job."""
    # Half of the types overflow in some of the operators that only a mismatch brings together.
    np.seterr(all="ignore")
    placement, layout = context.placement, context.arguments["layout"]
    strikes = [Strike(**strike) for strike in context.arguments["strikes"]]
    calls = calls_of(script(placement.world_size, layout), placement.rank)
    context.phase("rendezvous")
    saboteur = Saboteur(context, strikes)
    saboteur.at_rendezvous()
    store = Store(context.store, context.token)
    comm = backend_named("builtin").open(
        placement, store, context.token, context.timeout, context.address, context.recorder
    )
    store.close()
    context.report({"type": "ready", "library": comm.library, "transport": comm.transport})
    saboteur.meet(comm)
    Exercise(context, comm, saboteur).run(altered(calls, placement.rank, strikes))
    comm.close()


def buffer_bytes(calls: Sequence[Scheduled]) -> int:
    """What either buffer of a rank must hold, whatever a fault turns its calls into."""
    return max((call.count + 1) * len(call.group.ranks) * 2 * DTYPES[call.dtype].itemsize for call in calls)


class Exercise:
    """One rank's calls over communicators of its groups, all in the same two buffers."""

    def __init__(self, context: RankContext, comm: Communicator, saboteur: Saboteur) -> None:
        self._context, self._saboteur = context, saboteur
        groups = [group for group in groups_of(comm.size) if comm.rank in group.ranks]
        self._comms = {group.name: comm if group.name == WORLD else comm.group(group.ranks) for group in groups}
        self._queue = QueueWait()
        self._send = self._recv = comm.allocate(0, "uint8")
        self._allocate = comm.allocate

    def run(self, calls: Sequence[Scheduled]) -> None:
        """All of them, and what came of it: wrong results at once, when it entered and left each call at the end."""
        nbytes = buffer_bytes(calls)
        self._send, self._recv = self._allocate(nbytes, "uint8"), self._allocate(nbytes, "uint8")
        stamps = []
        for call in calls:
            self._context.phase(call.describe())
            self._saboteur.before(call, self._comms)
            stamps.append((call.number, *self._stamped(call)))
        self._context.report({"type": "done", "stamps": stamps})

    def _stamped(self, call: Scheduled) -> tuple[int, int, int]:
        """Do it. When it was entered and left, in nanoseconds, and how long this rank waited for a CPU before."""
        return self._message(call) if call.pair is not None else self._collective(call)

    def _collective(self, call: Scheduled) -> tuple[int, int, int]:
        comm, row = self._comms[call.group.name], COLLECTIVES[call.collective]
        shape = row.shape(comm.rank, comm.size, call.count, root=call.root)
        pattern = Pattern(
            call.dtype, call.operator if row.reduces else None, comm.size if row.reduces else 1, _PERIOD
        )  # fmt: skip
        send = _part(self._send, shape.send.count, call.dtype) if shape.send_counts else None
        recv = _part(self._recv, shape.recv.count, call.dtype) if shape.recv_counts else None
        if send is not None:
            pattern.fill(send, comm.rank)
        if recv is not None:
            recv.view(np.uint8)[:] = _POISON
        counts: dict[str, Any] = {}
        if call.collective == "alltoallv":
            counts = {"send_counts": shape.send_counts, "recv_counts": shape.recv_counts}
        bound = comm.bind(call.collective, send, recv, operator=call.operator, root=call.root, **counts)
        waited, entry = self._queue.since(), time.monotonic_ns()
        bound.run()
        left = time.monotonic_ns()
        self._queue.since()
        if recv is not None:
            self._saboteur.after(call, recv)
            self._judge(call, pattern.check(recv, row.oracle(shape, call.count)))
        return entry, left, waited

    def _message(self, call: Scheduled) -> tuple[int, int, int]:
        assert call.pair is not None
        comm, (source, target) = self._comms[call.group.name], call.pair
        pattern = Pattern(call.dtype, None, 1, _PERIOD)
        buffer = _part(self._send if comm.rank == source else self._recv, call.count, call.dtype)
        if comm.rank == source:
            pattern.fill(buffer, comm.rank)
        waited, entry = self._queue.since(), time.monotonic_ns()
        if comm.rank == source:
            comm.send(buffer, target)
        else:
            comm.recv(buffer, source)
        left = time.monotonic_ns()
        self._queue.since()
        if comm.rank == target:
            piece = COLLECTIVES["broadcast"].shape(target, comm.size, call.count, root=source)
            self._judge(call, pattern.check(buffer, COLLECTIVES["broadcast"].oracle(piece, call.count)))
        return entry, left, waited

    def _judge(self, call: Scheduled, wrong: Wrong | None) -> None:
        if wrong:
            told = {"count": wrong.count, "index": wrong.index, "expected": wrong.expected, "got": wrong.got}
            self._context.report({"type": "wrong", "number": call.number, **told})


def _part(buffer: Array, count: int, dtype: str) -> Array:
    return buffer[: count * DTYPES[dtype].itemsize].view(DTYPES[dtype])
