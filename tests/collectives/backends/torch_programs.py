"""What ranks run in the tests of torch's backends: LIBRARY NAME... on the command line of this module.

Each function asserts what it expects, so that a rank that is wrong ends with a traceback. Loading torch takes longer
than most of them, so that one rank may run several.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collectives.backends import LIBRARY
from collectives.backends.builtin import BACKEND
from collectives.backends.torch import TorchBackend
from collectives.backends.torch.communicator import TorchCommunicator
from collectives.communicator import Communicator
from collectives.dtypes import DTYPES, OPERATORS, Array
from collectives.errors import CollectiveError, PeerLost, TransportTimeout, UsageError
from collectives.ops import COLLECTIVES, Collective
from collectives.placement import Placement, from_environment
from collectives.rendezvous import Store, StoreServer
from collectives.schedule import Shape
from collectives.world import has_ended
from suites.pattern import Pattern
from tests.collectives.backends.torch_stand_ins import DEVICE, LIBRARIES, Idle
from tests.collectives.inproc_world import buffers
from tests.leftovers import until

COUNT = 1000


class Meeting:
    """Where the ranks of this world meet; every backend of it is opened here."""

    def __init__(self, placement: Placement, store: Store, timeout: float) -> None:
        self.placement, self.store, self.timeout = placement, store, timeout

    def open(self, library: TorchBackend, timeout: float | None = None) -> TorchCommunicator:
        return library.open(self.placement, self.store, os.environ["OPSDIST_TOKEN"], timeout or self.timeout)


@contextlib.contextmanager
def meeting() -> Iterator[Meeting]:
    placement = from_environment()
    assert placement
    address, token = os.environ["OPSDIST_STORE"], os.environ["OPSDIST_TOKEN"]
    server = StoreServer(address, token) if placement.rank == 0 else None
    store = Store(address, token)
    try:
        yield Meeting(placement, store, float(os.environ.get("TIMEOUT", "30")))
    finally:
        store.close()
        if server:
            server.close()


def call(comm: Communicator, row: Collective, shape: Shape, dtype: str, operator: str, count: int) -> None:
    """One call on exact inputs: the result is right, and out of place the input is what it was."""
    pattern = Pattern(dtype, operator if row.reduces else None, comm.size if row.reduces else 1)
    mine = np.zeros(shape.send.count, DTYPES[dtype])
    pattern.fill(mine, comm.rank)
    send, recv = buffers(row, shape, mine)
    if not shape.in_place and send is not None:
        send.flags.writeable = False
    counts: dict[str, Any] = {}
    if row.name == "alltoallv":
        counts = {"send_counts": shape.send_counts, "recv_counts": shape.recv_counts}
    bound = comm.bind(row.name, send, recv, operator=operator, root=shape.root, **counts)
    assert bound.algorithm == LIBRARY
    bound.run()
    what = (row.name, dtype, operator, shape)
    if recv is not None:
        assert pattern.check(recv, row.oracle(shape, count)) is None, what
    if not shape.in_place and send is not None:
        assert (send.view(np.uint8) == mine.view(np.uint8)).all(), what


def combinations() -> Iterator[tuple[Collective, str, str]]:
    for row in COLLECTIVES.values():
        for dtype in DTYPES if row.name != "barrier" else ("uint8",):
            for operator in OPERATORS if row.reduces else ("sum",):
                yield row, dtype, operator


def every_combination(comm: TorchCommunicator, meeting: Meeting) -> None:
    """Whatever is not lacked works, with and without elements, in place and out of place, for any root; whatever is
    lacked is refused with the reason, and when it is tried all the same, it fails."""
    library = LIBRARIES[comm.transport]
    unlimited = meeting.open(replace(library, name=f"{library.name} unlimited", no_types={}, no_operators={}))
    for row, dtype, operator in combinations():
        places = (False, True) if row.alias else (False,)
        roots = (0, comm.size - 1) if row.rooted else (0,)
        shapes = [
            (row.shape(comm.rank, comm.size, count, root=root, in_place=place), count)
            for place in places for root in roots for count in (COUNT, 0, 1)
        ]  # fmt: skip
        if reason := library.lacks(row.name, dtype, operator):
            with refused(UsageError, reason):
                call(comm, row, shapes[0][0], dtype, operator, COUNT)
            with refused(CollectiveError, "failed in"):
                call(unlimited.group(range(comm.size)), row, shapes[0][0], dtype, operator, COUNT)
        else:
            for shape, count in shapes:
                call(comm, row, shape, dtype, operator, count)


@contextlib.contextmanager
def refused(kind: type[CollectiveError], words: str) -> Iterator[None]:
    """Exactly this kind of error, not one that is derived from it."""
    with pytest.raises(kind, match=re.escape(words)) as caught:
        yield
    assert type(caught.value) is kind


def point_to_point(comm: TorchCommunicator, meeting: Meeting) -> None:
    """Round a ring, and between two in order."""
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for count in (0, 1, 300_000):
        mine, theirs = np.full(count, comm.rank, np.float32), np.full(count, -1, np.float32)
        mine.flags.writeable = False
        if comm.rank == 0:
            comm.send(mine, after)
            comm.recv(theirs, before)
        else:
            comm.recv(theirs, before)
            comm.send(mine, after)
        assert (theirs == before).all()
    with refused(UsageError, "cannot send to rank"):
        comm.send(np.zeros(1), comm.size)
    with refused(UsageError, "read-only"):
        comm.recv(mine, after)


def total(comm: Communicator, value: float) -> float:
    """The sum of all ranks' values."""
    data: Array = np.full(3, value)
    comm.bind("allreduce", data, data).run()
    return float(data[2])


