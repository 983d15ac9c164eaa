"""What ranks run in the tests of backend mpi: `mpiexec -n N python -m tests.collectives.backends.mpi_programs NAME`.

Each function asserts what it expects, so that a rank that is wrong ends with a traceback.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from collectives import native
from collectives.backends.mpi import BACKEND, MpiCommunicator
from collectives.dtypes import DTYPES, OPERATORS, Array
from collectives.errors import LibraryError, MismatchError, UsageError
from collectives.ops import COLLECTIVES, Collective
from collectives.placement import from_environment
from collectives.rendezvous import Store, StoreServer
from collectives.schedule import Shape
from suites.pattern import Pattern
from tests.collectives import programs
from tests.collectives.inproc_world import buffers

COUNTS = (0, 1, 1000, 70_000)
"""Elements a block; the last is beyond eager limits."""


def join(timeout: float = 30.0) -> MpiCommunicator:
    """The communicator of all ranks; rank 0 serves the rendezvous."""
    placement = from_environment()
    assert placement
    address, token = os.environ["OPSDIST_STORE"], os.environ["OPSDIST_TOKEN"]
    server = StoreServer(address, token) if placement.rank == 0 else None
    store = Store(address, token)
    try:
        return BACKEND.open(placement, store, token, timeout)
    finally:
        store.close()
        if server:
            server.close()


def _shapes(comm: MpiCommunicator, row: Collective, count: int) -> Iterator[Shape]:
    for root in range(comm.size) if row.rooted else (0,):
        for in_place in (False, True) if row.alias else (False,):
            yield row.shape(comm.rank, comm.size, count, root=root, in_place=in_place)


def _right(comm: MpiCommunicator, row: Collective, shape: Shape, count: int, dtype: str, operator: str) -> None:
    """Run, start and time a call on fresh inputs each; every result must be right, to the bit."""
    pattern = Pattern(dtype, operator if row.reduces else None, comm.size if row.reduces else 1)
    fill = np.zeros(shape.send.count, DTYPES[dtype])
    pattern.fill(fill, comm.rank)
    send, recv = buffers(row, shape, fill)
    counts = (shape.send_counts, shape.recv_counts) if row.name == "alltoallv" else (None, None)
    call = comm.bind(
        row.name, send, recv, operator=operator, root=shape.root, send_counts=counts[0], recv_counts=counts[1]
    )
    before = None if send is None else send.copy()
    for run in (call.run, lambda: call.start().wait(), lambda: call.time(1, "none"), lambda: call.time(1, "each")):
        if recv is not None:
            recv.view(np.uint8)[:] = 0xFF
        if send is not None:
            send[:] = before
        run()
        what = row.name, dtype, operator, count, shape
        if recv is not None:
            assert pattern.check(recv, row.oracle(shape, count)) is None, what
        if send is not None and before is not None and not shape.in_place:
            assert send.tobytes() == before.tobytes(), what


def every_collective(comm: MpiCommunicator) -> None:
    """By every root, out of place and in place, in sizes small and large, with elements moved and summed."""
    for row in COLLECTIVES.values():
        for count in COUNTS:
            for shape in _shapes(comm, row, count):
                _right(comm, row, shape, count, "float32", "sum")


def every_dtype_and_operator(comm: MpiCommunicator) -> None:
    """Of every collective; what is lacked is refused in the words that were told before."""
    for row in COLLECTIVES.values():
        for dtype in DTYPES:
            for operator in OPERATORS if row.reduces else ("sum",):
                for shape in list(_shapes(comm, row, 96))[-2:]:
                    if reason := BACKEND.lacks(row.name, dtype, operator):
                        with pytest.raises(UsageError) as caught:
                            _right(comm, row, shape, 96, dtype, operator)
                        assert str(caught.value) == reason
                    else:
                        _right(comm, row, shape, 96, dtype, operator)


def uneven_blocks(comm: MpiCommunicator) -> None:
    """alltoallv by counts of one's own, some of them 0."""
    rank, size = comm.rank, comm.size
    send_counts = [(rank + peer) % 3 * peer for peer in range(size)]
    recv_counts = [(rank + peer) % 3 * rank for peer in range(size)]
    send = np.repeat(np.arange(size) + 100 * rank, send_counts)
    recv = np.full(sum(recv_counts), -1)
    comm.bind("alltoallv", send, recv, send_counts=send_counts, recv_counts=recv_counts).run()
    assert recv.tolist() == np.repeat(100 * np.arange(size) + rank, recv_counts).tolist()


def _sum(comm: MpiCommunicator, value: float) -> float:
    data = np.array([value])
    comm.bind("allreduce", data, data).run()
    return float(data[0])


