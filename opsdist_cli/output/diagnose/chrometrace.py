"""The last collectives a rank in the Trace Event Format, which Perfetto and chrome://tracing open.

A process is a host, a thread the calls of a rank in one group; those that overlap are in further threads, since
Perfetto drops what is not nested in its thread. What has not ended lasts to the end of the trace, with `pending` among
its arguments and a mark where it begins. Times in us from the first one. Pure. May import: from this package.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opsdist_cli.output.diagnose.naming import Record, collective, host_of

_LEAST = 1.0
"""us; so that what has no length can be seen and clicked on."""


@dataclass(frozen=True, slots=True)
class _Slice:
    """A call, with where it is drawn: start and length in us. A lane is of one group on all ranks."""

    row: Record
    lane: int
    begin: float
    length: float


def render(record: Record) -> str:
    slices = _placed(sorted((row for row in record["timeline"] if row["start"] is not None), key=_start))
    hosts = {row["rank"]: "host unknown" for row in record["timeline"]} | host_of(record)
    # Threads are ordered by their numbers: those of a lane together, by rank. None may have that of a process, or 0: it
    # would be taken for the main one.
    step = 10 ** len(str(max(hosts, default=0)))
    first = step * (2 + max((one.lane for one in slices), default=0))
    process = {name: first + number for number, name in enumerate(sorted(set(hosts.values())))}
    events = [*_process_names({host: process[host] for one in slices for host in [hosts[one.row["rank"]]]})]
    threads: dict[tuple[int, int], str] = {}
    for one in slices:
        place = {"pid": process[hosts[one.row["rank"]]], "tid": one.row["rank"] + step * (1 + one.lane)}
        threads.setdefault((place["pid"], place["tid"]), f"rank {one.row['rank']} {one.row['name']}")
        events += [{**event, **place} for event in _events(one)]
    for (pid, tid), name in threads.items():
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}})
    other = {"opsdist": record["opsdist"], "verdict": record["verdict"]["explanation"]}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}, allow_nan=False) + "\n"


def _placed(rows: Sequence[Record]) -> list[_Slice]:
    """Of rows in the order of their starts."""
    first = min((row["start"] for row in rows), default=0.0)
    last = max((moment for row in rows for moment in (row["start"], row["end"]) if moment is not None), default=0.0)
    lanes: dict[tuple[str, int], int] = {}
    free: dict[tuple[int, str], list[float]] = {}
    placed = []
    for row in rows:
        end = last if _pending(row) or row["end"] is None else row["end"]
        begin, length = (row["start"] - first) * 1e6, max((end - row["start"]) * 1e6, _LEAST)
        ends = free.setdefault((row["rank"], row["group"]), [])
        beside = next((number for number, until in enumerate(ends) if until <= begin), len(ends))
        ends[beside : beside + 1] = [begin + length]
        placed.append(_Slice(row, lanes.setdefault((row["group"], beside), len(lanes)), begin, length))
    return placed


def _process_names(process: dict[str, int]) -> Iterator[dict[str, Any]]:
    for host, number in process.items():
        yield {"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": host}}


def _events(one: _Slice) -> Iterator[dict[str, Any]]:
    row = one.row
    base = {"name": collective(row["op"], row["seq"]), "cat": row["name"], "ts": one.begin}
    arguments = {key: row[key] for key in ("group", "seq", "bytes", "frame", "state")}
    yield {**base, "ph": "X", "dur": one.length, "args": {**arguments, "pending": _pending(row)}}
    if _pending(row):
        yield {**base, "name": f"hangs in {base['name']}", "ph": "i", "s": "t", "args": arguments}


def _pending(row: Record) -> bool:
    return bool(row["state"] != "done")


def _start(row: Record) -> float:
    return float(row["start"])