def groups(comm: TorchCommunicator, meeting: Meeting) -> None:
    """Groups, groups of groups, in another order of ranks, and the same members twice."""
    rank, size = comm.rank, comm.size
    backwards = comm.group(range(size)[::-1])
    assert (backwards.rank, backwards.size) == (size - 1 - rank, size)
    gathered = np.zeros(size)
    backwards.bind("allgather", np.array([float(rank)]), gathered).run()
    assert gathered.tolist() == [float(other) for other in range(size)[::-1]]
    if rank > 0:
        rest = comm.group(range(1, size))
        assert total(rest, rank) == sum(range(1, size))
        if rest.rank > 0:
            nested = rest.group(range(1, rest.size))
            assert total(nested, rank) == sum(range(2, size))
            nested.barrier()
    twins = [comm.group(range(size)) for _ in range(2)]
    data = [np.full(100_000, rank + number, np.float32) for number in range(2)]
    calls = [twin.bind("allreduce", each, each) for twin, each in zip(twins, data, strict=True)]
    works = [call.start() for call in (calls if rank else calls[::-1])]
    assert all(work.wait() for work in works)
    assert [float(each[0]) for each in data] == [sum(range(size)), sum(range(size)) + size]
    with refused(UsageError, "not a member"):
        comm.group([(rank + 1) % size])
    comm.barrier()


def works(comm: TorchCommunicator, meeting: Meeting) -> None:
    """A work whose peers have not started is not done; once they have, it is. Until then it is not started again."""
    twin = comm.group(range(comm.size))
    data = np.full(200_000, 1.0, np.float32)
    turn = np.zeros(1, np.int8)
    call = twin.bind("allreduce", data, data)
    if comm.rank == 0:
        work = call.start()
        assert not work.wait(0.0)
        assert not work.wait(0.05)
        assert not work.done
        with refused(UsageError, "still under way"):
            call.start()
        for peer in range(1, comm.size):
            comm.send(turn, peer)
        assert work.wait(30.0)
        assert work.done
        assert work.wait()
    else:
        comm.recv(turn, 0)
        call.run()
    assert (data == comm.size).all()


def timing(comm: TorchCommunicator, meeting: Meeting) -> None:
    """Stamps are in order, one a sample, and the data of a timed call is the caller's before and after."""
    sets = [(np.full(1000, comm.rank + number, np.float32), np.zeros(1000, np.float32)) for number in range(2)]
    calls = [comm.bind("allreduce", send, recv, operator="max") for send, recv in sets]
    for sync, batch, samples in (("each", 1, 7), ("none", 3, 3)):
        for _, recv in sets:
            recv[:] = -1
        stamps = calls[0].time(7, sync, batch, calls[1:])  # type: ignore[arg-type]
        assert stamps.shape == (samples, 2)
        assert (np.diff(stamps.reshape(-1)) >= 0).all()
        assert [float(recv[-1]) for _, recv in sets] == [comm.size - 1, comm.size]
    waits = DEVICE.waits
    calls[0].time(6, "none", 2)
    assert comm.transport == "gloo" or DEVICE.waits - waits >= 3  # one a sample at the least
    assert comm.overhead(10).shape == (10, 2)
    comm.barrier()


