"""Dumps of flight recorders, as JSON, and stacks of living processes."""

from __future__ import annotations

import json

from tests.suites.diagnose.cases.case import Case


def entry(seq: int, name: str, state: str, message: int = 0) -> dict[str, object]:
    return {
        "record_id": seq + message, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": seq,
        "p2p_seq_id": message, "op_id": seq + message, "profiling_name": f"nccl:{name}",
        "time_created_ns": 1769860800000000000 + seq * 1000000, "input_sizes": [[64]], "input_dtypes": ["Float"],
        "output_sizes": [[64]], "output_dtypes": ["Float"], "state": state, "retired": state == "completed",
        "timeout_ms": 600000, "is_p2p": message > 0, "frames": [],
    }  # fmt: skip


def dump(size: int, *entries: dict[str, object]) -> str:
    ranks = str(list(range(size)))
    return json.dumps(
        {"version": "2.9", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}}, "pg_status": {},
         "entries": list(entries)}
    )  # fmt: skip


def at(size: int, seq: int, done: int) -> str:
    return dump(size, *(entry(n, "all_reduce", "completed" if n <= done else "scheduled") for n in range(1, seq + 1)))


def _stack(pid: int, *frames: str) -> str:
    rows = "".join(f"    {frame}\n" for frame in frames)
    head = f"Process {pid}: python3 train.py\nPython v3.11.9 (/usr/bin/python3.11)\n\n"
    return head + f'Thread {pid} (active): "MainThread"\n' + rows


_GATHER = (
    "all_gather_coalesced (torch/distributed/distributed_c10d.py:2891)",
    "gather_params (engine/partition.py:310)",
    "step (train.py:90)",
)
_FORWARD = ("forward (model/attention.py:77)", "step (train.py:84)")

CASES = (
    Case(
        "C65",
        {f"{host}/nccl_trace_rank_container-{host}_{rank}.json": at(4, 9 - (rank == 2), 8)
         for rank, host in ((0, "node02"), (1, "node02"), (2, "node07"), (3, "node07"))},
        "missing", ("rank 2",), ("allreduce", 9),
    ),
    Case(
        "C66 one dump is not there",
        {f"nccl_trace_rank_container-node02_{rank}.json": at(4, 9, 8) for rank in (0, 1, 3)},
        "undecided", suspects=(2,),
    ),
    Case(
        "C73",
        {f"nccl_trace_rank_{rank}.json": dump(2, entry(1, f"send {rank}->{1 - rank}", "scheduled", 1))
         for rank in (0, 1)},
        "cycle", ("rank 0", "rank 1"), ("send", None),
    ),
    Case(
        "C74 three in a ring",
        {f"nccl_trace_rank_{rank}.json": dump(3, entry(1, f"recv {rank}<-{(rank + 1) % 3}", "scheduled", 1))
         for rank in range(3)},
        "cycle", ("rank 0", "rank 1", "rank 2"), ("recv", None),
    ),
    Case(
        "C103",
        {f"rank_{rank}.txt": _stack(900 + rank, *(_FORWARD if rank == 5 else _GATHER)) for rank in range(8)},
        "missing stuck", ("rank 5",),
    ),
    Case("C104 all stand in one place", {f"rank_{rank}.txt": _stack(900 + rank, *_GATHER) for rank in range(8)},
         "undecided"),
    Case(
        "C103 one file with headers",
        {"stacks.txt": "".join(f"== pid {900 + rank} rank {rank} ==\n" + _stack(900 + rank, *(
            _FORWARD if rank == 1 else _GATHER)) for rank in range(4))},
        "missing stuck", ("rank 1",),
    ),
    Case("C103 one stack alone", {"rank_3.txt": _stack(903, *_FORWARD)}, "undecided"),
)  # fmt: skip
