"""Exceptions that follow from each other, groups of them, long messages, and C++. May import: suites."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence import tracebacks
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, Frame, Raised, Who
from tests.suites.diagnose.evidence.feeding import fed, only

_FIRST = """\
Traceback (most recent call last):
  File "/job/data.py", line 12, in load
    return self.parts[name]
           ~~~~~~~~~~^^^^^^
KeyError: 'part-7'
"""
_SECOND = """\
Traceback (most recent call last):
  File "/job/train.py", line 40, in <module>
    load(name)
RuntimeError: no data
"""
_GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/job/train.py", line 3, in <module>
  |     run()
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/job/a.py", line 1, in first
    |     raise ValueError("bad")
    | ValueError: bad
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/job/b.py", line 2, in second
    |     raise OSError("gone")
    | OSError: gone
    +------------------------------------
"""


def raised(text: str) -> list[tuple[str, str]]:
    return [(one.error, one.message) for one in only(fed(tracebacks.Tracebacks(), text), Raised)]


@pytest.mark.parametrize(
    "between",
    [
        "\nDuring handling of the above exception, another exception occurred:\n\n",
        "\nThe above exception was the direct cause of the following exception:\n\n",
    ],
)
def test_of_exceptions_that_follow_from_each_other_the_first_is_given(between: str) -> None:
    assert raised(_FIRST + between + _SECOND) == [("KeyError", "'part-7'")]


def test_exceptions_that_do_not_are_both_given() -> None:
    assert raised(_FIRST + "\n" + _SECOND) == [("KeyError", "'part-7'"), ("RuntimeError", "no data")]


def test_of_a_group_those_in_it_are_given_with_their_frames() -> None:
    found = only(fed(tracebacks.Tracebacks(), _GROUP), Raised)
    assert [(one.error, one.message, one.frames) for one in found] == [
        ("ValueError", "bad", (Frame("first", "/job/a.py", 1),)),
        ("OSError", "gone", (Frame("second", "/job/b.py", 2),)),
    ]


def test_a_message_of_several_lines_ends_where_another_record_begins() -> None:
    text = _SECOND.rstrip("\n") + " came:\n  shard 7 is empty\n"
    for ends in (
        "srun: error: node03: task 3: Exited with exit code 1\n",
        "prterun noticed that process rank 2 with\n",
    ):
        assert raised(text + ends) == [("RuntimeError", "no data came:\nshard 7 is empty")]
    text = _SECOND + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    assert raised(text) == [("RuntimeError", "no data")]
    text = _SECOND + "[rank3]: other\nmore\n"
    assert raised(text) == [("RuntimeError", "no data")]


def test_a_message_does_not_grow_without_end() -> None:
    ((_, message),) = raised(_SECOND + "word\n" * 100)
    assert message.count("word") <= 5


def test_other_words_of_the_same_speaker_do_not_end_a_traceback() -> None:
    head, tail = _SECOND.split("RuntimeError")
    assert raised(f"{head}epoch 3 / 10\nRuntimeError{tail}") == [("RuntimeError", "no data")]


def test_tracebacks_of_two_ranks_that_follow_from_each_other_are_kept_apart() -> None:
    chain = (_FIRST + "\nDuring handling of the above exception, another exception occurred:\n\n" + _SECOND).split("\n")
    reader = tracebacks.Tracebacks()
    found: list[Fact] = []
    for number, text in enumerate(chain):
        for rank in (0, 1):
            found += reader.feed(Line(text, 2 * number + rank, "log", Who(rank=rank)))
    found += reader.end()
    assert [(one.who.rank, one.error) for one in only(found, Raised)] == [(0, "KeyError"), (1, "KeyError")]


def test_what_nobody_catches_in_cxx_is_raised_with_its_name() -> None:
    text = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
    assert raised(text) == [("std::bad_alloc", "std::bad_alloc")]
    assert raised("  what():  the shard is broken\n") == [("std::exception", "the shard is broken")]


@pytest.mark.parametrize(
    "text",
    [
        "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST) ran for 1",
        "[PG 1 Rank 0] NCCL communicator was aborted on rank 0",
        "NCCL error in: x.cpp:9, remote process exited",
    ],
)
def test_what_only_repeats_what_a_library_said_is_not(text: str) -> None:
    assert not raised(f"terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  {text}\n")


def test_a_checkpoint_tells_all_ranks_who_has_raised() -> None:
    text = _FIRST.replace("call last):", "call last): (RANK 4)")
    assert [fact.who for fact in only(fed(tracebacks.Tracebacks(), text, who=Who(rank=0)), Raised)] == [Who(rank=4)]


def test_names_of_exceptions_in_small_letters() -> None:
    text = _FIRST.replace("KeyError: 'part-7'", "socket.gaierror: [Errno -2] Name or service not known")
    assert [fact.error for fact in only(fed(tracebacks.Tracebacks(), text), Raised)] == ["socket.gaierror"]


@pytest.mark.parametrize(
    "before",
    ["rank 2 | ", "rank2: ", "(rank 2) ", "[Rank 2] ", "node0-rank2 ", "ERROR rank=2 ", "rank 2 - ERROR - "],
)
def test_whose_it_is_may_stand_before_each_line_in_a_form_of_its_own(before: str) -> None:
    lines = ("Traceback (most recent call last):", '  File "/srv/a.py", line 8, in main', "    step()", "KeyError: 'x'")
    mixed = "".join(f"{before}{line}\n{before.replace('2', '3')}loss 1.25\n" for line in lines)
    (raised,) = only(fed(tracebacks.Tracebacks(), mixed), Raised)
    assert (raised.who.rank, raised.error, raised.message) == (2, "KeyError", "'x'")
    assert [frame.function for frame in raised.frames] == ["main"]


@pytest.mark.parametrize("before", ["local_rank=2 ", "local rank 2: ", "node_rank 2 | ", "trainer 2> ", "W2: "])
def test_what_stands_before_each_line_may_be_no_rank(before: str) -> None:
    lines = ("Traceback (most recent call last):", '  File "/srv/train.py", line 8, in main', "", "KeyError: 'x'")
    text = "".join(f"{before}{line}".rstrip() + "\n" for line in lines)
    (raised,) = only(fed(tracebacks.Tracebacks(), text), Raised)
    assert (raised.who.rank, raised.error) == (None, "KeyError")
