"""What the ranks of a made-up job leave as dumps of PyTorch's flight recorder, in the forms of its versions."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

from tests.made_up.hangs.job import Job, Made

_TORCH = {
    "allreduce": "all_reduce", "allgather": "_all_gather_base", "reduce_scatter": "_reduce_scatter_base",
    "broadcast": "broadcast", "reduce": "reduce", "alltoall": "all_to_all", "barrier": "all_reduce_barrier",
}  # fmt: skip


def dump(
    job: Job, rank: int, version: str = "2.9", back_end: str = "nccl", *, active_only: bool = False
) -> dict[str, Any]:
    """Of one rank, as Python has it before it is written."""
    mine = {name: ranks for name, ranks in job.groups.items() if rank in ranks}
    ids = {name: number for number, name in enumerate(sorted(mine, key=int))}
    made = [call for call in job.ranks[rank].made if not (active_only and call.state == "completed")]
    told: dict[str, Any] = {
        "version": version,
        "pg_config": {
            name: {"name": name, "desc": "default_pg" if name == "0" else f"GROUP_{name}", "ranks": str(list(ranks))}
            for name, ranks in mine.items()
        },
    }
    if _at_least(version, (2, 7)):
        told["comm_lib_version" if _at_least(version, (2, 10)) else "nccl_version"] = "2.27.3"
    if _at_least(version, (2, 4)):
        told["pg_status"] = {str(ids[name]): _status(job, rank, name) for name in mine}
    told["entries"] = [_entry(job, rank, number, call, ids, version, back_end) for number, call in enumerate(made)]
    return told


def _at_least(version: str, wanted: tuple[int, int]) -> bool:
    return tuple(map(int, version.split("."))) >= wanted


def _status(job: Job, rank: int, name: str) -> dict[str, int]:
    of_group = [call for call in job.ranks[rank].made if call.step.group == name]
    done = [call.seq for call in of_group if call.state == "completed"]
    last = max((call.seq for call in of_group), default=-1)
    return {
        "last_enqueued_collective": last, "last_started_collective": -1,
        "last_completed_collective": max(done, default=-1),
    }  # fmt: skip


def _entry(
    job: Job, rank: int, number: int, call: Made, ids: dict[str, int], version: str, back_end: str
) -> dict[str, Any]:
    step, ranks = call.step, job.groups[call.step.group]
    called = _TORCH.get(step.op, step.op)
    collective, message = call.seq, 0
    if step.peer is not None:
        arrow = "->" if step.op == "send" else "<-"
        called = f"{step.op} {ranks.index(rank)}{arrow}{ranks.index(step.peer)}"
        collective, message = 1, call.seq
    told: dict[str, Any] = {
        "record_id": 100 + number,
        "pg_id": ids[step.group],
        "process_group": (step.group, "default_pg" if step.group == "0" else f"GROUP_{step.group}"),
        "collective_seq_id": collective,
        "p2p_seq_id": message,
        "op_id": number,
        "profiling_name": f"{back_end}:{called}",
        "time_created_ns": int(call.at * 1e9),
        "input_sizes": [[step.count]],
        "input_dtypes": [step.dtype],
        "output_sizes": [[step.count]],
        "output_dtypes": [step.dtype],
        "state": call.state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None if call.ended is None else int(call.ended * 1e9),
        "retired": call.state == "completed",
        "timeout_ms": 600000,
        "is_p2p": step.peer is not None,
    }
    if _at_least(version, (2, 9)):
        told["thread_id"], told["thread_name"] = "140012345678", "pt_main_thread"
    if back_end == "hccl":  # names only in frames
        told["profiling_name"] = ""
        told["frames"] = [{"name": called, "filename": "/opt/train/step.py", "line": 7}]
    return told


def write(job: Job, folder: Path, *, form: str = "pickle", **how: Any) -> None:
    """All ranks' dumps, named as PyTorch names them."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(job.size):
        told = dump(job, rank, **how)
        path = folder / f"nccl_trace_rank_{rank}"
        if form == "json":
            path.with_suffix(".json").write_text(json.dumps(_as_json(told)))
        else:
            path.write_bytes(pickle.dumps(told, 2))


def _as_json(told: dict[str, Any]) -> dict[str, Any]:
    """JSON has 0 where pickle has None, texts for numbers of a status, and no entries where there are none."""
    entries = [{key: 0 if value is None else value for key, value in entry.items()} for entry in told["entries"]]
    status = {name: {key: str(value) for key, value in of.items()} for name, of in told.get("pg_status", {}).items()}
    kept = {key: value for key, value in told.items() if key not in ("entries", "pg_status")}
    return {**kept, **({"pg_status": status} if status else {}), **({"entries": entries} if entries else {})}
