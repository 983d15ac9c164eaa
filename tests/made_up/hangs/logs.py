"""What the ranks of a made-up job say in logs: torch's watchdogs in the words of its versions, NCCL's record of calls,
HCCL's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.made_up.hangs.job import Job, Made

_TORCH = {
    "allreduce": "ALLREDUCE", "allgather": "_ALLGATHER_BASE", "reduce_scatter": "_REDUCE_SCATTER_BASE",
    "broadcast": "BROADCAST", "reduce": "REDUCE", "alltoall": "ALLTOALL_BASE", "barrier": "ALLREDUCE",
}  # fmt: skip
_NCCL = {
    "allreduce": "AllReduce", "allgather": "AllGather", "reduce_scatter": "ReduceScatter", "broadcast": "Broadcast",
    "reduce": "Reduce", "alltoall": "AllToAll",
}  # fmt: skip
_DTYPES = {"Float": 7, "Half": 6}

Words = Callable[[Job, int], Iterator[str]]


def _oldest(job: Job, rank: int) -> Made | None:
    """What its watchdogs tell of: one of them is the first, and ends the process."""
    return next((call for call in job.ranks[rank].made if call.state != "completed" and call.step.peer is None), None)


def _work(call: Made, members: int) -> str:
    step, more = call.step, {"allgather": (1, members), "reduce_scatter": (members, 1)}
    own, out = more.get(step.op, (1, 1))
    return (
        f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum={call.seq}, OpType={_TORCH[step.op]}, "
        f"NumelIn={step.count * own}, NumelOut={step.count * out}, Timeout(ms)=600000) ran for 600031 milliseconds "
        f"before "
        f"timing out."
    )


def _status(job: Job, rank: int, group: str) -> tuple[int, int]:
    calls = [call for call in job.ranks[rank].made if call.step.group == group]
    done = [call.seq for call in calls if call.state == "completed"]
    return max(call.seq for call in calls), max(done, default=-1)


def torch_26(job: Job, rank: int) -> Iterator[str]:
    call = _oldest(job, rank)
    if call is None:
        return
    group = call.step.group
    name = "default_pg" if group == "0" else f"GROUP_{group}"
    own, (last, done) = job.groups[group].index(rank), _status(job, rank, group)
    said = f"[PG ID {group} PG GUID {group}({name}) Rank {own}]"
    late = _work(call, len(job.groups[group]))
    yield f"[rank{rank}]:[E131 10:00:00.1{rank:05} ProcessGroupNCCL.cpp:632] [Rank {own}] {late}"
    yield (
        f"[rank{rank}]:[E131 10:00:00.2{rank:05} ProcessGroupNCCL.cpp:2268] {said}  failure detected by watchdog at "
        f"work sequence id: {call.seq} PG status: last enqueued work: {last}, last completed work: {done}"
    )


def torch_24(job: Job, rank: int) -> Iterator[str]:
    call = _oldest(job, rank)
    if call is None:
        return
    group = call.step.group
    own, (last, done) = job.groups[group].index(rank), _status(job, rank, group)
    yield (
        f"[rank{rank}]:[E ProcessGroupNCCL.cpp:1537] [PG {group} Rank {own}] Timeout at NCCL work: {call.seq}, last "
        f"enqueued "
        f"NCCL work: {last}, last completed NCCL work: {done}."
    )
    yield f"[rank{rank}]:[E ProcessGroupNCCL.cpp:563] [Rank {own}] {_work(call, len(job.groups[group]))}"


def torch_21(job: Job, rank: int) -> Iterator[str]:
    """Groups have no names."""
    call = _oldest(job, rank)
    if call is not None:
        members = job.groups[call.step.group]
        yield f"[rank{rank}]:[E ProcessGroupNCCL.cpp:475] [Rank {members.index(rank)}] {_work(call, len(members))}"


def nccl(job: Job, rank: int) -> Iterator[str]:
    """Every call, and of none that it has ended."""
    said = f"node{rank // 4:02}:{9000 + rank}:{9100 + rank} [{rank % 4}]"
    for group, members in job.groups.items():
        if rank in members:
            yield (
                f"{said} NCCL INFO comm 0x55{rank:02x}{int(group):04x} rank {members.index(rank)} nranks "
                f"{len(members)} cudaDev "
                f"{rank % 4} busId {rank:x}b000 commId 0xaa{int(group):06x} - Init COMPLETE"
            )
    for call in job.ranks[rank].made:
        step = call.step
        if step.peer is None:
            yield (
                f"{said} NCCL INFO {_NCCL[step.op]}: opCount {call.seq:x} sendbuff 0x7f00 recvbuff 0x7f01 count "
                f"{step.count} "
                f"datatype {_DTYPES[step.dtype]} op 0 root {step.root or 0} comm 0x55{rank:02x}{int(step.group):04x} "
                f"[nranks={len(job.groups[step.group])}] stream 0x9c"
            )


WORDS: Mapping[str, Words] = {"torch 2.6": torch_26, "torch 2.4": torch_24, "torch 2.1": torch_21, "NCCL": nccl}


def write(job: Job, folder: Path, words: str, *, together: bool) -> None:
    """In one log, or in one for each rank that has started: all of them say something."""
    said = {rank: [f"rank {rank} starts", *WORDS[words](job, rank)] for rank in range(job.size)}
    if together:
        (folder / "job.log").write_text("".join(f"{line}\n" for lines in said.values() for line in lines))
        return
    for rank, lines in said.items():
        (folder / f"rank_{rank}.log").write_text("".join(f"{line}\n" for line in lines))
