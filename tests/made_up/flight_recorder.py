"""Dumps of PyTorch's flight recorder as files have them, in the forms of its versions, from what ranks called."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Sizes = list[list[int]]
State = Literal["scheduled", "started", "completed"]


@dataclass(frozen=True)
class Group:
    """A process group. Its name is a number in the order of creation, `desc` is what the program calls it."""

    name: str
    desc: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """What the recorder keeps of one call. Times are nanoseconds since 1970."""

    record: int
    group: str
    op: str
    """As PyTorch has it: `_all_gather_base`, `send 0->1`, `coalesced`."""
    created: int
    collective: int
    """Number of the group's last collective, this one with it."""
    message: int
    """Number among the group's messages that this rank called, or of their batches; 0 for a collective."""
    number: int
    """Of all single calls of the group, those of batches too."""
    inputs: Sizes
    outputs: Sizes
    dtype: str
    state: State
    is_message: bool = False
    started: int | None = None
    ended: int | None = None


@dataclass(frozen=True)
class Status:
    """Numbers of a group's last calls, as the watchdog has seen them."""

    enqueued: int = -1
    started: int = -1
    completed: int = -1


def dump(
    groups: Sequence[Group], statuses: Mapping[str, Status], entries: Sequence[Entry], version: str, back_end: str
) -> dict[str, Any]:
    """Of one rank, as Python has it before it is written. `groups` are those of the rank."""
    ordered = sorted(groups, key=lambda group: int(group.name))
    ids = {group.name: number for number, group in enumerate(ordered)}
    descs = {group.name: group.desc for group in groups}
    told: dict[str, Any] = {
        "version": version,
        "pg_config": {
            group.name: {"name": group.name, "desc": group.desc, "ranks": str(list(group.ranks))} for group in groups
        },
    }
    if _at_least(version, (2, 7)):
        told["comm_lib_version" if _at_least(version, (2, 10)) else "nccl_version"] = "2.27.3"
    if _at_least(version, (2, 4)):
        told["pg_status"] = {str(ids[group.name]): _status(statuses[group.name]) for group in groups}
    told["entries"] = [_entry(entry, ids[entry.group], descs[entry.group], version, back_end) for entry in entries]
    return told


def _at_least(version: str, wanted: tuple[int, int]) -> bool:
    return tuple(map(int, version.split("."))) >= wanted


def _status(status: Status) -> dict[str, int]:
    return {
        "last_enqueued_collective": status.enqueued, "last_started_collective": status.started,
        "last_completed_collective": status.completed,
    }  # fmt: skip


def _entry(entry: Entry, group_id: int, desc: str, version: str, back_end: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "record_id": entry.record,
        "pg_id": group_id,
        "process_group": (entry.group, desc),
        "collective_seq_id": entry.collective,
        "p2p_seq_id": entry.message,
        "op_id": entry.number,
        "profiling_name": f"{back_end}:{entry.op}",
        "time_created_ns": entry.created,
        "input_sizes": entry.inputs,
        "input_dtypes": [entry.dtype] * len(entry.inputs),
        "output_sizes": entry.outputs,
        "output_dtypes": [entry.dtype] * len(entry.outputs),
        "state": entry.state,
        "time_discovered_started_ns": entry.started,
        "time_discovered_completed_ns": entry.ended,
        "retired": entry.state == "completed",
        "timeout_ms": 600000,
        "is_p2p": entry.is_message,
    }
    if _at_least(version, (2, 9)):
        told["thread_id"], told["thread_name"] = "140012345678", "pt_main_thread"
    if back_end == "hccl":  # names only in frames
        told["profiling_name"] = ""
        told["frames"] = [{"name": entry.op, "filename": "/opt/train/step.py", "line": 7}]
    return told


def write(told: dict[str, Any], folder: Path, rank: int, form: str = "pickle") -> None:
    """Named as PyTorch names it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"nccl_trace_rank_{rank}"
    if form == "json":
        path.with_suffix(".json").write_text(json.dumps(as_json(told)))
    else:
        path.write_bytes(pickle.dumps(told, 2))


def as_json(told: dict[str, Any]) -> dict[str, Any]:
    """JSON has 0 where pickle has None, texts for numbers of a status, and no entries where there are none."""
    entries = [{key: 0 if value is None else value for key, value in entry.items()} for entry in told["entries"]]
    status = {name: {key: str(value) for key, value in of.items()} for name, of in told.get("pg_status", {}).items()}
    kept = {key: value for key, value in told.items() if key not in ("entries", "pg_status")}
    return {**kept, **({"pg_status": status} if status else {}), **({"entries": entries} if entries else {})}
