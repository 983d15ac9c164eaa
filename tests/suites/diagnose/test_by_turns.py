"""Groups whose status counts messages and collectives by turns, as torch's does: its numbers are of either."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.made_up.flight_recorder import Entry, Group, Status, dump

WORLD = Group("0", "default_pg", (0, 1, 2))
PAIR = Group("1", "PAIR", (1, 2))


def under_way(group: Group, number: int) -> Entry:
    return Entry(
        90 + number, group.name, "all_reduce", 10**15 + number, number, 0, number, [[4]], [[4]], "Float", "scheduled"
    )


def dumped(rank: int, statuses: Mapping[Group, Status], *entries: Entry) -> bytes:
    groups = [group for group in (WORLD, PAIR) if rank in group.ranks]
    told = {group.name: statuses.get(group, Status()) for group in groups}
    return pickle.dumps(dump(groups, told, entries, "2.9", "nccl"), 2)


@pytest.mark.parametrize(("others", "culprits"), [((), [2]), ((under_way(PAIR, 3),), [1])])
def test_who_has_sent_more_messages_has_not_come_to_a_later_collective(
    tmp_path: Path, others: tuple[Entry, ...], culprits: list[int]
) -> None:
    """All have last ended message 140, and rank 0 is in collective 19. Rank 2 is in nothing of that group: if it is in
    another, to which rank 1 does not come, it may have been there."""
    waits = {WORLD: Status(19, -1, 140)}
    entered = under_way(WORLD, 19)
    idle = {WORLD: Status(140, -1, 140), PAIR: Status(2, -1, 2)}
    one = dumped(1, idle) if others else dumped(1, {**waits, PAIR: Status(2, -1, 2)}, entered)
    two = dumped(2, {**idle, PAIR: Status(3 if others else 2, -1, 2)}, *others)
    for rank, data in enumerate((dumped(0, waits, entered), one, two)):
        (tmp_path / f"_dump_{rank}").write_bytes(data)
    told = diagnose([str(tmp_path)], ["opsdist"], now()).record()["verdict"]
    assert (told["class"], [one["rank"] for one in told["culprits"]]) == ("missing", culprits)


def verdict_of(folder: Path, *dumps: bytes) -> tuple[str, list[int]]:
    for rank, data in enumerate(dumps):
        (folder / f"_dump_{rank}").write_bytes(data)
    told = diagnose([str(folder)], ["opsdist"], now()).record()["verdict"]
    return told["class"], [one["rank"] for one in told["culprits"]]


def test_what_is_under_way_cannot_be_over_so_the_status_is_of_messages(tmp_path: Path) -> None:
    """All have ended their second message. Ranks 0 and 1 are in the second collective, and rank 2 is not."""
    waiting = dumped(0, {WORLD: Status(2, -1, 2)}, under_way(WORLD, 2))
    other = dumped(1, {WORLD: Status(2, -1, 2)}, under_way(WORLD, 2))
    assert verdict_of(tmp_path, waiting, other, dumped(2, {WORLD: Status(2, -1, 2)})) == ("missing", [2])


def test_a_number_that_most_have_may_be_of_the_collective_that_one_does_not_come_out_of(tmp_path: Path) -> None:
    """Nobody has come to wait for rank 0, whose status tells its last message."""
    behind = dumped(0, {WORLD: Status(2, -1, 8)}, under_way(WORLD, 2))
    through = (dumped(rank, {WORLD: Status(2, -1, 2)}) for rank in (1, 2))
    assert verdict_of(tmp_path, behind, *through) == ("stuck", [0])


@pytest.mark.parametrize(("last", "told"), [(140, ("cycle", [1, 2])), (19, ("undecided", []))])
def test_whose_last_is_what_all_had_last_ended_before_has_not_come_further(
    tmp_path: Path, last: int, told: tuple[str, list[int]]
) -> None:
    """Rank 2 is in a call of the pair that rank 1, in collective 19 of the world, does not come to. Where all waiters
    had last ended message 140, rank 2 has not come to 19 either. Were it 19, that may be of the collective."""
    waits = {WORLD: Status(19, -1, last)}
    entered = under_way(WORLD, 19)
    idle = {WORLD: Status(last, -1, last), PAIR: Status(3, -1, 2)}
    one = dumped(1, {**waits, PAIR: Status(2, -1, 2)}, entered)
    assert verdict_of(tmp_path, dumped(0, waits, entered), one, dumped(2, idle, under_way(PAIR, 3))) == told


def test_who_alone_has_not_ended_the_last_collective_is_stuck_where_all_are_kept(tmp_path: Path) -> None:
    """Status numbers are of messages, so only what is recorded tells who is through it."""
    call = under_way(WORLD, 4)
    sent = replace(call, record=95, op="send 0->1", message=9, is_message=True, state="completed", ended=10**15 + 9)
    over = replace(call, state="completed", ended=10**15 + 5)
    told = [dumped(rank, {WORLD: Status(9, -1, 9)}, call if rank == 1 else over, sent) for rank in range(3)]
    assert verdict_of(tmp_path, *told) == ("stuck", [1])
