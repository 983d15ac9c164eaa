"""The last collectives a rank in the Trace Event Format, which Perfetto and chrome://tracing open.

A process is a host, a thread a rank. What has not ended lasts to the end of the trace, with `pending` among its
arguments and a mark where it begins. Times in us from the first one. Pure. May import: from this package.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from opsdist_cli.output.diagnose.naming import Record, collective, host_of

_LEAST = 1.0
"""us; so that what has no length can be seen and clicked on."""


def render(record: Record) -> str:
    rows = [row for row in record["timeline"] if row["start"] is not None]
    first = min((row["start"] for row in rows), default=0.0)
    last = max((moment for row in rows for moment in (row["start"], row["end"]) if moment is not None), default=0.0)
    hosts = host_of(record)
    numbers: dict[str, int] = {}
    for rank in sorted({row["rank"] for row in rows}):
        numbers.setdefault(hosts.get(rank, "host unknown"), len(numbers))
    process = {row["rank"]: numbers[hosts.get(row["rank"], "host unknown")] for row in rows}
    events = [*_names(numbers, process)]
    for row in rows:
        events += _events(row, process[row["rank"]], first, last)
    other = {"opsdist": record["opsdist"], "verdict": record["verdict"]["explanation"]}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}, allow_nan=False) + "\n"


def _names(numbers: Mapping[str, int], process: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    for host, number in numbers.items():
        yield {"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": host}}
    for rank, number in sorted(process.items()):
        yield {"ph": "M", "name": "thread_name", "pid": number, "tid": rank, "args": {"name": f"rank {rank}"}}


def _events(row: Record, process: int, first: float, last: float) -> Iterator[dict[str, Any]]:
    pending = row["state"] != "done"
    end = last if pending or row["end"] is None else row["end"]
    begin = (row["start"] - first) * 1e6
    base = {"name": collective(row["op"], row["seq"]), "cat": row["name"], "pid": process, "tid": row["rank"]}
    arguments = {key: row[key] for key in ("group", "seq", "bytes", "frame", "state")}
    length = max((end - row["start"]) * 1e6, _LEAST)
    yield {**base, "ph": "X", "ts": begin, "dur": length, "args": {**arguments, "pending": pending}}
    if pending:
        yield {**base, "name": f"hangs in {base['name']}", "ph": "i", "s": "t", "ts": begin, "args": arguments}
