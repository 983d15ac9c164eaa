"""The flight recorder dumps that a training job leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from tests.made_up import flight_recorder
from tests.made_up.flight_recorder import Entry, Sizes, State, Status
from tests.made_up.training.job import Job
from tests.made_up.training.streams import Call, Launch, Rank


def dump(
    job: Job, rank: int, version: str = "2.9", *, active_only: bool = False, timing: bool = False, ring: int = 2000
) -> dict[str, Any]:
    """Of one rank, as Python has it before it is written. `timing`: the recorder knows of starts. The recorder keeps
    the last `ring` calls."""
    groups = [group for group in job.mesh.groups if rank in group.ranks]
    launches = job.run.ranks[rank].launches
    records = count()
    told = [entry for launch in launches for entry in _entries(job, rank, launch, timing, records)]
    kept = [entry for entry in told[-ring:] if not (active_only and entry.state == "completed")]
    statuses = {group.name: _status(job.run.ranks[rank], group.name, timing) for group in groups}
    return flight_recorder.dump(groups, statuses, kept, version, "nccl")


def write(job: Job, folder: Path, *, gone: frozenset[int] = frozenset(), form: str = "pickle", **how: Any) -> None:
    """All ranks' dumps but those that are gone."""
    for rank in range(job.mesh.size):
        if rank not in gone:
            flight_recorder.write(dump(job, rank, **how), folder, rank, form)


def _entries(job: Job, rank: int, launch: Launch, timing: bool, records: Iterator[int]) -> Iterator[Entry]:
    """A batch's messages have no state of their own, for ever: the entry that closes the batch has that of them all."""
    of, skew = job.run.ranks[rank], job.skews[rank]
    ended = None if (time := of.ended(launch)) is None else time + skew
    started = time + skew if timing and (time := of.started(launch)) is not None else None
    state: State = "completed" if ended else "started" if started else "scheduled"
    for call in launch.calls:
        inputs, outputs = _sizes(job, call)
        entry = Entry(
            next(records), call.group, _name(job, rank, call), launch.called + skew, call.collective,
            call.message, call.number, inputs, outputs, "BFloat16", "scheduled", is_message=call.peer is not None,
        )  # fmt: skip
        yield entry if launch.batch else replace(entry, state=state, started=started, ended=ended)
    if launch.batch:
        closing = replace(entry, record=next(records), op="coalesced", inputs=[], outputs=[])
        yield replace(closing, state=state, started=started, ended=ended)


def _name(job: Job, rank: int, call: Call) -> str:
    if call.peer is None:
        return call.op
    ranks, arrow = job.mesh.group(call.group).ranks, "->" if call.op == "send" else "<-"
    return f"{call.op} {ranks.index(rank)}{arrow}{ranks.index(call.peer)}"


def _sizes(job: Job, call: Call) -> tuple[Sizes, Sizes]:
    """Of what goes in and what comes out."""
    members, out = len(job.mesh.group(call.group).ranks), call.count
    if call.op == "_all_gather_base":
        out *= members
    elif call.op == "_reduce_scatter_base":
        out //= members
    return [[call.count]], [[out]]


def _status(rank: Rank, group: str, timing: bool) -> Status:
    """Collectives and messages have numbers of their own, and the watchdog notes either."""
    mine = [launch for launch in rank.launches if launch.calls and launch.calls[0].group == group]
    over = [(ended, _seq(launch)) for launch in mine if (ended := rank.ended(launch)) is not None]
    started = [_seq(launch) for launch in mine if timing and rank.started(launch) is not None]
    return Status(
        _seq(mine[-1]) if mine else -1, started[-1] if started else -1, max(over)[1] if over else -1,
    )  # fmt: skip


def _seq(launch: Launch) -> int:
    call = launch.calls[-1]
    return call.collective if call.peer is None else call.message


def overwritten(job: Job, rank: int, ring: int) -> bool:
    """Whether a ring of this size has lost a call that is under way."""
    of = job.run.ranks[rank]
    launches = of.launches
    sizes = [len(launch.calls) + launch.batch for launch in launches]
    first = next((number for number, launch in enumerate(launches) if launch.calls and of.ended(launch) is None), None)
    return first is not None and sum(sizes[first:]) > ring
