"""How the native engine waits: without using the CPU, with a deadline, and so that Ctrl-C is heard."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("collectives.native._core", reason="needs the compiled core", exc_type=ImportError)

from collectives.backends.builtin import BuiltinCommunicator
from collectives.errors import ResourceError, TransportTimeout, UsageError
from collectives.native import _core
from collectives.native.engine import NativeEngine
from tests.collectives.inproc_world import run_threads
from tests.collectives.native import native_world
from tests.leftovers import until

ALLOWED = 0.250
"""Seconds of CPU for a second of waiting, where who spins takes all of it. On a busy machine 5 ms are
usual on one host and 30 to 50 between two, and 67 were seen: how little it is, is a benchmark's to say."""


@pytest.mark.parametrize("nodes", [(0, 0), (0, 1)], ids=["one host", "two hosts"])
@pytest.mark.parametrize("crowded", [True, False])
def test_who_waits_a_second_for_a_late_peer_uses_hardly_any_cpu(crowded: bool, nodes: tuple[int, ...]) -> None:
    with native_world.engines(2, timeout=1.0, crowded=crowded, nodes=nodes) as (engine, peer):
        first, second = (BuiltinCommunicator(each, range(2), "token", "world", each.close) for each in (engine, peer))
        run_threads([first.barrier, second.barrier])  # which connects them, where they are on two hosts
        data = np.ones(5, np.float32)
        call = first.bind("allreduce", data, np.zeros(5, np.float32))
        used = time.thread_time()
        with pytest.raises(TransportTimeout, match="nothing moved for 1 s"):
            call.run()
        assert time.thread_time() - used < ALLOWED


def test_a_sleeper_is_woken_by_what_it_waits_for() -> None:
    """The peer comes when this rank has been asleep for long, and longer and longer."""
    with native_world.communicators(2) as (first, second):
        data = np.ones(5, np.float32)
        work = first.bind("allreduce", data, data).start()
        until(lambda: _asleep(first), 10.0, "sleep")
        second.allreduce(np.ones(5, np.float32))
        assert work.wait(10.0)
        assert data[0] == 2.0


def _asleep(comm: BuiltinCommunicator) -> bool:
    """Whether a thread of this process waits on the futex of an inbox."""
    tasks = [task for task in os.listdir("/proc/self/task") if int(task) != threading.get_native_id()]
    waits = []
    for task in tasks:
        with open(f"/proc/self/task/{task}/syscall", encoding="ascii") as told:
            waits.append(told.read().split())
    region = comm.engine.region  # type: ignore[attr-defined]
    inside = range(region.address, region.address + region.length)
    return any(len(call) > 1 and call[1].startswith("0x") and int(call[1], 16) in inside for call in waits)


@pytest.mark.parametrize("nodes", [(0, 0), (0, 1)], ids=["one host", "two hosts"])
def test_ctrl_c_ends_a_wait(nodes: tuple[int, ...]) -> None:
    with native_world.communicators(2, nodes=nodes) as (comm, peer):
        run_threads([comm.barrier, peer.barrier])
        data = np.ones(5, np.float32)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            comm.allreduce(data)
        with pytest.raises(UsageError, match="interrupted"):
            comm.barrier()


@pytest.mark.parametrize("nodes", [(0, 0, 0), (0, 1, 1)], ids=["one host", "two hosts"])
def test_a_timed_loop_keeps_the_numbers_of_calls_in_step(nodes: tuple[int, ...]) -> None:
    """Loops, single calls and works of one group follow each other on all ranks."""

    def body(comm: BuiltinCommunicator) -> list[float]:
        data, out = np.full(1000, comm.rank + 1.0), np.zeros(1000)
        call = comm.bind("allreduce", data, out)
        small = comm.bind("broadcast", data[:1], out[:1])
        found = []
        for sync, batch in (("each", 1), ("none", 3), ("none", 1)):
            stamps = call.time(10, sync, batch, [small])  # type: ignore[arg-type]
            assert (stamps[:, 1] >= stamps[:, 0]).all()
            assert len(stamps) == -(-10 // batch)
            assert call.start().wait(10.0)
            found.append(float(out[-1]))
        return found

    with native_world.communicators(3, nodes=nodes) as world:
        assert run_threads([lambda comm=comm: body(comm) for comm in world]) == [[6.0] * 3] * 3  # type: ignore[misc]


def test_groups_beyond_the_directory_are_refused() -> None:
    with native_world.engines(1, reach=4 << 30) as (engine,), pytest.raises(ResourceError, match="4096 groups"):
        _open_groups(engine)


def _open_groups(engine: NativeEngine) -> None:
    for key in range(1, 4098):
        engine.channel(key, [0])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "ends too early"),
        ([1, 0, 0, 0, 0, 0, 0], "ends too early"),
        ([0, 0, 0, 0, 0, 0, 0, 5], "goes on after its end"),
        ([1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 80, 1, 0, 80], "out of its range"),  # a copy from outside a buffer
        ([1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 9, -1, 1, 0, 0, 8], "out of its range"),  # to a member that is not there
        ([1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, -1, 2, 0, 0, 8, 0, 0, 8], "out of its range"),  # spans not announced
        ([1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 40, 0, 2, 1, 0, 0, 1, 0, 0], "out of its range"),  # operands
    ],
)
def test_a_program_that_reaches_outside_is_refused(words: list[int], reason: str) -> None:
    with native_world.engines(2) as (engine, _):
        channel = engine.channel(7, [0, 1])
        buffer = np.zeros(40, np.uint8)
        with pytest.raises(ValueError, match=reason):
            _core.Program(
                channel._core, np.array(words, np.int64).tobytes(), (buffer, buffer, None), 1, 0, 1, 0, 0, 0, 0
            )
