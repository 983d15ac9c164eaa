"""Calls under way together: in which order they run, who drives them, and how they end when a peer does not answer."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from collectives import native
from collectives.backends.builtin import BuiltinCommunicator
from collectives.dtypes import Array
from collectives.errors import CollectiveError, MismatchError, TransportTimeout, UsageError
from collectives.progress import _Turns
from tests.collectives import inproc_world
from tests.collectives.inproc_world import PATIENCE, run_threads
from tests.leftovers import until

Body = Callable[[BuiltinCommunicator], Any]
Worlds = Callable[..., list[BuiltinCommunicator]]


needs_core = pytest.mark.skipif(native.core() is None, reason=str(native.unavailable()))


@pytest.fixture(params=["portable", pytest.param("native", marks=needs_core)])
def communicators(request: pytest.FixtureRequest) -> Iterator[Worlds]:
    """Makes worlds over each engine: `communicators(size, timeout=...)` has one a rank."""
    with contextlib.ExitStack() as stack:

        def in_core(size: int, timeout: float = PATIENCE) -> list[BuiltinCommunicator]:
            from tests.collectives.native import native_world

            return stack.enter_context(native_world.communicators(size, timeout))

        yield in_core if request.param == "native" else inproc_world.communicators


def run_world(world: Sequence[BuiltinCommunicator], body: Body) -> list[Any]:
    """`body(comm)` on every rank, in a thread each."""
    return run_threads([lambda comm=comm: body(comm) for comm in world])  # type: ignore[misc]


def started_in(order: tuple[int, ...], groups: list[list[int]]) -> Body:
    """Start a work on each group in an order of the rank's own, then wait for all; the sums."""

    def body(comm: BuiltinCommunicator) -> list[float]:
        arrays = {}
        works = []
        mine = [index for index in order if comm.rank in groups[index]]
        children = {index: comm.group(groups[index]) for index in sorted(mine)}
        for index in mine:
            arrays[index] = np.full(300_000, comm.rank + 1.0, np.float32)
            works.append(children[index].bind("allreduce", arrays[index], arrays[index]).start())
        assert all(work.wait() for work in works)
        return [float(arrays[index][-1]) for index in sorted(mine)]

    return body


def test_works_on_different_groups_may_start_in_different_orders(communicators: Worlds) -> None:
    groups = [[0, 1, 2], [0, 1], [1, 2], [2, 0]]
    orders = [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)]
    bodies = [started_in(order, groups) for order in orders]
    results = run_world(communicators(3), lambda comm: bodies[comm.rank](comm))
    assert results == [[6.0, 3.0, 4.0], [6.0, 3.0, 5.0], [6.0, 5.0, 4.0]]


def test_works_on_one_communicator_run_one_after_the_other(communicators: Worlds) -> None:
    """Whatever the ranks' speeds, the messages of two calls under way on one group never meet."""

    def body(comm: BuiltinCommunicator) -> list[float]:
        arrays = [np.full(100_000 * (number + 1), comm.rank + number, np.float64) for number in range(5)]
        calls = [comm.bind("allreduce", array, array, algorithm="ring") for array in arrays]
        works = [call.start() for call in calls]
        for work in reversed(works):
            assert work.wait()
        return [float(array[-1]) for array in arrays]

    assert run_world(communicators(3), body) == [[3.0 + 3 * number for number in range(5)]] * 3


def test_a_turn_is_handed_to_whoever_asked_first() -> None:
    """A thread that takes its turn again at once comes after the one that has been waiting."""
    turns = _Turns()
    for _ in range(20):
        order: list[str] = []

        def wait(turns: _Turns = turns, order: list[str] = order) -> None:
            with turns:
                order.append("has waited")

        waiting = threading.Thread(target=wait)
        with turns:
            waiting.start()
            until(lambda: turns.wanted, 10.0, "the other thread")
        with turns:
            order.append("again")
        waiting.join()
        assert order == ["has waited", "again"]


def test_threads_of_one_rank_do_not_starve_each_other(communicators: Worlds) -> None:
    """Rank 0's first thread waits for what rank 1 only begins when the second threads have met."""
    worlds_ = communicators(2)
    groups = [[comm.group([0, 1]) for _ in range(2)] for comm in worlds_]

    def both(rank: int) -> list[float]:
        first, second = groups[rank]
        entered = threading.Event()

        def one() -> float:
            if rank == 1:
                assert entered.wait(10)
            return float(first.allreduce(np.ones(10, np.float32))[0])

        def two() -> float:
            result = float(second.allreduce(np.ones(10, np.float32))[0])
            entered.set()
            return result

        return run_threads([one, two])

    assert run_threads([lambda: both(0), lambda: both(1)]) == [[2.0, 2.0]] * 2


def test_a_wait_with_a_timeout_comes_back(communicators: Worlds) -> None:
    first, second = communicators(2)
    data = np.ones(5, np.float32)
    work = first.bind("allreduce", data, data).start()
    assert not work.wait(0.0)
    assert not work.wait(0.05)
    assert not work.done
    other = second.bind("allreduce", data.copy(), np.zeros(5, np.float32)).start()
    assert other.wait(10.0)
    assert work.wait(10.0)
    assert work.done
    assert data[0] == 2.0


