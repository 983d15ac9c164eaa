"""The last collectives a rank, as text and as a trace."""

from __future__ import annotations

import json
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


def test_processes_are_hosts_and_threads_are_ranks() -> None:
    names = {(e["name"], e["args"]["name"]) for e in events() if e["ph"] == "M"}
    assert {("process_name", "node01"), ("process_name", "node02"), ("thread_name", "rank 7")} <= names
    assert {e["tid"] for e in events() if e["ph"] == "X"} == {0, 7}  # rank 3 has no times


def test_what_has_not_ended_lasts_to_the_end_and_is_marked() -> None:
    (hanging,) = [e for e in events() if e["ph"] == "X" and e["args"]["pending"]]
    assert (hanging["ts"], hanging["dur"]) == (1e6, 2e6)
    (mark,) = [e for e in events() if e["ph"] == "i"]
    assert (mark["ts"], mark["tid"]) == (1e6, 0)


def test_a_trace_of_nothing_is_a_trace() -> None:
    assert json.loads(chrometrace.render(diagnosis()))["traceEvents"] == []
