"""Records of perf made by hand, for what renders them: small, complete, and valid."""

from __future__ import annotations

from typing import Any

from tests.schema import validate

Record = dict[str, Any]


def side(**given: Any) -> Record:
    """A measured placement: 1 GiB in 15.4 ms by 2 ranks of a --peak of 113.1 GB/s, say."""
    return {
        "time": 100.0, "time_min": 90.0, "time_mean": 101.0, "time_max": 120.0, "time_p95": 119.0, "time_p99": None,
        "time_ci95": [95.0, 105.0], "samples": 20, "alg_bw": 104.2, "bus_bw": 104.2, "nwrong": 0, "iterations": 20,
        "iterations_asked": 20, "ceiling": {"time": 92.13, "bus_bw": 113.1, "source": "--peak"}, "efficiency": 0.9213,
        "time_ratio": None,
        "late_rank": None, "clock_error": None, "harness_overhead": 0.25, "buffer_sets": 1, "measured_again": False,
    } | given  # fmt: skip


def latency(**given: Any) -> Record:
    """A placement whose efficiency says nothing."""
    return side(ceiling=None, efficiency=None, **given)


def row(size: int = 1 << 30, algorithm: str = "ring", **given: Any) -> Record:
    skipped = given.get("skipped")
    return {
        "backend": "builtin", "collective": "allreduce", "algorithm": algorithm, "why": "asked for", "size": size,
        "count": None if skipped else size // 4, "type": "float32", "redop": "sum", "root": None,
        "bytes_moved": None if skipped else size, "wire_bytes_per_rank": size,
        "wire_bytes_per_host": None, "steps": 2,
        "out_of_place": None if skipped else side(), "in_place": None, "skipped": None,
    } | given  # fmt: skip


def finding(check: str = "perf.data", status: str = "pass", message: str = "all is well", **given: Any) -> Record:
    return {
        "check": check, "status": status, "subject": {}, "message": message, "remedy": None, "evidence": {},
    } | given  # fmt: skip


def perf_record(*rows: Record, findings: tuple[Record, ...] = (), exit_code: int = 0, **config: Any) -> Record:
    """A valid record of these rows; `config` changes options."""
    ranks = [
        {
            "rank": rank, "node": 0, "local_rank": rank, "pid": 100 + rank, "cpu": [rank], "addresses": [],
            "peak_memory_bytes": 90 << 20,
            "transport": {"node": "zmq", "network": None},
        }
        for rank in (0, 1)
    ]  # fmt: skip
    record = {
        "schema_version": 1,
        "kind": "perf",
        "opsdist": "0.1.0",
        "command": ["opsdist", "perf"],
        "started": "2030-01-02T03:04:05.000Z",
        "ended": "2030-01-02T03:04:07.500Z",
        "status": {0: "pass", 1: "fail"}.get(exit_code, "error"),
        "exit_code": exit_code,
        "findings": list(findings),
        "world": {
            "size": 2, "launcher": "local", "nodes": [{"name": "host", "ranks": [0, 1], "link": None}],
            "ranks": ranks,
            "why": "2 ranks, as asked",
        },
        "config": {
            "collectives": list(dict.fromkeys(row["collective"] for row in rows)) or ["allreduce"],
            "sizes": list(dict.fromkeys(row["size"] for row in rows if row["size"])) or [8],
            "loop": 20, "loop_asked": False, "warmup": 5, "ranks": 2, "per_host": None, "backends": ["builtin"],
            "algorithms": ["auto"],
            "dtype": "float32", "redop": "sum", "root": 0, "placement": "out-of-place", "check": True, "cache": "cold",
            "sync": "each", "bind": "core", "buffers": "registered", "group_size": None, "peak": None, "floors": [],
            "timeout": 60.0, "budget": None, "record": False, "inject": [],
            "rotation_bytes": 32 << 20, "cache_bytes": 32 << 20,
        } | config,
        "libraries": {"builtin": "opsdist 0.1.0, portable engine over zmq"},
        "results": list(rows),
        "comparison": [],
        "verdict": None,
    }  # fmt: skip
    validate(record)
    return record
