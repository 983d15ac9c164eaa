"""What ranks run in the tests of the communicator: `python -m tests.collectives.programs NAME`.

Each function asserts what it expects, so that a rank that is wrong ends with a traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import collectives
from collectives.algorithms import ALGORITHMS
from collectives.backends.builtin import BuiltinCommunicator
from collectives.dtypes import DTYPES, Array
from collectives.ops import COLLECTIVES


def every_collective(comm: BuiltinCommunicator) -> None:
    """Each by each algorithm, on blocks that say whose they are."""
    rank, size = comm.rank, comm.size
    for name, row in COLLECTIVES.items():
        for algorithm, chosen in ALGORITHMS[name].items():
            shape = row.shape(rank, size, 1000, root=size - 1 if row.rooted else 0, groups=(tuple(range(size)),))
            if chosen.unmet(shape):
                continue
            numbers: Array = np.arange(shape.send.count, dtype=np.int64) * size + rank
            send = numbers if shape.send_counts else None
            recv: Array | None = np.full(shape.recv.count, -1, np.int64) if shape.recv_counts else None
            counts = (shape.send_counts, shape.recv_counts) if name == "alltoallv" else (None, None)
            comm.bind(
                name, send, recv, root=shape.root, algorithm=algorithm, groups=shape.groups,
                send_counts=counts[0], recv_counts=counts[1],
            ).run()  # fmt: skip
            if recv is None:
                continue
            for piece in row.oracle(shape, 1000):
                source = np.arange(piece.source, piece.source + piece.stop - piece.start)
                wanted = sum(source * size + peer for peer in piece.ranks)
                assert (recv[piece.start : piece.stop] == wanted).all(), (name, algorithm)


def every_dtype_and_operator(comm: BuiltinCommunicator) -> None:
    functions: dict[str, Callable[..., Any]] = {
        "sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "avg": np.mean,
    }  # fmt: skip
    values = np.array([[2, 4], [4, 2], [6, 6]])[: comm.size]
    for dtype in DTYPES:
        for operator, function in functions.items():
            data = comm.allocate(2, dtype)
            data[:] = values[comm.rank]
            comm.allreduce(data, operator=operator)
            assert data.astype(np.float64).tolist() == function(values, axis=0).tolist(), (dtype, operator)


def point_to_point(comm: BuiltinCommunicator) -> None:
    """Messages between pairs overtake each other, never within a pair; large ones go round a ring."""
    rank, size = comm.rank, comm.size
    after, before = (rank + 1) % size, (rank - 1) % size
    for count in (0, 1, 3_000_000):
        mine, theirs = np.full(count, rank, np.float32), np.full(count, -1, np.float32)
        if rank % 2 == 0:
            comm.send(mine, after)
            comm.recv(theirs, before)
        else:
            comm.recv(theirs, before)
            comm.send(mine, after)
        assert (theirs == before).all()
    if rank == 0:
        for peer in reversed(range(1, size)):
            for number in range(10):
                got = np.zeros(1, np.int32)
                comm.recv(got, peer)
                assert got[0] == 100 * peer + number
    else:
        for number in range(10):
            comm.send(np.array([100 * rank + number], np.int32), 0)


def groups(comm: BuiltinCommunicator) -> None:
    """Groups, groups of groups, in another order of ranks, and the same members twice."""
    rank, size = comm.rank, comm.size
    backwards = comm.group(range(size)[::-1])
    assert (backwards.rank, backwards.size) == (size - 1 - rank, size)
    assert backwards.allreduce(np.array([rank]))[0] == sum(range(size))
    if rank > 0:
        rest = comm.group(range(1, size))
        assert rest.allreduce(np.array([rank]))[0] == sum(range(1, size))
        if rest.rank > 0:
            nested = rest.group(range(1, rest.size))
            assert nested.allreduce(np.array([rank]))[0] == sum(range(2, size))
            nested.barrier()
        value = np.array([float(rank)])
        if rest.rank == 0:
            rest.send(value, rest.size - 1)
        elif rest.rank == rest.size - 1:
            rest.recv(value, 0)
            assert value[0] == 1.0
    twins = [comm.group(range(size)) for _ in range(2)]
    data = [np.full(100_000, rank + number, np.float32) for number in range(2)]
    calls = [twin.bind("allreduce", each, each) for twin, each in zip(twins, data, strict=True)]
    works = [call.start() for call in (calls if rank else calls[::-1])]
    assert all(work.wait() for work in works)
    assert [float(each[0]) for each in data] == [sum(range(size)), sum(range(size)) + size]
    comm.barrier()


def works(comm: BuiltinCommunicator) -> None:
    """A work whose peers have not started is not done; once they have, it is."""
    data = np.full(2_000_000, 1.0, np.float32)
    turn = np.zeros(1, np.int8)
    if comm.rank == 0:
        work = comm.group(range(comm.size)).bind("allreduce", data, data).start()
        assert not work.wait(0.0)
        assert not work.wait(0.05)
        assert not work.done
        for peer in range(1, comm.size):
            comm.send(turn, peer)
        assert work.wait(30.0)
    else:
        twin = comm.group(range(comm.size))
        comm.recv(turn, 0)
        twin.bind("allreduce", data, data).run()
    assert (data == comm.size).all()


def timing(comm: BuiltinCommunicator) -> None:
    """Stamps are in order, one a sample, on a clock that does not go back."""
    data = np.ones(1000, np.float32)
    call = comm.bind("allreduce", data, data, operator="max")
    for sync, batch, samples in (("each", 1, 7), ("none", 3, 3)):
        stamps = call.time(7, sync, batch)  # type: ignore[arg-type]
        assert stamps.shape == (samples, 2)
        flat = stamps.reshape(-1)
        assert (np.diff(flat) >= 0).all()
    assert comm.overhead(10).shape == (10, 2)


def lost_peer(comm: BuiltinCommunicator) -> None:
    """Rank 1 leaves without a word; the others run into the deadline and name it."""
    if comm.rank == 1:
        os._exit(0)
    comm.barrier()


if __name__ == "__main__":
    with collectives.open(timeout=float(os.environ.get("TIMEOUT", "30"))) as comm:
        globals()[sys.argv[1]](comm)
