"""Comma-separated values: a line per measured side of a row, in the units of the record."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

_ROW = (
    "backend", "collective", "algorithm", "size", "count", "type", "redop", "root", "bytes_moved",
    "wire_bytes_per_rank", "steps",
)  # fmt: skip
_SIDE = (
    "time", "time_min", "time_mean", "time_max", "time_p95", "alg_bw", "bus_bw", "nwrong", "iterations",
    "iterations_asked", "efficiency", "late_rank", "harness_overhead",
)  # fmt: skip


def render(record: Mapping[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_ROW, "placement", *_SIDE, "ceiling_bus_bw", "skipped", "time_ratio"])
    for row in record["results"]:
        fixed = [row[name] for name in _ROW]
        for placement in ("out_of_place", "in_place"):
            if side := row[placement]:
                ceiling = side["ceiling"] and side["ceiling"]["bus_bw"]
                writer.writerow([*fixed, placement, *(side[name] for name in _SIDE), ceiling, None, side["time_ratio"]])
        if row["skipped"]:
            writer.writerow([*fixed, None, *[None] * len(_SIDE), None, row["skipped"], None])
    return out.getvalue()
