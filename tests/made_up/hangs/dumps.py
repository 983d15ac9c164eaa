"""What the ranks of a made-up job leave as dumps of PyTorch's flight recorder, in the forms of its versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.made_up import flight_recorder
from tests.made_up.flight_recorder import Entry, Group, Status
from tests.made_up.hangs.job import Job, Made

_TORCH = {
    "allreduce": "all_reduce", "allgather": "_all_gather_base", "reduce_scatter": "_reduce_scatter_base",
    "broadcast": "broadcast", "reduce": "reduce", "alltoall": "all_to_all", "barrier": "all_reduce_barrier",
}  # fmt: skip


def dump(
    job: Job, rank: int, version: str = "2.9", back_end: str = "nccl", *, active_only: bool = False
) -> dict[str, Any]:
    """Of one rank, as Python has it before it is written."""
    mine = [
        Group(name, "default_pg" if name == "0" else f"GROUP_{name}", tuple(ranks))
        for name, ranks in job.groups.items()
        if rank in ranks
    ]
    made = [call for call in job.ranks[rank].made if not (active_only and call.state == "completed")]
    entries = [_entry(job, rank, number, call) for number, call in enumerate(made)]
    return flight_recorder.dump(
        mine, {group.name: _status(job, rank, group.name) for group in mine}, entries, version, back_end
    )


def _status(job: Job, rank: int, name: str) -> Status:
    of_group = [call for call in job.ranks[rank].made if call.step.group == name]
    done = [call.seq for call in of_group if call.state == "completed"]
    return Status(max((call.seq for call in of_group), default=-1), completed=max(done, default=-1))


def _entry(job: Job, rank: int, number: int, call: Made) -> Entry:
    step, ranks = call.step, job.groups[call.step.group]
    called = _TORCH.get(step.op, step.op)
    collective, message = call.seq, 0
    if step.peer is not None:
        arrow = "->" if step.op == "send" else "<-"
        called = f"{step.op} {ranks.index(rank)}{arrow}{ranks.index(step.peer)}"
        collective, message = 1, call.seq
    return Entry(
        100 + number, step.group, called, int(call.at * 1e9), collective, message, number, [[step.count]],
        [[step.count]], step.dtype, "completed" if call.state == "completed" else "scheduled",
        is_message=step.peer is not None, ended=None if call.ended is None else int(call.ended * 1e9),
    )  # fmt: skip


def write(job: Job, folder: Path, *, form: str = "pickle", **how: Any) -> None:
    """All ranks' dumps."""
    for rank in range(job.size):
        flight_recorder.write(dump(job, rank, **how), folder, rank, form)
