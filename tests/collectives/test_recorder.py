"""What both engines leave in the ring of recorded calls."""

from __future__ import annotations

import contextlib
import inspect
import os
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from collectives import native, ring
from collectives.backends.builtin import BuiltinCommunicator
from collectives.errors import CollectiveError, MismatchError, TransportTimeout
from collectives.ringreader import Ring, read
from tests.collectives import inproc_world
from tests.collectives.inproc_world import run_threads

World = Callable[..., contextlib.AbstractContextManager[list[BuiltinCommunicator]]]
HERE = __file__


@contextlib.contextmanager
def portable(size: int, timeout: float = 20.0) -> Iterator[list[BuiltinCommunicator]]:
    world = inproc_world.communicators(size, timeout)
    try:
        yield world
    finally:
        for comm in world:
            comm.close()


@pytest.fixture(params=["native", "portable"])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "portable":
        return portable
    if native.core() is None:
        pytest.skip("no native core")
    from tests.collectives.native.native_world import communicators

    return communicators


def recorded(comm: BuiltinCommunicator) -> Ring:
    return read(bytes(comm.engine.recorder.memory))


def line_of(function: Callable[..., object], words: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if words in line)


def each(comms: list[BuiltinCommunicator], do: Callable[[BuiltinCommunicator], object]) -> list[object]:
    return run_threads([lambda comm=comm: do(comm) for comm in comms])  # type: ignore[misc]


def reduce(comm: BuiltinCommunicator) -> None:
    comm.bind("reduce", np.ones(5), np.ones(5), operator="max", root=1, algorithm="tree").run()


def test_a_call_is_recorded_with_all_that_is_known_of_it(world: World) -> None:
    before = time.monotonic()
    with world(4) as comms:
        each(comms, reduce)
        rings = [recorded(comm) for comm in comms]
    after = time.monotonic()
    for rank, found in enumerate(rings):
        assert (found.rank, found.world_size, found.pid, found.dropped) == (rank, 4, os.getpid(), 0)
        (entry,) = found.entries
        assert entry.group == found.groups[0]
        assert (entry.group.name, entry.group.ranks) == ("world", (0, 1, 2, 3))
        assert (entry.number, entry.sequence, entry.collective, entry.algorithm) == (1, 1, "reduce", "tree")
        assert (entry.dtype, entry.operator, entry.root) == ("float64", "max", 1)
        assert (entry.count, entry.bytes, entry.peer, entry.outcome) == (5, 40, None, "done")
        assert entry.entered is not None
        assert entry.exited is not None
        assert before <= entry.entered <= entry.exited <= after
        assert entry.frame is not None
        assert entry.frame.file == HERE
        assert (entry.frame.line, entry.frame.function) == (line_of(reduce, "run()"), "reduce")
    # In its first step, one that is no leaf hears of another; the root sends nothing.
    last = rings[1].entries[0]
    assert last.steps is not None
    assert last.step == last.steps - 1
    assert last.waits
    assert last.sends == ()


def stuck(comm: BuiltinCommunicator) -> str:
    try:
        comm.allreduce(np.ones(3, np.float32))
    except CollectiveError as error:
        return type(error).__name__
    return "done"


def test_who_waits_is_seen_in_its_step_with_whom_it_waits_for(world: World) -> None:
    with world(2, timeout=0.3) as comms:
        assert stuck(comms[0]) == "TransportTimeout"
        (entry,) = recorded(comms[0]).entries
        # Step 0 copies its own part.
        assert (entry.outcome, entry.step, entry.waits) == ("timed out", 1, (1,))
        assert recorded(comms[1]).entries == ()


def test_a_call_under_way_has_no_end(world: World) -> None:
    with world(2, timeout=20.0) as comms:
        call = comms[0].bind("allreduce", np.ones(3), np.ones(3))
        work = call.start()
        while not recorded(comms[0]).entries:
            assert not work.wait(0.01)
        (entry,) = recorded(comms[0]).entries
        assert (entry.outcome, entry.exited, entry.waits) == ("under way", None, (1,))
        assert entry.frame is not None
        assert entry.frame.line == line_of(test_a_call_under_way_has_no_end, "call.start()")
        comms[1].bind("allreduce", np.ones(3), np.ones(3)).run()
        assert work.wait(20)
        assert recorded(comms[0]).entries[0].outcome == "done"


