"""A log of bytes of any kind: which lines come to a reader, whole and with their number."""

import io
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.diagnose.evidence.log import read_log
from suites.diagnose.evidence.source import Source
from suites.diagnose.evidence.text import BLOCK, looks_like_text, wrapped_at
from suites.diagnose.facts import NOBODY, Fact, Seen, Trouble, Unread, Who
from tests.suites.diagnose.fakereaders import Complaints, Raising, Whole

FILLER = b"an ordinary line of a training log, loss 1.25\n"
PIECES = (
    "sorry", "WorkNCCL(", ")", "\n", "\r", "\0", "\x1b[0m", "BEGIN", "END", "[rank1]:", "[E424 ", "HCCL(", "[ERROR] ",
    "x" * 79, "NCCL WARN ", "node01:1:2 [0] ", " ", "\ud800",
)  # fmt: skip


def reading(data: bytes, who: Who = NOBODY) -> list[Fact]:
    source = Source("a.log", lambda: io.BytesIO(data), who)
    return list(read_log(source, data[: 1 << 16], {"complaints": Complaints(), "whole": Whole()}))


def told(data: bytes) -> list[tuple[int | None, str]]:
    return [(fact.place.line, fact.place.text) for fact in reading(data) if isinstance(fact, Trouble | Seen)]


@pytest.mark.parametrize(
    "data",
    [
        b"one\nI am sorry\n",
        b"one\r\nI am sorry\r\n",
        b"one\nI am sorry",
        b"\xef\xbb\xbfone\nI am sorry\n",
        "one\nI am sorry\n".encode("utf-16"),
        b"one\n\0\0\0I am\0 sorry\n",
        b"one\n 10%\r 20%\rI am sorry\r 30%\n",
        b"one\nI am sorry\x1b[0m\n",
    ],
)
def test_every_encoding_and_end_of_line(data: bytes) -> None:
    assert told(data) == [(2, "I am sorry")]


def test_an_unknown_encoding_is_replaced() -> None:
    assert told("sorry 不".encode("gbk")) == [(1, "sorry \ufffd\ufffd")]


@pytest.mark.parametrize("before", [0, 1, 1000, BLOCK // len(FILLER) - 1, 3 * BLOCK // len(FILLER)])
def test_lines_are_counted_over_blocks(before: int) -> None:
    assert told(FILLER * before + b"sorry\n" + FILLER * 30000 + b"sorry") == [
        (before + 1, "sorry"),
        (before + 30002, "sorry"),
    ]


@pytest.mark.parametrize("before", range(BLOCK - 60, BLOCK + 60, 7))
def test_a_broken_record_is_joined_over_blocks(before: int) -> None:
    data = b"x" * (before - 1) + b"\n" + b"sorry WorkNCCL(SeqNum=4, OpTy\npe=BROADCAST)\nBEGIN END\n"
    data = data.replace(b"x" * 60, b"x" * 59 + b"\n")
    assert [text for _, text in told(data)] == ["sorry WorkNCCL(SeqNum=4, OpType=BROADCAST)", "BEGIN END"]


def test_the_rest_of_a_broken_record_is_no_record_of_its_own() -> None:
    data = b"sorry WorkNCCL(SeqNum=4,\n[rank1]:[E424 01:11:21.1 a.cpp:6] sorry too\n"
    assert told(data) == [(1, "sorry WorkNCCL(SeqNum=4,"), (2, "[E424 01:11:21.1 a.cpp:6] sorry too")]


def test_lines_broken_at_a_width_are_joined() -> None:
    text = "the first of a few hundred words, " + "a word and another one " * 8
    text = text.ljust(80 * 4 - 2, "z") + "sorry for all of it"
    wrapped = "\n".join(text[at : at + 80] for at in range(0, len(text), 80))
    assert "sorry" not in wrapped
    assert told(wrapped.encode()) == [(1, text)]


@pytest.mark.parametrize(
    "record",
    [
        "node01:4711:4712 [3] NCCL INFO Channel {:05}/0 : 3[3] -> 4[4] via P2P/CUMEM",
        "step {:05} loss 1.25 learning rate 0.0001 and some more words to make it wide",
        "2026-12-02 07:19:01,123 - trainer - INFO - step {:05} with words to make it wide",
    ],
)
def test_records_that_are_all_of_one_width_are_not_joined(record: str) -> None:
    text = "".join(f"{record.format(number)} {'sorry' if number % 2 else 'happy'}\n" for number in range(9))
    assert wrapped_at(text) is None
    assert [line for line, _ in told(text.encode())] == [2, 4, 6, 8]


def test_a_long_line_is_cut_and_the_rest_of_the_log_read() -> None:
    facts = reading(b"sorry" + b"x" * 5 * BLOCK + b"sorry\nsorry again\n")
    assert [(fact.place.line, fact.place.text[:11]) for fact in facts if isinstance(fact, Trouble)] == [
        (1, "sorryxxxxxx"),
        (2, "sorry again"),
    ]
    assert [type(fact) for fact in facts] == [Trouble, Unread, Trouble]


def test_progress_bars_without_a_line_feed_are_no_long_line() -> None:
    assert told(b" 10% of all\r" * (BLOCK // 4) + b"sorry\nsorry\n") == [(1, "sorry"), (2, "sorry")]


def test_a_reader_that_is_awake_gets_all_lines() -> None:
    data = b"BEGIN\n" + FILLER * 50000 + b"\nEND\n" + FILLER
    assert len(told(data)) == 50003
    assert told(b"BEGIN\nnext")[-1] == (None, "")


def test_joined_records_are_told_apart() -> None:
    facts = reading(b"[rank1]:[E424 1 a] sorry[rank2]:[E424 1 a] sorry\n", Who(host="node01"))
    assert [fact.who for fact in facts if isinstance(fact, Trouble)] == [
        Who(rank=1, host="node01"),
        Who(rank=2, host="node01"),
    ]


def test_a_reader_that_fails_does_not_stop_the_others() -> None:
    source = Source("a.log", lambda: io.BytesIO(b"sorry\nsorry\n"))
    facts = list(read_log(source, b"sorry\n", {"raising": Raising(), "complaints": Complaints()}))
    assert [type(fact) for fact in facts] == [Unread, Trouble, Trouble]
    assert facts[0] == Unread("a.log", "the reader of raising failed: IndexError: too far")


class _Breaking(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if not data:
            raise EOFError("cut off")
        return data


def test_what_came_before_a_break_counts() -> None:
    opened: Callable[[], io.BytesIO] = lambda: _Breaking(b"one\nsorry\n")  # noqa: E731
    facts = list(read_log(Source("a.gz", opened), b"one\n", {"complaints": Complaints()}))
    assert isinstance(facts[-2], Trouble) or isinstance(facts[-1], Trouble)
    assert Unread("a.gz", "from line 3 on: cut off", breaks_off=True) in facts


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_bytes_are_taken(pieces: list[str]) -> None:
    reading("".join(pieces).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("head", "text"),
    [(b"abc\n", True), (b"\0\0\0abc\n", True), ("不行".encode("gbk"), True), (bytes(range(256)), False), (b"", False),
     (b"\0\0\0", False), ("ab".encode("utf-16"), True)],
)  # fmt: skip
def test_what_looks_like_text(head: bytes, text: bool) -> None:
    assert looks_like_text(head) is text
