"""What is recorded of the calls of a library that is not opsdist's own."""

from __future__ import annotations

import numpy as np
import pytest

from collectives.binding import resolve
from collectives.logbook import Logbook
from collectives.recorder import Recorder, unless_broken_off
from collectives.ringreader import Entry, read


def recorded(book: Logbook) -> tuple[Entry, ...]:
    return read(bytes(book.recorder.memory)).entries


def test_a_call_is_recorded_with_all_that_ranks_must_agree_on() -> None:
    book, data = Logbook("mpi world", 1, [0, 1, 2], Recorder(1, 3)), np.zeros(6, np.float32)
    entry = book.entry(resolve("reduce", 1, 3, data, data, "max", 2), "max")
    with entry.made():
        pass
    record = entry.begin(entry.frame())
    done, under_way = recorded(book)
    assert done.group is not None
    assert (done.group.name, done.group.ranks, done.sequence) == ("mpi world", (0, 1, 2), 1)
    assert (done.collective, done.algorithm, done.dtype, done.operator) == ("reduce", "library", "float32", "max")
    assert (done.root, done.count, done.bytes, done.steps, done.outcome) == (2, 6, 24, 0, "done")
    assert done.frame is not None
    assert done.frame.file == __file__
    assert (under_way.sequence, under_way.outcome, under_way.exited) == (2, "under way", None)
    record.leave(None)
    assert recorded(book)[1].outcome == "done"


def test_what_breaks_a_call_off_is_recorded() -> None:
    book = Logbook("mpi world", 0, [0, 1])
    entry = book.entry(resolve("barrier", 0, 2, None, None), "sum")
    with pytest.raises(RuntimeError), entry.made():
        raise RuntimeError
    with pytest.raises(RuntimeError), unless_broken_off(entry.begin(0)):
        raise RuntimeError
    assert [one.outcome for one in recorded(book)] == ["interrupted", "interrupted"]


def test_several_calls_in_one_go_are_counted() -> None:
    book = Logbook("gloo world", 0, [0, 1])
    entry = book.entry(resolve("barrier", 0, 2, None, None), "sum")
    for calls in (5, 1, 1):
        entry.begin(0, calls).leave(None)
    assert [one.sequence for one in recorded(book)] == [1, 6, 7]


def test_groups_and_messages_count_apart() -> None:
    book, data = Logbook("gloo world", 2, [0, 1, 2, 3], Recorder(2, 4)), np.zeros(3, np.int32)
    child = book.child([3, 2])
    again = book.child([3, 2])
    assert (child.name, child.rank, child.ranks) == ("gloo world/(3, 2)#0", 1, (3, 2))
    assert again.name == "gloo world/(3, 2)#1"
    with child.message(data, 0, sent=True).made(), child.message(data, 0, sent=False).made():
        pass
    with child.message(data, 0, sent=True).made():
        pass
    sent, received, later = recorded(book)
    assert (sent.collective, sent.peer, sent.sends, sent.waits, sent.bytes) == ("send", 3, (3,), (), 12)
    assert (received.collective, received.peer, received.sends, received.waits) == ("recv", 3, (), (3,))
    assert [one.sequence for one in (sent, received, later)] == [1, 1, 2]
