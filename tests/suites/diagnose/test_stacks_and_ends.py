"""From stacks, tracebacks, ends of processes and the kernel's lines to a verdict. May import: suites."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from suites.diagnose.offline import diagnose


def verdict(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    for name, text in files.items():
        (folder / name).write_text(text)
    told = diagnose([str(folder)], [], datetime(2026, 1, 2, tzinfo=UTC)).body["verdict"]
    assert isinstance(told, dict)
    return told


def ranks(told: dict[str, Any]) -> list[int]:
    return [one["rank"] for one in told["culprits"] if one["kind"] == "rank"]


def timed_out(rank: int) -> str:
    return (
        f"[rank{rank}]:[E102 03:30:0{rank}.000000001 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=52, OpType=ALLREDUCE, NumelIn=11, NumelOut=11, "
        "Timeout(ms)=240000) ran for 240001 milliseconds before timing out.\n"
    )


def stack(rank: int, inner: str, file: str = "/venv/site-packages/torch/distributed/distributed_c10d.py") -> str:
    frames = [(inner, file, 12), ("train_step", "/job/train.py", 30), ("<module>", "/job/train.py", 90)]
    thread = {
        "pid": 4000 + rank, "thread_id": 140000, "thread_name": "MainThread", "os_thread_id": 4000 + rank,
        "active": True, "owns_gil": False,
        "frames": [{"name": name, "filename": path, "line": line, "locals": None} for name, path, line in frames],
        "process_info": {"pid": 4000 + rank, "command_line": f"python train.py --rank {rank}", "parent": None},
    }  # fmt: skip
    return json.dumps([thread])


_XID = "Jan  2 03:25:59 node03 kernel: [ 9912.1] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
_KILLED = (
    "Jan  2 03:25:59 node03 kernel: [ 9912.1] Out of memory: Killed process 4321 (python3) total-vm:81kB, "
    "anon-rss:70kB, file-rss:0kB\n"
)
_RAISED = "".join(
    f"[rank3]: {line}\n"
    for line in (
        "Traceback (most recent call last):",
        '  File "/job/train.py", line 40, in <module>',
        "    step()",
        '  File "/job/train.py", line 12, in step',
        "ValueError: bad batch",
    )
)


def test_a_lost_gpu_among_time_outs_is_the_cause(tmp_path: Path) -> None:
    told = verdict(tmp_path, {"job.log": "".join(map(timed_out, range(4))) + _XID})
    assert told["class"] == "device"
    assert [(one["host"], one["device"]) for one in told["culprits"]] == [("node03", "0000:3b:00.0")]


def test_a_process_that_the_kernel_killed_is_why_the_others_wait(tmp_path: Path) -> None:
    told = verdict(tmp_path, {"job.log": _KILLED + "".join(map(timed_out, range(3)))})
    assert told["class"] == "resource"
    assert [one["host"] for one in told["culprits"]] == ["node03"]


@pytest.mark.parametrize("word", ["Killed", "Out Of Memory"])
@pytest.mark.parametrize("event_first", [True, False])
def test_a_task_that_was_killed_when_memory_ran_out_wanted_too_much(
    tmp_path: Path, word: str, event_first: bool
) -> None:
    event = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed."
    lines = sorted((event, f"srun: error: node03: task 3: {word}"), reverse=not event_first)
    told = verdict(tmp_path, {"job.log": "".join(map(timed_out, range(3))) + "\n".join(lines) + "\n"})
    assert (told["class"], ranks(told)) == ("resource", [3])


def test_a_task_that_was_killed_where_memory_was_left_crashed(tmp_path: Path) -> None:
    told = verdict(tmp_path, {"job.log": f"srun: error: node01: task 3: Killed\n{_KILLED}"})
    assert (told["class"], ranks(told)) == ("crashed", [3])


def test_who_raised_is_the_cause_however_torchrun_ended_the_others(tmp_path: Path) -> None:
    ends = "".join(
        f"  time      : 2026-01-02_03:04:{second}\n  host      : node0{rank}\n  rank      : {rank} (local_rank: 0)\n"
        f"  exitcode  : {code} (pid: {40 + rank})\n"
        for rank, code, second in ((1, -9, "40"), (2, -6, "41"), (3, 1, "05"))
    )
    told = verdict(tmp_path, {"job.log": f"{_RAISED}torch.distributed.elastic.errors.ChildFailedError: \n{ends}"})
    assert (told["class"], ranks(told)) == ("crashed", [3])


def test_who_raised_is_why_the_others_time_out(tmp_path: Path) -> None:
    told = verdict(tmp_path, {"job.log": _RAISED + "".join(map(timed_out, range(3)))})
    assert (told["class"], ranks(told)) == ("crashed", [3])


def test_the_one_rank_of_eight_that_computes_is_missing(tmp_path: Path) -> None:
    files = {
        f"stack_{rank}.json": stack(rank, "forward", "/job/model.py") if rank == 5 else stack(rank, "all_gather")
        for rank in range(8)
    }
    told = verdict(tmp_path, files)
    assert (told["class"], ranks(told), told["waiting"]) == ("missing", [5], [0, 1, 2, 3, 4, 6, 7])


def test_eight_ranks_in_one_line_prove_nothing_against_anybody(tmp_path: Path) -> None:
    told = verdict(tmp_path, {f"stack_{rank}.json": stack(rank, "all_gather") for rank in range(8)})
    assert (told["class"], told["culprits"]) == ("undecided", [])


def test_a_segmentation_fault_that_srun_tells_names_its_task(tmp_path: Path) -> None:
    told = verdict(
        tmp_path,
        {
            "job.log": "srun: error: node03: task 3: Segmentation fault (core dumped)\n"
            + "".join(map(timed_out, range(3)))
            + "srun: Terminating StepId=77.0\nsrun: error: node01: tasks 0-2: Terminated\n"
        },
    )
    assert (told["class"], ranks(told)) == ("crashed", [3])


_REFUSED = """\
ssh: connect to host node07 port 22: Connection refused
ORTE was unable to reliably start one or more daemons.
"""


@pytest.mark.parametrize(
    "text",
    [
        "ssh: Could not resolve hostname node07: Name or service not known",
        "ssh: connect to host node07 port 22: No route to host",
        "node07: job@node07: Permission denied (publickey,password).\npdsh@head: node07: ssh exited with exit code 255",
        _REFUSED,
        "kex_exchange_identification: read: Connection reset by peer\nConnection reset by node07 port 22",
    ],
)
def test_a_host_that_ssh_does_not_come_to_is_why_nothing_starts(tmp_path: Path, text: str) -> None:
    told = verdict(tmp_path, {"job.log": text + "\n"})
    assert told["class"] == "launch"
    assert [(one["kind"], one["host"]) for one in told["culprits"]] == [("host", "node07")]


def test_where_no_cause_is_known_the_next_steps_are_those_of_what_was_said(tmp_path: Path) -> None:
    told = verdict(tmp_path, {"job.log": "RuntimeError: [gloo/pair.cc:598] Connection closed by peer [192.0.2.7]:28\n"})
    assert told["class"] == "undecided"
    assert told["next_checks"][0] == "the log of the rank at 192.0.2.7: why it ended"
    assert any("all ranks" in step for step in told["next_checks"])
