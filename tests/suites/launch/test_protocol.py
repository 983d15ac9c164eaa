"""Frames and lines out of bytes that come in any pieces."""

from __future__ import annotations

import json
import socket
import struct
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.launch.protocol import LARGEST, BrokenFrame, Channel, FrameReader, LineReader, pack

_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_values = st.recursive(_scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
_contents = st.dictionaries(st.text(), _values, max_size=3)
_frames = st.builds(lambda kind, content: {**content, "type": kind}, st.text(), _contents)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data cut at some places, wherever they are."""
    places = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


@given(st.lists(_frames, max_size=5), st.lists(st.integers(0, 1 << 16)))
def test_any_cutting_of_any_frames_gives_the_frames(frames: list[dict[str, Any]], cuts: list[int]) -> None:
    reader = FrameReader()
    whole = b"".join(pack(frame) for frame in frames)
    assert [frame for piece in pieces(whole, cuts) for frame in reader.feed(piece)] == frames


@given(st.binary(min_size=4), st.lists(st.integers(0, 1 << 16)))
def test_garbage_gives_frames_or_broken_frame_and_nothing_else(data: bytes, cuts: list[int]) -> None:
    reader = FrameReader()
    try:
        for piece in pieces(data, cuts):
            for frame in reader.feed(piece):
                assert "type" in frame
    except BrokenFrame:
        pass


@pytest.mark.parametrize(
    "body",
    [b"", b"no JSON", b"[]", b"{}", b'"type"', b"\xff\xfe", b"[" * 100_000],
    ids=["empty", "text", "list", "no type", "string", "bytes", "deep"],
)
def test_what_is_no_frame_is_refused(body: bytes) -> None:
    with pytest.raises(BrokenFrame):
        list(FrameReader().feed(struct.pack(">I", len(body)) + body))


def test_too_long_a_frame_is_refused_before_it_has_come() -> None:
    with pytest.raises(BrokenFrame, match=str(LARGEST + 1)):
        list(FrameReader().feed(struct.pack(">I", LARGEST + 1)))


def test_a_frame_that_no_reader_would_take_is_not_sent() -> None:
    with pytest.raises(BrokenFrame, match="'huge'"):
        pack({"type": "huge", "much": "x" * LARGEST})


def test_a_channel_gives_frames_in_order_and_tells_the_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        first, second = Channel(ours), Channel(theirs)
        first.send({"type": "one"})
        first.send({"type": "two"})
        assert [second.receive()["type"], second.receive()["type"]] == ["one", "two"]
        ours.close()
        with pytest.raises(EOFError):
            second.receive()


@given(st.lists(st.text()), st.lists(st.integers(0, 1 << 16)))
def test_any_cutting_of_text_keeps_lines_and_characters_whole(lines: list[str], cuts: list[int]) -> None:
    text = "\n".join(lines)
    reader = LineReader()
    given_ = [reader.feed(piece) for piece in pieces(text.encode(), cuts) if piece]
    last = reader.feed(b"")
    assert "".join([*given_, last]) == text
    assert all(piece.endswith("\n") for piece in given_ if piece)


def test_a_line_without_end_is_not_kept_for_ever() -> None:
    reader = LineReader()
    taken = sum(len(reader.feed(b"x" * 1000)) for _ in range(1000))
    assert taken > 1_000_000 - (128 << 10)


def test_frames_are_json_with_a_length() -> None:
    data = pack({"type": "hello", "pid": 1})
    assert struct.unpack(">I", data[:4]) == (len(data) - 4,)
    assert json.loads(data[4:]) == {"type": "hello", "pid": 1}