def groups(comm: MpiCommunicator) -> None:
    """Groups, groups of groups, in another order of ranks, and the same members twice."""
    rank, size = comm.rank, comm.size
    backwards = comm.group(range(size)[::-1])
    assert (backwards.rank, backwards.size) == (size - 1 - rank, size)
    assert _sum(backwards, rank) == sum(range(size))
    if rank > 0:
        rest = comm.group(range(1, size))
        assert _sum(rest, rank) == sum(range(1, size))
        if rest.rank > 0:
            nested = rest.group(range(1, rest.size))
            assert _sum(nested, rank) == sum(range(2, size))
            nested.barrier()
            nested.close()
    twins = [comm.group(range(size)) for _ in range(2)]
    data = [np.full(100_000, rank + number, np.float32) for number in range(2)]
    calls = [twin.bind("allreduce", each, each) for twin, each in zip(twins, data, strict=True)]
    works = [call.start() for call in (calls if rank else calls[::-1])]
    assert all(work.wait() for work in works)
    assert [float(each[0]) for each in data] == [sum(range(size)), sum(range(size)) + size]


def point_to_point(comm: MpiCommunicator) -> None:
    programs.point_to_point(comm)  # type: ignore[arg-type]
    for count in (3, 5):
        if comm.rank == 0:
            comm.send(np.zeros(count, np.float32), 1)
        elif comm.rank == 1:
            with pytest.raises(MismatchError, match=f"rank 1 waits for 16 bytes, rank 0 sends {4 * count} bytes"):
                comm.recv(np.zeros(4, np.float32), 0)


def works(comm: MpiCommunicator) -> None:
    """A work whose peers have not started is not done; once they have, it is. Meanwhile its call is refused."""
    data = np.full(2_000_000, 1.0, np.float32)
    turn = np.zeros(1, np.int8)
    call = comm.group(range(comm.size)).bind("allreduce", data, data)
    if comm.rank == 0 and comm.size > 1:
        work = call.start()
        assert not work.wait(0.0)
        assert not work.wait(0.05)
        assert not work.done
        for refused in (call.run, call.start, lambda: call.time(1, "none")):
            with pytest.raises(UsageError, match="still under way"):
                refused()
        for peer in range(1, comm.size):
            comm.send(turn, peer)
        assert work.wait(30.0)
    else:
        if comm.size > 1:
            comm.recv(turn, 0)
        assert call.start().wait()
    assert (data == comm.size).all()


def timing(comm: MpiCommunicator) -> None:
    """In C and in Python alike: stamps in order, and calls taken in turn."""
    programs.timing(comm)  # type: ignore[arg-type]
    sets: list[Array] = [np.ones(4, np.int32) for _ in range(3)]
    calls = [comm.bind("allreduce", each, each) for each in sets]
    with pytest.MonkeyPatch.context() as patch:
        for core in (native.core(), None):
            patch.setattr("collectives.backends.mpi.core", lambda core=core: core)
            for each in sets:
                each[:] = 1
            stamps = calls[0].time(7, "none", 2, calls[1:])
            assert stamps.shape == (4, 2)
            assert [int(each[0]) for each in sets] == [comm.size**3, comm.size**2, comm.size**2]
            assert ((stamps[:, 1] - stamps[:, 0]) > 0).all()
            assert len(comm.overhead(5)) == 5
            assert "native core" in MpiCommunicator(comm.mpi, comm._comm, lambda: None, comm.book).library or core


def errors(comm: MpiCommunicator) -> None:
    """A code that MPI returns is raised in its own words, whoever called it; the communicator lives on. (The code is
    made up: libraries are built without checks, and then do worse than return one.)"""
    data = np.zeros(8, np.float32)
    refuse = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: comm.mpi.mpi.ERR_COUNT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comm.mpi, "address", lambda name: ctypes.cast(refuse, ctypes.c_void_p).value)
        call = comm.bind("allreduce", data, data.copy())
        for run in (call.run, call.start, lambda: call.time(3, "none"), lambda: call.time(3, "each")):
            patch.setattr(comm, "barrier", lambda: None)
            with pytest.raises(LibraryError, match=r"(?i)MPI_I?allreduce failed: .*count.*libmpi"):
                run()
    with pytest.raises(LibraryError, match="libmpi"), comm._errors():
        raise comm.mpi.mpi.Exception(comm.mpi.mpi.ERR_COUNT)
    assert _sum(comm, 1.0) == comm.size


def library(comm: MpiCommunicator) -> None:
    """The path is that of the file which is mapped."""
    path = comm.library.partition(", ")[2].partition(";")[0]
    with open("/proc/self/maps") as maps:
        assert os.path.realpath(path) in maps.read()
    assert comm.transport == "mpi"


def level(comm: MpiCommunicator) -> None:
    """As a C benchmark initialises it: a higher level has its price, in some libraries."""
    assert comm.mpi.mpi.Query_thread() == comm.mpi.mpi.THREAD_SINGLE


def main(names: Sequence[str]) -> None:
    comm = join()
    for name in names:
        globals()[name](comm)
    comm.close()


if __name__ == "__main__":
    main(sys.argv[1:])
