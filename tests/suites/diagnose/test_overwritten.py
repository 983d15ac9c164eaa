"""Rings that have overwritten what is under way: only the status of a group shows that a rank is in an older call."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.made_up.flight_recorder import Entry, Group, Status, dump

WORLD = Group("0", "default_pg", (0, 1))
PAIR = Group("1", "PAIR", (0, 1))


def recorded(rank: int, completed: int, first: int, *groups: Group, message: bool = False) -> bytes:
    """A rank is in call 3 of these groups, in this order, and has ended so much of the last. Records are in a row from
    the first on."""
    entries = [
        Entry(
            record, group.name, f"recv {rank}<-{1 - rank}" if message else "all_reduce", 10**15 + record,
            0 if message else 3, 3 if message else 0, record, [[4]], [[4]], "Float", "scheduled", is_message=message,
        )
        for record, group in enumerate(groups, first)
    ]  # fmt: skip
    statuses = {group.name: Status() for group in (WORLD, PAIR)}
    statuses |= {group.name: Status(3, -1, completed if group == groups[-1] else 2) for group in groups}
    return pickle.dumps(dump((WORLD, PAIR), statuses, entries, "2.9", "nccl"), 2)


@pytest.mark.parametrize(
    ("completed", "first", "name", "culprits"),
    [
        (2, 90, "cycle", [0, 1]),
        (1, 90, "undecided", []),
        (1, 0, "cycle", [0, 1]),  # the ring begins with its first record: the status is behind
    ],
)
def test_no_circle_is_told_of_who_is_in_an_unknown_call(
    tmp_path: Path, completed: int, first: int, name: str, culprits: list[int]
) -> None:
    """They have entered two collectives in opposite order, as far as is recorded."""
    (tmp_path / "nccl_trace_rank_0").write_bytes(recorded(0, completed, first, WORLD, PAIR))
    (tmp_path / "nccl_trace_rank_1").write_bytes(recorded(1, 2, first, PAIR, WORLD))
    verdict = diagnose([str(tmp_path)], "opsdist diagnose", now()).record()["verdict"]
    assert (verdict["class"], [one["rank"] for one in verdict["culprits"]]) == (name, culprits)


@pytest.mark.parametrize(("completed", "name"), [(2, "cycle"), (1, "undecided")])
def test_messages_are_overwritten_too(tmp_path: Path, completed: int, name: str) -> None:
    for rank in (0, 1):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(recorded(rank, completed, 90, PAIR, message=True))
    verdict = diagnose([str(tmp_path)], "opsdist diagnose", now()).record()["verdict"]
    assert verdict["class"] == name