def test_different_calls_are_seen_on_both_sides(world: World) -> None:
    with world(2, timeout=5.0) as comms:

        def differ(comm: BuiltinCommunicator) -> None:
            with contextlib.suppress(MismatchError, TransportTimeout):
                comm.bind("allreduce", np.ones(3), np.ones(3), operator="sum" if comm.rank else "max").run()

        each(comms, differ)
        entries = [recorded(comm).entries[0] for comm in comms]
        assert [entry.operator for entry in entries] == ["max", "sum"]
        assert "mismatch" in {entry.outcome for entry in entries}


def test_both_ends_of_a_message_are_recorded(world: World) -> None:
    with world(3) as comms:

        def chain(comm: BuiltinCommunicator) -> None:
            if comm.rank == 2:
                comm.send(np.ones(4, np.int32), 0)
            if comm.rank == 0:
                comm.recv(np.ones(4, np.int32), 2)

        each(comms, chain)
        (received,), (), (sent,) = (recorded(comm).entries for comm in comms)
        assert (sent.collective, sent.peer, sent.count, sent.bytes) == ("send", 0, 4, 16)
        assert (received.collective, received.peer, received.waits) == ("recv", 2, (2,))
        assert sent.group == received.group
        assert sent.group is not None
        assert sent.group.ranks == (2, 0)


def timing(comm: BuiltinCommunicator) -> None:
    comm.bind("allreduce", np.ones(2), np.ones(2)).time(3, "each")


def test_the_timed_loop_is_recorded_with_its_barriers(world: World) -> None:
    with world(2) as comms:
        each(comms, timing)
        entries = recorded(comms[1]).entries
    assert [entry.collective for entry in entries] == ["barrier", "allreduce"] * 3
    assert [entry.sequence for entry in entries] == [1, 2, 3, 4, 5, 6]
    assert {entry.frame.line for entry in entries if entry.frame} == {line_of(timing, ".time(")}


def test_groups_have_their_names_and_world_ranks(world: World) -> None:
    with world(4) as comms:

        def halves(comm: BuiltinCommunicator) -> None:
            members = [0, 2] if comm.rank % 2 == 0 else [3, 1]
            comm.group(members).bind("broadcast", np.ones(1), np.ones(1), root=1).run()

        each(comms, halves)
        entries = [recorded(comm).entries[0] for comm in comms]
    assert [entry.group.ranks for entry in entries if entry.group] == [(0, 2), (3, 1), (0, 2), (3, 1)]
    # The root is a rank of the group; whom it waits for is told as the world knows it.
    assert (entries[0].root, entries[0].waits, entries[3].waits) == (1, (2,), (1,))


def test_the_oldest_calls_are_given_up_but_none_under_way(world: World) -> None:
    with world(2, timeout=60.0) as comms:
        alone = comms[0].group([0])
        work = comms[0].bind("allreduce", np.ones(1), np.ones(1)).start()
        while not recorded(comms[0]).entries:
            assert not work.wait(0.01)
        alone.bind("barrier", None, None).time(ring.RECORDS + 10, "none")
        found = recorded(comms[0])
        comms[1].allreduce(np.ones(1))
        assert work.wait(60)
    assert len(found.entries) == ring.RECORDS
    assert found.entries[0].outcome == "under way"
    assert found.entries[0].number == 1
    # The last numbers, without a gap but for that record's.
    assert found.entries[-1].number == ring.RECORDS + 10 + 3
    assert {entry.collective for entry in found.entries[1:]} == {"barrier"}


def test_threads_that_call_at_once_lose_no_record(world: World) -> None:
    """Groups of one are independent of each other, so their calls run at the same time."""
    with world(1) as (comm,):
        groups = [comm.group([0]) for _ in range(4)]
        run_threads([lambda group=group: group.bind("barrier", None, None).time(200, "none") for group in groups])  # type: ignore[misc]
        entries = recorded(comm).entries
    assert len(entries) == 4 * 201
    for group in {entry.group for entry in entries}:
        assert [entry.sequence for entry in entries if entry.group == group] == list(range(1, 202))


def test_a_ring_can_be_read_at_any_time_while_calls_run(world: World) -> None:
    with world(1) as (comm,):
        call = comm.bind("allreduce", np.ones(1), np.ones(1))
        runner = threading.Thread(target=lambda: call.time(30_000, "none"))
        runner.start()
        looks = 0
        while runner.is_alive() or not looks:
            entries = recorded(comm).entries
            numbers = [entry.number for entry in entries]
            assert len(set(numbers)) == len(numbers)
            assert all(entry.exited is not None for entry in entries if entry.outcome == "done")
            looks += 1
        runner.join()
