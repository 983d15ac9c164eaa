"""Stacks of py-spy's JSON, of processes that are no rank, and of Pythons that broke down. May import: suites."""

from __future__ import annotations

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import pyspy, pyspy_json
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import NOBODY, Ended, Fact, Frame, Seen, Stack, Unread, Who
from tests.suites.diagnose.evidence.feeding import fed, only


def thread(pid: int = 4310, command: str = "python train.py", parent: str | None = None, **more: Any) -> dict[str, Any]:
    told = {"pid": pid - 1, "command_line": parent, "parent": None} if parent else None
    return {
        "pid": pid, "thread_id": 140, "thread_name": "MainThread", "os_thread_id": pid, "active": False,
        "owns_gil": True,
        "frames": [{"name": "all_reduce", "filename": "c10d.py", "module": None, "line": 7, "locals": None},
                   {"name": "<module>", "filename": "train.py", "module": None, "line": 0, "locals": None}],
        "process_info": {"pid": pid, "command_line": command, "parent": told},
        **more,
    }  # fmt: skip


def read(text: str, who: Who = NOBODY) -> list[Fact]:
    return list(pyspy_json.read(Source("stacks.json", lambda: io.BytesIO(text.encode()), who)))


def test_an_answer_in_json_is_recognised_and_gives_stacks_innermost_first() -> None:
    text = json.dumps([thread(), thread(thread_name=None)])
    assert pyspy_json.recognises(text.encode(), "x")
    assert not pyspy_json.recognises(b'[{"frames": []}]', "x")
    first, second = only(read(text, Who(rank=3, host="node01")), Stack)
    assert first.who == Who(rank=3, host="node01", pid=4310)
    assert first.frames == (Frame("all_reduce", "c10d.py", 7), Frame("<module>", "train.py"))
    assert (first.thread, first.active, first.holds_gil, second.thread) == ("MainThread", False, True, "140")
    assert [seen.who for seen in only(read(text, Who(rank=3)), Seen)] == [Who(rank=3, pid=4310)]


def test_of_several_answers_in_a_file_each_is_its_own_processs() -> None:
    text = "\n".join(json.dumps([thread(pid, f"python train.py --rank {pid}")]) for pid in (7, 8))
    assert [stack.who for stack in only(read(text, Who(rank=3, host="node01")), Stack)] == [
        Who(rank=7, host="node01", pid=7),
        Who(rank=8, host="node01", pid=8),
    ]


def test_where_several_processes_are_in_a_file_its_name_gives_none_of_them_a_rank() -> None:
    found = read(json.dumps([thread(7), thread(8)]), Who(rank=3, host="node01"))
    assert [stack.who for stack in only(found, Stack)] == [Who(host="node01", pid=7), Who(host="node01", pid=8)]


def test_what_starts_or_serves_ranks_is_left_out() -> None:
    text = json.dumps(
        [
            thread(1, "/venv/bin/torchrun --nproc-per-node 2 train.py"),
            thread(2, "python train.py", parent="/venv/bin/torchrun --nproc-per-node 2 train.py"),
            thread(3, "python train.py", parent="python train.py"),
            thread(4, "python -c from multiprocessing.resource_tracker import main;main(5)", parent="python train.py"),
        ]
    )
    assert [stack.who.pid for stack in only(read(text), Stack)] == [2]


def test_text_of_what_starts_or_serves_ranks_is_left_out() -> None:
    one = 'Thread {0} (idle): "MainThread"\n    wait (threading.py:3)\n'
    text = (
        "Process 1: python -m torch.distributed.run train.py\n" + one.format(1)
        + "Process 2: python train.py\nParent Process 1: python -m torch.distributed.run train.py\n" + one.format(2)
        + "Process 3: python train.py\nParent Process 2: python train.py\n" + one.format(3)
    )  # fmt: skip
    assert [stack.who.pid for stack in only(fed(pyspy.Stacks(), text), Stack)] == [2]


def test_json_that_breaks_off_gives_what_came_before() -> None:
    text = json.dumps([thread(7)]) + json.dumps([thread(8)])[:80]
    found = read(text)
    assert [stack.who.pid for stack in only(found, Stack)] == [7]
    assert only(found, Unread)


def test_a_python_that_broke_down_has_ended_by_that_signal() -> None:
    text = (
        "Fatal Python error: Segmentation fault\n\n"
        "Thread 0x00007f22 (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 320 in wait\n'
        '  File "/usr/lib/python3.11/threading.py", line 995 in _bootstrap\n\n'
        "Current thread 0x00007f11 (most recent call first):\n"
        '  File "model.py", line 3 in forward\n  File "train.py", line 9 in <module>\n'
    )
    found = fed(pyspy.Stacks(), text, who=Who(rank=2))
    (ended,) = only(found, Ended)
    assert (ended.who, ended.signal) == (Who(rank=2), 11)
    assert [stack.thread for stack in only(found, Stack)] == ["0x00007f22", "MainThread"]


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner)
    | st.dictionaries(st.sampled_from(["pid", "frames", "process_info", "parent", "command_line", "name"]), inner),
))  # fmt: skip
def test_no_json_makes_it_raise(value: object) -> None:
    read(json.dumps([value]))


@given(st.text(), st.integers(0, 400))
def test_no_damage_makes_it_raise(tail: str, cut: int) -> None:
    read(json.dumps([thread()])[:cut] + tail)


def test_servers_of_models_tell_their_rank_in_the_name_of_a_process() -> None:
    names = ("sglang::scheduler_TP6", "VLLM::Worker_TP1", "sglang::scheduler_PP1_TP0", "sglang::scheduler_DP3_TP3")
    assert [pyspy.rank_of(f"Process 41: {name}").rank for name in names] == [6, 1, None, None]
