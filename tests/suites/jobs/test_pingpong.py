"""Hosts whose clocks differ by what a test says: each rank is a thread that reads a clock of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from collectives.backends.builtin import BuiltinCommunicator
from collectives.errors import TransportTimeout
from suites.clocks import clocks_of
from suites.jobs import pingpong
from suites.jobs.pingpong import ALL_EXCHANGES, LEAST_EXCHANGES, MOST_EXCHANGES, HostClocks
from tests.collectives.inproc_world import run_world

DAY = 86_400 * 10**9


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """By thread, what its clock is ahead of the machine's."""
    offsets: dict[int, int] = {}

    def now() -> int:
        return time.monotonic_ns() + offsets.get(threading.get_ident(), 0)

    monkeypatch.setattr(pingpong, "time", SimpleNamespace(monotonic_ns=now))
    return offsets


def on_hosts(
    counts: Sequence[int], offsets: Sequence[int], ahead: dict[int, int], job: Callable[[HostClocks], Any],
    *, timeout: float = 20.0,
) -> list[Any]:  # fmt: skip
    """Run the job on every rank; the hosts' clocks are ahead of that of the first one by `offsets`."""
    ends = list(accumulate(counts))

    def on_rank(comm: BuiltinCommunicator) -> Any:
        ahead[threading.get_ident()] = offsets[next(host for host, end in enumerate(ends) if comm.rank < end)]
        return job(HostClocks(comm, counts))

    return run_world(sum(counts), on_rank, timeout)


def twice(clocks: HostClocks) -> Any:
    clocks.read()
    clocks.read()
    return clocks.report()


@pytest.mark.parametrize("counts", [(1, 1), (2, 1), (1, 2, 3), (3, 1, 1, 1)])
def test_rank_0_knows_how_far_the_clock_of_every_host_is_ahead(counts: tuple[int, ...], ahead: dict[int, int]) -> None:
    offsets = [0, DAY, -DAY, 12_345][: len(counts)]
    told = on_hosts(counts, offsets, ahead, twice)
    assert told[1:] == [None] * (sum(counts) - 1)
    clocks = clocks_of(told[0])
    assert len(clocks) == len(counts)
    for clock, offset in zip(clocks, offsets, strict=True):
        assert abs(clock.offset(clock.before.at) - offset) <= clock.error
        assert clock.before.at <= clock.after.at


def test_the_last_two_readings_are_told_and_one_is_not_enough(ahead: dict[int, int]) -> None:
    def job(clocks: HostClocks) -> Any:
        told = []
        for _ in range(3):
            clocks.read()
            told.append(clocks.report())
        return told

    first, second, third = on_hosts((1, 1), (0, DAY), ahead, job)[0]
    assert first is None
    assert second[1][1] == third[1][0]


def test_one_host_has_one_clock(ahead: dict[int, int]) -> None:
    assert on_hosts((3,), (0,), ahead, twice) == [None] * 3


@pytest.mark.parametrize(("hosts", "times"), [(2, MOST_EXCHANGES), (41, ALL_EXCHANGES // 40), (90, LEAST_EXCHANGES)])
def test_what_is_spent_on_it_is_bounded(hosts: int, times: int) -> None:
    """Counted on a rank 0 whose partners answer by themselves."""
    runs: list[int] = []
    call = SimpleNamespace(run=lambda: runs.append(0))
    pair = SimpleNamespace(rank=0, allocate=lambda *_: np.zeros(1, np.int64), bind=lambda *_, **__: call)
    told = SimpleNamespace(rank=0, group=lambda _: pair)
    HostClocks(told, (1,) * hosts).read()  # type: ignore[arg-type]
    assert len(runs) == 2 * times * (hosts - 1)


def test_a_host_that_does_not_answer_is_waited_for_no_longer_than_for_any_call(ahead: dict[int, int]) -> None:
    def job(clocks: HostClocks) -> Any:
        if ahead[threading.get_ident()] == 0:
            with pytest.raises(TransportTimeout) as late:
                clocks.read()
            return late.value.waiting_for
        return None

    assert on_hosts((1, 1), (0, DAY), ahead, job, timeout=0.3)[0] == (1,)
