"""No text makes a reader raise, and none takes long: lines may be 64 KiB of anything."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import LINE_READERS, hccl_rank_table, hccl_status, line_reader
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.source import Source
from tests.suites.diagnose.evidence.hccl_lines import facts

_HERE = Path(__file__).parent
SAMPLES = [
    text
    for file in sorted(_HERE.glob("test_hccl_*.py"))
    for text in re.findall(r'"([^"\n]{40,})"', file.read_text())
    if file != Path(__file__)
]
"""Pieces of the samples of all these tests, which is what a damaged log has too."""
CUT = st.sampled_from(SAMPLES).flatmap(
    lambda text: st.tuples(st.integers(0, len(text)), st.text(max_size=8), st.integers(0, len(text))).map(
        lambda cut: text[: cut[0]] + cut[1] + text[cut[2] :]
    )
)
LONG = 1 << 16


@given(st.lists(st.one_of(CUT, st.text(max_size=200)), max_size=12))
def test_nothing_raises(lines: list[str]) -> None:
    facts("\n".join(lines))


@given(st.lists(CUT, max_size=6).map("".join))
def test_joined_pieces_do_not_raise(text: str) -> None:
    for reader in map(line_reader, LINE_READERS.values()):
        list(reader.feed(Line(text, 1, "made_up.log")))
        list(reader.end())


@pytest.mark.parametrize(
    "filler", [" ", "[", "|", "1", "[1],", "a", "rank [", "| 1.1.1.1(1) ", "server ", ", ", "tag["]
)
@pytest.mark.parametrize("sample", ["", "createLink para:", "| 1.2.3.4(1) |", "Task run failed, base information is "])
def test_long_lines_come_to_an_end(sample: str, filler: str) -> None:
    """The time limit of the test run is what it fails by."""
    line = (f"[ERROR] HCCL(1,a):2026-03-01-08:00:00 {sample}" + filler * LONG)[:LONG]
    for reader in map(line_reader, LINE_READERS.values()):
        assert isinstance(list(reader.feed(Line(line, 1, "made_up.log"))), list)


@given(st.binary(max_size=400), st.integers(0, 400))
def test_no_bytes_make_a_file_reader_raise(data: bytes, cut: int) -> None:
    table = b'{"server_list": [{"device": [{"rank_id": "0"}], "server_id": 3}], "rank_list": [{"rank_id": 0}]}'
    for content in (data, table[:cut] + data, data + table[cut:]):
        for reader in (hccl_status, hccl_rank_table):
            reader.recognises(content, "made_up")
            assert list(reader.read(Source("made_up", lambda: io.BytesIO(content))))  # noqa: B023 - read at once
