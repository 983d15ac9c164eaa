"""The native core's timed calls of C functions: which are called, how often, when, and what is refused."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from collectives import native, ring
from collectives.binding import resolve
from collectives.logbook import Logbook
from collectives.recorder import Recorder
from collectives.ringreader import read

pytestmark = pytest.mark.skipif(native.core() is None, reason=f"no native core: {native.unavailable()}")

_WORDS = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_ssize_t] * 12)


def stamps(samples: int) -> Any:
    return np.full((samples, 2), -1, np.int64)


class Spy:
    """A C function of 12 words that keeps what it is called with, and when."""

    def __init__(self, returns: Callable[[int], int] = lambda number: 0) -> None:
        self.calls: list[tuple[int, ...]] = []
        self.times: list[int] = []

        def called(*words: int) -> int:
            self.calls.append(words)
            self.times.append(time.monotonic_ns())
            return returns(len(self.calls))

        self._keep = _WORDS(called)
        self.address = ctypes.cast(self._keep, ctypes.c_void_p).value


def core() -> Any:
    found = native.core()
    assert found
    return found


def test_calls_go_round_over_samples_and_stamps_enclose_them() -> None:
    spy, into, start = Spy(), stamps(3), time.monotonic_ns()
    assert core().time_foreign(spy.address, [(1,), (2,)], 7, 3, None, into) == 0
    assert [call[0] for call in spy.calls] == [1, 2, 1, 2, 1, 2, 1]
    flat = [start, *into.ravel().tolist(), time.monotonic_ns()]
    assert flat == sorted(flat)
    for sample, (first, last) in enumerate(((0, 2), (3, 5), (6, 6))):
        assert into[sample, 0] <= spy.times[first] <= spy.times[last] <= into[sample, 1]


def test_all_twelve_words_arrive_and_the_rest_are_zero() -> None:
    spy = Spy()
    words = (-1, 2**63, 2**64 - 1, *range(4, 13))
    core().time_foreign(spy.address, [words, ()], 2, 1, None, stamps(2))
    assert spy.calls == [(-1, -(2**63), -1, *range(4, 13)), (0,) * 12]


def test_what_stands_before_a_sample_is_not_in_it() -> None:
    spy, before, into = Spy(), Spy(), stamps(2)
    core().time_foreign(spy.address, [()], 4, 2, (before.address, (7,)), into)
    assert [call[0] for call in before.calls] == [7, 7]
    assert into[0, 1] <= before.times[1] <= into[1, 0]


@pytest.mark.parametrize("who", ["function", "before"])
def test_the_first_code_that_is_not_zero_ends_it(who: str) -> None:
    failing, fine = Spy(lambda number: 42 if number == 2 else 0), Spy()
    function, before = (failing, fine) if who == "function" else (fine, failing)
    assert core().time_foreign(function.address, [()], 5, 1, (before.address, ()), stamps(5)) == 42
    assert len(failing.calls) == 2


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_calls_are_recorded_with_their_numbers(batch: int) -> None:
    book = Logbook("mpi world", 0, [0, 1], Recorder(0, 2))
    data = np.zeros(2, np.int32)
    call, barrier = (
        book.entry(resolve(name, 0, 2, array, array), "sum") for name, array in (("allreduce", data), ("barrier", None))
    )
    seen: list[tuple[str | None, str]] = []

    def note(number: int) -> int:
        entries = read(bytes(book.recorder.memory)).entries
        seen.append((entries[-1].collective, entries[-1].outcome))
        return 42 if number == 5 else 0

    spy, before = Spy(note), Spy()
    record = (book.recorder.memory, 7, [call.label(0), call.label(0)], barrier.label(0))
    into = stamps(-(-6 // batch))
    assert core().time_foreign(spy.address, [(), ()], 6, batch, (before.address, ()), into, record) == 42
    assert seen == [("allreduce", "under way")] * 5
    found = read(bytes(book.recorder.memory)).entries
    assert [entry.sequence for entry in found] == [*range(7, 7 + len(found))]
    assert [entry.collective for entry in found].count("barrier") == len(before.calls)
    assert [entry.outcome for entry in found] == ["done"] * (len(found) - 1) + ["interrupted"]


def test_an_empty_loop_is_one() -> None:
    nothing, _ = core().foreign_functions()
    into = stamps(4)
    assert core().time_foreign(nothing, [()], 4, 1, None, into) == 0
    assert (into >= 0).all()
    assert core().time_foreign(nothing, [()], 0, 1, None, stamps(0)) == 0


@pytest.mark.parametrize("code", [0, 3])
def test_a_copy_follows_a_call_that_went_well(code: int) -> None:
    spy, (_, then_copy) = Spy(lambda number: code), core().foreign_functions()
    source, target = np.arange(4, dtype=np.int64), np.zeros(4, np.int64)
    words = (spy.address, 1, 2, 3, 4, 5, 6, target.ctypes.data, source.ctypes.data, 24)
    assert core().time_foreign(then_copy, [words], 1, 1, None, stamps(1)) == code
    assert spy.calls == [(1, 2, 3, 4, 5, 6, *[0] * 6)]
    assert target.tolist() == ([0] * 4 if code else [0, 1, 2, 0])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0, [()], 1, 1, None, stamps(1)), ValueError),
        ((1, [], 1, 1, None, stamps(1)), ValueError),
        ((1, [()], 1, 0, None, stamps(1)), ValueError),
        ((1, [()], -1, 1, None, stamps(0)), ValueError),
        ((1, [()], 3, 2, None, stamps(1)), ValueError),
        ((1, [()], 1, 1, None, stamps(2)), ValueError),
        ((1, [()], 1, 1, None, np.zeros(16, np.uint8)), ValueError),
        ((1, [()], 1, 1, None, b"0123456789abcdef"), BufferError),
        ((1, [(0,) * 13], 1, 1, None, stamps(1)), ValueError),
        ((1, [[1]], 1, 1, None, stamps(1)), ValueError),
        ((1, [("x",)], 1, 1, None, stamps(1)), TypeError),
        ((1, [(1,), (None,)], 1, 1, None, stamps(1)), TypeError),
        ((1, ((),), 1, 1, None, stamps(1)), TypeError),
        ((1, [()], 1, 1, 7, stamps(1)), TypeError),
        ((1, [()], 1, 1, (1, [1]), stamps(1)), ValueError),
        ((1, [()], 1, 1, None, stamps(1), 7), TypeError),
        ((1, [()], 1, 1, None, stamps(1), (bytearray(99), 1, [(0,) * 5], None)), ValueError),
        ((1, [()], 1, 1, None, stamps(1), (bytes(ring.LENGTH), 1, [(0,) * 5], None)), BufferError),
        ((1, [()], 1, 1, None, stamps(1), (bytearray(ring.LENGTH), 1, [], None)), ValueError),
        ((1, [()], 1, 1, None, stamps(1), (bytearray(ring.LENGTH), 1, [(0,) * 4], None)), TypeError),
        ((1, [()], 1, 1, (1, ()), stamps(1), (bytearray(ring.LENGTH), 1, [(0,) * 5], None)), TypeError),
    ],
)
def test_refused_before_anything_is_called(arguments: Any, error: type[Exception]) -> None:
    """Address 1 would end this process."""
    with pytest.raises(error):
        core().time_foreign(*arguments)