def test_a_work_goes_on_although_nobody_waits(communicators: Worlds) -> None:
    first, second = communicators(2)
    data = [np.ones(3_000_000, np.float32) for _ in range(2)]
    works = [comm.bind("allreduce", array, array).start() for comm, array in zip((first, second), data, strict=True)]
    until(lambda: all(work.done for work in works), 20.0, "the works, which nobody waits for")
    assert [float(array[-1]) for array in data] == [2.0, 2.0]


def test_a_call_is_not_started_twice(communicators: Worlds) -> None:
    first, second = communicators(2)
    data = np.ones(5, np.float32)
    call = first.bind("allreduce", data, data)
    work = call.start()
    with pytest.raises(UsageError, match="still under way"):
        call.start()
    second.allreduce(np.ones(5, np.float32))
    assert work.wait(10.0)
    again = call.start()
    second.allreduce(np.ones(5, np.float32))
    assert again.wait(10.0)


def test_a_deadline_names_who_is_waited_for_and_holds_from_then_on(communicators: Worlds) -> None:
    [comm, *_] = communicators(3, timeout=0.05)
    data = np.ones(5, np.float32)
    with pytest.raises(
        TransportTimeout, match=r"rank 0 in step 0 of call 1 \(allreduce of 5 float32 sum\) waits"
    ) as caught:
        comm.bind("allreduce", data, np.zeros(5, np.float32), algorithm="one_shot").run()
    assert caught.value.waiting_for == (1, 2)
    # Peers that wake up now are in another call than this rank would be.
    with pytest.raises(TransportTimeout):
        comm.barrier()


def test_a_deadline_names_who_does_not_take_what_is_sent(communicators: Worlds) -> None:
    [comm, _] = communicators(2, timeout=0.05)
    with pytest.raises(TransportTimeout, match="cannot send to rank 1") as caught:
        comm.send(np.ones(4_000_000, np.float32), 1)
    assert caught.value.waiting_for == (1,)


def test_a_deadline_passes_in_the_background_too(communicators: Worlds) -> None:
    [comm, _] = communicators(2, timeout=0.05)
    data = np.ones(5, np.float32)
    work = comm.bind("allreduce", data, data).start()
    with pytest.raises(TransportTimeout):
        work.wait(10.0)
    assert work.done


def floats(number: int) -> Array:
    return np.ones(number, np.float32)


Enter = Callable[[BuiltinCommunicator], Any]
DIFFERENT: dict[str, tuple[Enter, Enter]] = {
    "count": (lambda c: c.allreduce(floats(4)), lambda c: c.allreduce(floats(5))),
    "count of large ones": (lambda c: c.allreduce(floats(40_000)), lambda c: c.allreduce(floats(80_000))),
    "dtype": (lambda c: c.allreduce(np.ones(4, np.int32)), lambda c: c.allreduce(floats(4))),
    "operator": (lambda c: c.allreduce(floats(4)), lambda c: c.allreduce(floats(4), operator="max")),
    "collective": (
        lambda c: c.allreduce(floats(4)), lambda c: c.bind("alltoall", floats(4), np.zeros(4, np.float32)).run()
    ),
    "order": (
        lambda c: (c.allreduce(floats(4)), c.allreduce(floats(9))),
        lambda c: (c.allreduce(floats(9)), c.allreduce(floats(4))),
    ),
    "root": (
        lambda c: c.bind("broadcast", floats(4), floats(4), root=0).run(),
        lambda c: (c.bind("broadcast", floats(4), floats(4), root=1).run(), c.barrier()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DIFFERENT)
def test_ranks_in_different_calls_are_told_and_both_are_named(communicators: Worlds, what: str) -> None:
    world = communicators(2, timeout=1.0)
    enter = DIFFERENT[what]
    told: list[str] = []
    named: list[tuple[int, ...]] = []

    def body(comm: BuiltinCommunicator) -> None:
        try:
            enter[comm.rank](comm)
            comm.barrier()
        except MismatchError as error:
            told.append(str(error))
            named.append((comm.rank, error.peer))
        except TransportTimeout as error:
            named.append((comm.rank, *error.waiting_for))  # its own message was what the other took offence at

    run_world(world, body)
    assert told
    assert set(named) <= {(0, 1), (1, 0)}
    assert all("rank 0" in words and "rank 1" in words for words in told)
    call = r"(?:allreduce|alltoall|broadcast|barrier) of [^),]*"
    assert len({found for words in told for found in re.findall(call, words)}) >= 2, told


def test_closing_ends_what_is_under_way(communicators: Worlds) -> None:
    [comm, _] = communicators(2)
    data = np.ones(5, np.float32)
    work = comm.bind("allreduce", data, data).start()
    comm.close()
    with pytest.raises(CollectiveError, match="closed"):
        work.wait(10.0)
    with pytest.raises(CollectiveError, match="closed"):
        comm.barrier()


def test_closed_is_closed_although_peers_would_answer(communicators: Worlds) -> None:
    world = communicators(2)
    calls = [comm.bind("barrier", None, None) for comm in world]
    for comm in world:
        comm.close()

    def late(call: Any) -> None:
        with pytest.raises(CollectiveError, match="closed"):
            call.run()

    run_threads([lambda call=call: late(call) for call in calls])  # type: ignore[misc]
