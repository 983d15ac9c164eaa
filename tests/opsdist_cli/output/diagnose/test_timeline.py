"""The last collectives a rank, as text and as a trace."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from opsdist_cli.output.diagnose import chrometrace, timeline
from tests.opsdist_cli.output.diagnose.records import call, diagnosis, stand

HANG = diagnosis(
    stands=[stand(7, host="node02"), stand(0, host="node01")],
    timeline=[
        call(0, 0), call(0, 1, state="pending", end=None), call(7, 0, end=103.0),
        call(3, 5, start=None, end=None, state="entered"),
    ],
)  # fmt: skip


def events() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(chrometrace.render(HANG))["traceEvents"]
    return found


def test_culprits_come_first_with_times_from_the_first_call() -> None:
    lines = timeline.render(HANG).split("\n")
    assert lines[2].split()[:3] == ["7", "+0.000", "s"]
    pending = next(line for line in lines if " pending " in line)
    assert pending.split()[:4] == ["0", "+1.000", "s", "-"]
    assert "allreduce #1 of tensor, at step (train.py:41)" in pending


def test_many_ranks_are_counted_and_each_has_few_rows() -> None:
    rows = [call(rank, seq) for rank in range(100) for seq in range(50)]
    text = timeline.render(diagnosis(timeline=rows))
    assert len(text.split("\n")) < 70
    assert "allreduce #49 of tensor" in text
    assert "allreduce #3 of tensor" not in text
    assert "not shown: [" in text


def test_without_calls_it_says_so() -> None:
    assert timeline.render(diagnosis()).startswith("# no timeline")


def threads(found: list[dict[str, Any]]) -> dict[tuple[int, int], str]:
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in found if e["name"] == "thread_name"}


def test_processes_are_hosts_and_threads_are_ranks() -> None:
    assert {e["args"]["name"] for e in events() if e["name"] == "process_name"} == {"node01", "node02"}
    names = threads(events())
    used = {names[e["pid"], e["tid"]] for e in events() if e["ph"] == "X"}
    assert used == set(names.values()) == {"rank 0 tensor", "rank 7 tensor"}  # rank 3 has no times


def test_what_overlaps_is_in_threads_of_its_own() -> None:
    """Perfetto drops it otherwise. It takes a thread of the number 0, or of its process, for the main one."""
    rows = [
        call(0, 1, start=1.0, end=3.0), call(0, 2, start=2.0, end=5.0), call(0, 3, start=3.0, end=4.0),
        call(12, 1, start=1.0, end=3.0), call(0, 1, group="2", name="pipe", start=1.5, end=2.5),
    ]  # fmt: skip
    found: list[dict[str, Any]] = json.loads(chrometrace.render(diagnosis(timeline=rows)))["traceEvents"]
    names, slices = threads(found), [e for e in found if e["ph"] == "X"]
    assert len(slices) == len(rows)
    assert sorted(names.values()) == ["rank 0 pipe", "rank 0 tensor", "rank 0 tensor", "rank 12 tensor"]
    for place in names:
        mine = sorted((e["ts"], e["ts"] + e["dur"]) for e in slices if (e["pid"], e["tid"]) == place)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(mine))
    assert not {tid for _, tid in names} & {0, *(pid for pid, _ in names)}


def test_what_has_not_ended_lasts_to_the_end_and_is_marked() -> None:
    (hanging,) = [e for e in events() if e["ph"] == "X" and e["args"]["pending"]]
    assert (hanging["ts"], hanging["dur"]) == (1e6, 2e6)
    (mark,) = [e for e in events() if e["ph"] == "i"]
    assert (mark["ts"], mark["tid"]) == (1e6, hanging["tid"])


def test_a_trace_of_nothing_is_a_trace() -> None:
    assert json.loads(chrometrace.render(diagnosis()))["traceEvents"] == []
