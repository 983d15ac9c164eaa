"""Stacks, tracebacks, exits and launch failures are read as facts. May import: suites."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import exits, launchers, pyspy, tracebacks
from suites.diagnose.evidence.line import Line, LineReader
from suites.diagnose.facts import NOBODY, Ended, Fact, Frame, Level, Raised, Stack, Trouble, Who

_PY_SPY = """\
== pid 4310 rank 3 ==
Process 4310: python train.py --rank 3
Python v3.11.4 (/opt/python3.11)

Thread 4310 (idle): "MainThread"
    pthread_cond_wait (libc.so.6)
    all_reduce (torch/distributed/distributed_c10d.py:2501)
        Locals:
            tensor: <Tensor at 0x7f00>
    <module> (train.py:40)
Thread 0x7F11AA (active+gil): "loader"
    fetch (data.py:7)
"""
_TRACEBACK = """\
Traceback (most recent call last):
  File "/job/train.py", line 40, in <module>
    main()
  File "/job/train.py", line 12, in main
    step()
ValueError: bad batch
"""
_TORCHRUN = """\
Root Cause (first observed failure):
[0]:
  time      : 2026-01-02_03:04:05
  host      : node03
  rank      : 3 (local_rank: 1)
  exitcode  : -9 (pid: 1234)
"""


def facts(reader: LineReader, text: str) -> list[Fact]:
    """As the line feeder does: all lines that a reader wants."""
    return mixed(reader, [(NOBODY, line) for line in text.split("\n")])


def mixed(reader: LineReader, lines: list[tuple[Who, str]]) -> list[Fact]:
    found: list[Fact] = []
    for number, (who, text) in enumerate(lines, 1):
        if reader.awake or any(word in text for word in reader.wakes):
            found += reader.feed(Line(text, number, "log", who))
    return [*found, *reader.end()]


def test_stacks_of_py_spy_have_their_rank_thread_and_frames() -> None:
    main, loader = [fact for fact in facts(pyspy.reader(), _PY_SPY) if isinstance(fact, Stack)]
    assert main.who == Who(rank=3, pid=4310)
    assert (main.thread, main.active, main.holds_gil) == ("MainThread", False, False)
    assert main.frames[0] == Frame("pthread_cond_wait", "libc.so.6")
    assert main.frames[-1] == Frame("<module>", "train.py", 40)
    assert (loader.thread, loader.active, loader.holds_gil) == ("loader", True, True)


def test_stacks_of_faulthandler_are_read() -> None:
    text = (
        'Current thread 0x00007f11 (most recent call first):\n  File "a.py", line 3 in f\n  File "a.py", line 9 in g\n'
    )
    (stack,) = [fact for fact in facts(pyspy.reader(), text) if isinstance(fact, Stack)]
    assert stack.frames == (Frame("f", "a.py", 3), Frame("g", "a.py", 9))
    assert stack.active is None


def test_tracebacks_of_two_ranks_in_one_log_are_kept_apart() -> None:
    lines = _TRACEBACK.strip().split("\n")
    both = [(Who(rank=rank), line) for line in lines for rank in (0, 1)]
    found = mixed(tracebacks.reader(), both)
    assert [fact.who.rank for fact in found if isinstance(fact, Raised)] == [0, 1]
    for fact in found:
        assert isinstance(fact, Raised)
        assert (fact.error, fact.message) == ("ValueError", "bad batch")
        assert fact.frames == (Frame("main", "/job/train.py", 12), Frame("<module>", "/job/train.py", 40))


@pytest.mark.parametrize(
    ("text", "who", "code", "signal"),
    [
        (_TORCHRUN, Who(rank=3, host="node03", local_rank=1, pid=1234), None, 9),
        ("failed (exitcode: 1) local_rank: 3 (pid: 99) of binary: python", Who(local_rank=3, pid=99), 1, None),
        ("srun: error: node03: task 5: Exited with exit code 1", Who(rank=5, host="node03"), 1, None),
        ("srun: error: node03: task 3: Killed", Who(rank=3, host="node03"), None, 9),
        (
            "mpirun noticed that process rank 2 with PID 0 on node node03 exited on signal 11 (Segmentation fault).",
            Who(rank=2, host="node03"), None, 11,
        ),
        ("=   PID 12 RUNNING AT node03\n=   EXIT CODE: 9", Who(pid=12, host="node03"), 9, None),
    ],
)  # fmt: skip
def test_ends_of_processes(text: str, who: Who, code: int | None, signal: int | None) -> None:
    (ended,) = facts(exits.reader(), text)
    assert isinstance(ended, Ended)
    assert (ended.who, ended.code, ended.signal) == (who, code, signal)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("ssh: Could not resolve hostname node07.example: Name or service not known", "node07.example"),
        ("ssh: connect to host node07 port 22: Connection refused", "node07"),
        ("user@node07: Permission denied (publickey,password).", "node07"),
    ],
)
def test_a_host_that_ssh_does_not_reach_is_what_the_launch_fails_on(text: str, host: str) -> None:
    (trouble,) = facts(launchers.reader(), text)
    assert isinstance(trouble, Trouble)
    assert (trouble.level, trouble.cause) == (Level.INITIATING, "launch")
    assert [(subject.kind, subject.who.host) for subject in trouble.about] == [("host", host)]


def test_the_end_of_pdsh_is_a_consequence() -> None:
    (trouble,) = facts(launchers.reader(), "pdsh@head: node03: ssh exited with exit code 255")
    assert isinstance(trouble, Trouble)
    assert (trouble.level, trouble.cause, trouble.about) == (Level.CASCADE, None, ())


@given(st.lists(st.sampled_from([*_PY_SPY.split("\n"), *_TRACEBACK.split("\n"), *_TORCHRUN.split("\n")])), st.text())
def test_no_text_makes_a_reader_raise(lines: list[str], tail: str) -> None:
    for module in (pyspy, tracebacks, exits, launchers):
        facts(module.reader(), "\n".join([*lines, tail]))


@pytest.mark.parametrize("pad", ["9", "a.", " ", "a ", "(", "| ", "a:", "a@", "aa: "])
@pytest.mark.parametrize("module", [pyspy, tracebacks, exits, launchers])
def test_a_long_line_is_read_as_any_other(module: ModuleType, pad: str) -> None:
    reader: LineReader = module.reader()
    for word in reader.wakes:
        for text in (word + pad * (65536 // len(pad)), pad * (65536 // len(pad)) + word):
            list(reader.feed(Line(text, 1, "log")))
