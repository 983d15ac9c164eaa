"""The built-in communicator: in real processes what it does, in this one what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from collectives.backends.builtin import BuiltinCommunicator
from collectives.binding import resolve
from collectives.dtypes import Array
from collectives.errors import UsageError
from tests.collectives.inproc_world import communicators
from tests.collectives.processes import assert_well, free_port, program, run_ranks
from tests.leftovers import RunSpace

PROGRAMS = [
    ("every_collective", 3),
    ("every_dtype_and_operator", 2),
    ("point_to_point", 3),
    ("groups", 4),
    ("works", 3),
    ("timing", 2),
]


@pytest.mark.parametrize(("name", "size"), PROGRAMS)
def test_real_processes(space: RunSpace, name: str, size: int) -> None:
    assert_well(run_ranks(space, program(name), size))


@pytest.mark.parametrize(
    ("name", "size", "local_size"), [(*row, local) for row in PROGRAMS for local in (1, 2) if local < row[1]]
)
def test_real_processes_on_several_hosts(space: RunSpace, name: str, size: int, local_size: int) -> None:
    """Where there is no core, over ZeroMQ."""
    store = f"tcp://127.0.0.1:{free_port()}"
    variables = {"OPSDIST_LOCAL_SIZE": str(local_size), "OPSDIST_STORE": store}
    assert_well(run_ranks(space, program(name), size, **variables))


def test_a_peer_that_left_is_named(space: RunSpace) -> None:
    ended = run_ranks(space, program("lost_peer"), 2, TIMEOUT="0.5")
    assert ended[1].code == 0
    assert ended[0].code == 1
    assert "TransportTimeout: nothing moved for 0.5 s: rank 0" in ended[0].stderr
    assert "waits for rank 1" in ended[0].stderr


@pytest.fixture
def comm() -> BuiltinCommunicator:
    """Rank 0 of two; the other never does anything, since all that is tested is refused before a message."""
    return communicators(2)[0]


def floats(count: int) -> Array:
    return np.zeros(count, np.float32)


MEMORY = floats(64)

REFUSED: dict[str, tuple[Callable[[BuiltinCommunicator], Any], str]] = {
    "an unknown collective": (lambda c: c.bind("alreduce", floats(1), floats(1)), "did you mean 'allreduce'"),
    "a list for a buffer": (lambda c: c.allreduce([1.0, 2.0]), "must be numpy arrays, not list"),
    "an unknown operator": (lambda c: c.bind("allreduce", floats(1), floats(1), operator="summ"), "'sum'"),
    "an unknown algorithm": (lambda c: c.bind("allreduce", floats(1), floats(1), algorithm="rang"), "'ring'"),
    "a root that is not there": (lambda c: c.bind("broadcast", floats(1), floats(1), root=2), "root 2"),
    "a receive buffer too short": (lambda c: c.bind("allreduce", floats(4), floats(3)), "must have 4 elements, not 3"),
    "no receive buffer": (lambda c: c.bind("allreduce", floats(4), None), "must have 4 elements, not 0"),
    "blocks that do not divide": (lambda c: c.bind("alltoall", floats(5), floats(5)), "do not divide into 2 blocks"),
    "two dtypes": (lambda c: c.bind("allreduce", floats(2), np.zeros(2)), "float32 and float64"),
    "an unknown dtype": (lambda c: c.allreduce(np.zeros(2, np.complex64)), "complex64"),
    "another byte order": (lambda c: c.allreduce(np.zeros(2, ">f4")), ">f4"),
    "two dimensions": (lambda c: c.allreduce(np.zeros((2, 2), np.float32)), "one-dimensional"),
    "a stride": (lambda c: c.allreduce(MEMORY[::2]), "contiguous"),
    "a read-only receive buffer": (lambda c: c.allreduce(_read_only(4)), "read-only"),
    "a read-only array to recv": (lambda c: c.recv(_read_only(4), 1), "read-only"),
    "overlap": (lambda c: c.bind("allreduce", MEMORY[:8], MEMORY[4:12]), "overlap"),
    "overlap where there is no in place": (lambda c: c.bind("alltoall", MEMORY[:8], MEMORY[:8]), "overlap"),
    "in place at the wrong block": (lambda c: c.bind("allgather", MEMORY[4:8], MEMORY[:8]), "overlap"),
    "counts for equal blocks": (
        lambda c: c.bind("alltoall", floats(2), floats(2), send_counts=[1, 1], recv_counts=[1, 1]),
        "alltoallv",
    ),
    "one side's counts": (lambda c: c.bind("alltoallv", floats(2), floats(2), send_counts=[1, 1]), "recv_counts"),
    "too few counts": (
        lambda c: c.bind("alltoallv", floats(2), floats(2), send_counts=[2], recv_counts=[1, 1]),
        "2 numbers",
    ),
    "negative counts": (
        lambda c: c.bind("alltoallv", floats(2), floats(2), send_counts=[3, -1], recv_counts=[1, 1]),
        "from 0 on",
    ),
    "sending to oneself": (lambda c: c.send(floats(1), 0), "rank 0 cannot send to rank 0"),
    "sending to nobody": (lambda c: c.send(floats(1), 2), "in a world of 2"),
    "a group of strangers": (lambda c: c.group([0, 2]), "not distinct ranks"),
    "a group with one twice": (lambda c: c.group([0, 0]), "not distinct ranks"),
    "a group of others": (lambda c: c.group([1]), "rank 0 is not a member"),
}


def _read_only(count: int) -> Array:
    array = floats(count)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_reason(comm: BuiltinCommunicator, case: str) -> None:
    call, words = REFUSED[case]
    with pytest.raises(UsageError) as caught:
        call(comm)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("collective", "send", "recv"),
    [
        ("allreduce", MEMORY[:8], MEMORY[:8]),
        ("allgather", MEMORY[:4], MEMORY[:8]),  # rank 0's block is the first
        ("reduce_scatter", MEMORY[:8], MEMORY[:4]),
        ("broadcast", MEMORY[:8], MEMORY[:8]),
        ("allreduce", MEMORY[:0], MEMORY[:0]),
    ],
)
def test_in_place_is_recognised(comm: BuiltinCommunicator, collective: str, send: Array, recv: Array) -> None:
    comm.bind(collective, send, recv)
    assert resolve(collective, comm.rank, comm.size, send, recv).shape.in_place == bool(len(send))


def test_a_read_only_send_buffer_is_fine(comm: BuiltinCommunicator) -> None:
    assert comm.bind("allreduce", _read_only(4), floats(4)).algorithm
