"""How rings of recorded calls are read: when they are whole, cut, torn, full, spoilt or no rings at all."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from struct import pack_into

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from collectives import ring
from collectives.errors import CollectiveError
from collectives.recorder import Named, Recorder
from collectives.ringreader import Entry, RecorderError, read
from collectives.schedule import Plan, Receive, Send, Span, Step
from collectives.transport.base import CallTag

PLAN = Plan((Step(sends=(Send(1, (Span("send", 0, 1),)),), receives=(Receive(1, (Span("recv", 0, 1),)),)),))


def sample(descriptor: int | None = None) -> Recorder:
    recorder = Recorder(3, 8, descriptor)
    group = recorder.group("row", [3, 5])
    named = Named(group, "allreduce", "ring", "float32", "sum", None, 4, 16)
    program, frame = recorder.program(named, PLAN, [3, 5], 0), recorder.frame()
    for number in range(1, 4):
        record = recorder.enter(CallTag(9, number, 0, 0, 0, 0, 4), group, program, frame)
        record.at_step(0)
        if number < 3:
            record.leave(None)
    return recorder


@pytest.fixture(scope="module")
def whole() -> Iterator[bytes]:
    descriptor = ring.memory()
    assert descriptor is not None
    recorder = sample(descriptor)
    yield ring.snapshot(descriptor)
    del recorder
    os.close(descriptor)


def test_a_snapshot_is_short_and_says_when_it_was_taken(whole: bytes) -> None:
    found = read(whole)
    assert len(whole) < ring.NAMES_AT + 4096
    assert [entry.outcome for entry in found.entries] == ["done", "done", "under way"]
    assert found.entries[2].waits == (5,)
    assert found.read_at is not None
    assert found.epoch is not None
    assert found.entries[2].entered is not None
    assert found.entries[2].entered <= found.read_at <= time.monotonic()
    assert found.read_at + found.epoch == pytest.approx(time.time(), abs=60)


def test_memory_cannot_be_taken_away_under_a_reader() -> None:
    descriptor = ring.memory()
    assert descriptor is not None
    try:
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, 0)
        assert not os.get_inheritable(descriptor)
    finally:
        os.close(descriptor)


def test_a_name_is_written_once() -> None:
    recorder = sample()
    before = bytes(recorder.memory)
    assert recorder.group("row", [3, 5]) == 1
    assert bytes(recorder.memory) == before
    assert recorder.group("row", [3, 6]) == 2


def test_names_that_find_no_room_are_unknown_and_the_call_is_still_told() -> None:
    recorder = Recorder(0, 2)
    numbers = [recorder.group("x" * 400_000 + str(number), [0, 1]) for number in range(4)]
    assert numbers == [1, 2, 0, 0]
    recorder.enter(CallTag(9, 7, 0, 1, 0, 0, 11), numbers[3], 0, 0).leave(None)
    found = read(bytes(recorder.memory))
    (entry,) = found.entries
    assert len(found.groups) == 2
    assert (entry.group, entry.sequence, entry.collective, entry.count, entry.steps) == (None, 7, "allreduce", 11, None)


def test_very_many_waits_are_left_out() -> None:
    recorder = Recorder(0, 5000)
    receives = tuple(Receive(peer, (Span("recv", 0, 1),)) for peer in range(1, 5000))
    named = Named(0, "gather", "linear", "float32", None, 0, 1, 4)
    program = recorder.program(named, Plan((Step(receives=receives),)), range(5000), 0)
    recorder.enter(CallTag(9, 1, 0, 0, 0, 0, 1), 0, program, 0)
    (entry,) = read(bytes(recorder.memory)).entries
    assert (entry.waits, entry.sends, entry.steps) == (None, (), 1)


def test_a_record_that_is_being_written_is_left_out(whole: bytes) -> None:
    torn = bytearray(whole)
    pack_into("<Q", torn, ring.RECORDS_AT + ring.RECORD.size, 0)
    assert [entry.number for entry in read(bytes(torn)).entries] == [1, 3]


def test_a_record_that_is_of_two_calls_is_left_out(whole: bytes) -> None:
    """Its program is one of another group."""
    mixed = bytearray(whole)
    pack_into("<I", mixed, ring.RECORDS_AT + 40, 2)
    assert [entry.number for entry in read(bytes(mixed)).entries] == [2, 3]


def test_a_file_outlives_its_writer_and_has_times(tmp_path: Path) -> None:
    descriptor = ring.file(str(tmp_path / "new" / "folder"), 3)
    sample(descriptor)
    os.close(descriptor)
    found = read((tmp_path / "new" / "folder" / "rank-3.ring").read_bytes())
    assert (found.rank, len(found.entries)) == (3, 3)
    assert found.entries[0].entered is not None
    assert abs(found.entries[0].entered - time.monotonic()) < 60


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(CollectiveError, match=r"cannot record to .*taken"):
        ring.file(str(tmp_path / "taken"), 0)


@pytest.mark.parametrize("data", [b"", b"opsring\n", b"\x80\x04" * 4096, bytes(1 << 16)])
def test_what_is_no_ring_is_refused(data: bytes) -> None:
    with pytest.raises(RecorderError):
        read(data)


def test_a_ring_of_another_version_is_refused_by_its_name(whole: bytes) -> None:
    with pytest.raises(RecorderError, match="version 77"):
        read(whole[:8] + b"\x4d\0\0\0" + whole[12:])


def reading(data: bytes) -> list[Entry]:
    try:
        return list(read(data).entries)
    except RecorderError:
        return []


@given(st.binary(max_size=300))
def test_bytes_are_read_or_refused(data: bytes) -> None:
    assert reading(data) == []


@given(cut=st.integers(0, 1 << 18))
@example(cut=ring.RECORDS_AT + 3 * ring.RECORD.size)
def test_a_ring_may_be_cut_anywhere(whole: bytes, cut: int) -> None:
    found = reading(whole[:cut])
    assert [entry.number for entry in found] == [1, 2, 3][: max(cut - ring.RECORDS_AT, 0) // ring.RECORD.size]


SPOTS = st.one_of(
    st.integers(12, 256),
    st.integers(ring.RECORDS_AT, ring.RECORDS_AT + 4 * ring.RECORD.size),
    st.integers(ring.NAMES_AT, ring.NAMES_AT + 600),
)


@given(changes=st.lists(st.tuples(SPOTS, st.binary(min_size=1, max_size=16)), max_size=8))
def test_a_ring_may_be_spoilt_anywhere(whole: bytes, changes: list[tuple[int, bytes]]) -> None:
    data = bytearray(whole)
    for at, change in changes:
        data[at : at + len(change)] = change
    assert len(reading(bytes(data))) <= 4


NAMES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["host", "group", "program", "frame", "ranks", "name", "waits"]), inner)
    ),
    max_leaves=12,
)


@given(lines=st.lists(NAMES, max_size=6))
def test_names_may_be_anything(whole: bytes, lines: list[object]) -> None:
    text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    data = bytearray(whole[: ring.NAMES_AT] + text)
    pack_into("<Q", data, ring.NAMES_LENGTH_AT, len(text))
    assert len(reading(bytes(data))) == 3
