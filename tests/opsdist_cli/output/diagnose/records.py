"""Records of diagnoses, made up for tests of what people see of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.schema import validate

Record = dict[str, Any]


def culprit(rank: int, host: str = "node02") -> Record:
    return {"kind": "rank", "rank": rank, "host": host}


def verdict(**given: Any) -> Record:
    return {
        "class": "missing", "confidence": "likely", "culprits": [culprit(7)], "suspects": [], "waiting": [],
        "collective": {"group": "tensor", "seq": 1234, "op": "allreduce"}, "sides": [], "positions": [],
        "initiating": None, "cascade_count": 0, "seen": [], "missing_evidence": [],
        "explanation": "rank 7 on node02 never entered allreduce #1234 of tensor; 15 ranks wait for it",
        "next_checks": ["py-spy dump --pid 4711 on node02"],
    } | given  # fmt: skip


def group(name: str = "tensor", **given: Any) -> Record:
    return {
        "group": name, "name": name, "size": 16, "ranks": list(range(16)), "seq": 1234, "op": "allreduce",
        "waiting": [], "absent": [], "behind": [], "done": [], "unseen": [],
    } | given  # fmt: skip


def waits(waiters: Iterable[int], waited: Sequence[int], name: str | None = "tensor", **given: Any) -> list[Record]:
    usual = {"group": name, "seq": 1234, "op": "allreduce", "why": "has not come to it"} | given
    return [{"from": one, "to": other, **usual} for one in waiters for other in waited if one != other]


def evidence(role: str, text: str = "timed out", **given: Any) -> Record:
    usual = {"file": "rank3.log", "line": 12, "rank": 3, "host": "node01", "means": "it waited too long"}
    return {"role": role, "text": text, **usual} | given


def stand(rank: int = 7, **given: Any) -> Record:
    return {
        "rank": rank, "host": "node02", "pid": 4711, "group": "tensor", "seq": 1233, "op": "allreduce", "step": None,
        "frame": "load (data.py:88)", "state": "left the last one",
    } | given  # fmt: skip


def call(rank: int, seq: int = 0, **given: Any) -> Record:
    return {
        "rank": rank, "group": "tensor", "name": "tensor", "seq": seq, "op": "allreduce", "bytes": 4096,
        "start": 100.0 + seq, "end": 100.5 + seq, "frame": "step (train.py:41)", "state": "done",
    } | given  # fmt: skip


def sources(read: int = 15, size: int | None = 16, seen: Sequence[int] = (), **given: Any) -> Record:
    ranks = {"seen": list(seen) or [rank for rank in range(16) if rank != 7], "size": size}
    return {"read": read, "kinds": {"flight recorder dump (2.9)": 15}, "unread": [], "ranks": ranks} | given


def diagnosis(**given: Any) -> Record:
    """Valid by its schema, whatever is put into it."""
    record: Record = {
        "schema_version": 1, "kind": "diagnose", "opsdist": "0.1.0", "command": ["opsdist", "diagnose", "deadlock"],
        "started": "2030-01-02T03:04:05.000Z", "ended": "2030-01-02T03:04:06.000Z", "status": "fail", "exit_code": 1,
        "findings": [], "verdict": verdict(), "mode": "recorded", "groups": [], "waits": [], "evidence": [],
        "stands": [], "timeline": [], "sources": sources(), "notes": [],
    } | given  # fmt: skip
    validate(record)
    return record


OTHERS = [rank for rank in range(16) if rank != 7]

USUAL = diagnosis(
    verdict=verdict(
        waiting=OTHERS, cascade_count=57, suspects=[culprit(3, "node01")],
        missing_evidence=["the dump of rank 7"],
        next_checks=["py-spy dump --pid 4711 on node02: where its main thread stands", "the output of rank 7"],
    ),
    groups=[group(waiting=OTHERS, absent=[7]), group("pipeline", size=2, ranks=[3, 7], seq=9, op="send", waiting=[3])],
    waits=waits(OTHERS, [7]),
    stands=[stand()],
    evidence=[
        evidence("supporting", "last enqueued work: 1234, last completed work: 1233"),
        evidence("cascade"), evidence("teardown"),
        evidence("initiating", "DataLoader worker (pid 5) is killed by signal", file="rank7.log", line=3, rank=7,
                 host="node02", means="its loader of data has died"),
    ],
    sources=sources(unread=[{"file": "core.gz", "why": "cut off"}]),
    notes=["clocks of node01 and node02 differ by 3 s or more"],
)  # fmt: skip