def on_a_device(comm: TorchCommunicator, meeting: Meeting) -> None:
    """A run waits for its device, and what it leaves out cannot pass for its result."""
    send, recv = comm.allocate(4, "float32"), comm.allocate(4, "float32")
    send[:], recv[:] = 1, 7
    alone = comm.group([comm.rank])
    call = alone.bind("allgather", send, recv)
    waits = DEVICE.waits
    call.run()
    assert recv.tolist() == [1] * 4
    assert DEVICE.waits == waits + 1
    assert DEVICE.chosen == [comm.rank]
    recv[:] = 7
    alone.link.group = Idle()
    call.run()
    assert recv.tolist() == [7] * 4


def side_by_side(comm: TorchCommunicator, meeting: Meeting) -> None:
    """All of them in one process, and the built-in backend; calls of one do not disturb another's."""
    token = os.environ["OPSDIST_TOKEN"]
    comms: list[Communicator] = [BACKEND.open(meeting.placement, meeting.store, token, meeting.timeout)]
    comms += [comm, *(meeting.open(each) for name, each in LIBRARIES.items() if name != comm.transport)]
    rank, size = meeting.placement.rank, meeting.placement.world_size
    arrays = [np.full(100_000, rank + number, np.float32) for number in range(len(comms))]
    calls = [each.bind("allreduce", array, array) for each, array in zip(comms, arrays, strict=True)]
    works = [call.start() for call in (calls if rank else calls[::-1])]
    assert all(work.wait(30.0) for work in works)
    assert [float(array[0]) for array in arrays] == [sum(range(size)) + size * n for n in range(len(comms))]
    assert [comm.transport for comm in comms[1:]] == list(LIBRARIES)
    for each in comms:
        each.barrier()
    comm.close()
    for act in (calls[1].run, lambda: comm.group(range(size))):
        with refused(UsageError, "the communicator is closed"):
            act()
    assert total(comms[2], 1) == size
    for each in comms:
        each.close()


def stop_until(pids: Sequence[int]) -> None:
    """Stop this process until these have ended; a child, which is of this run too, lets it go on."""
    pid = os.fork()
    if pid == 0:
        until(lambda: all(map(has_ended, pids)), 50, "the end of the others")
        os.kill(os.getppid(), signal.SIGCONT)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGSTOP)
    os.waitpid(pid, 0)


def failed(comm: TorchCommunicator, meeting: Meeting) -> None:
    """Rank LOST leaves, is stopped or stays away from the call; the others name it, now and later."""
    lost, how = int(os.environ["LOST"]), os.environ["HOW"]
    late = how != "leaves"
    if late:
        # Opened once more: now that all are there, the deadline may be short.
        comm = meeting.open(replace(LIBRARIES[comm.transport], name="short"), 2.0)
    pids = meeting.store.gather("pids", comm.rank, os.getpid(), comm.size, meeting.timeout)
    answered = [Path(tempfile.gettempdir(), f"answered-{rank}") for rank in range(comm.size) if rank != lost]
    if comm.rank == lost:
        others = [pid for rank, pid in enumerate(pids) if rank != lost]
        # With rank 0 goes the store, which may not have answered all of them yet.
        until(lambda: all(path.exists() for path in answered), 50, "the answers to the others")
        for path in answered:
            path.unlink()
        if how == "stops":
            stop_until(others)
        if late:
            until(lambda: all(map(has_ended, others)), 50, "the end of the others")
        os._exit(0)
    Path(tempfile.gettempdir(), f"answered-{comm.rank}").touch()
    data = np.ones(10, np.float32)
    call = comm.bind("allreduce", data, data)
    verb = "waits for" if late else "lost the connection to"
    said = f"rank {comm.rank} {verb} rank {lost} ({comm.transport}: "
    for act in (call.run, comm.barrier, lambda: call.time(1, "each")):
        with refused(TransportTimeout if late else PeerLost, said):
            act()
    with pytest.raises(CollectiveError) as caught:
        call.run()
    assert getattr(caught.value, "waiting_for", None) == (lost,)


def no_algorithm(comm: TorchCommunicator, meeting: Meeting) -> None:
    data = np.zeros(4)
    with refused(UsageError, "gloo chooses its algorithms itself; ring cannot be asked for"):
        comm.bind("allreduce", data, data, algorithm="ring")
    assert comm.bind("allreduce", data, data, algorithm=LIBRARY).algorithm == LIBRARY


def loaded(comm: TorchCommunicator, meeting: Meeting) -> None:
    print(comm.library)


if __name__ == "__main__":
    with meeting() as met:
        communicator = met.open(LIBRARIES[sys.argv[1]])
        for name in sys.argv[2:]:
            globals()[name](communicator, met)
