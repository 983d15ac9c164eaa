"""Messages of which all are recorded: the nth that one sends meets the nth that the other receives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suites.diagnose.evidence.fr_messages import numbered
from suites.diagnose.facts import Call, Place, Signature, Track, Who
from suites.diagnose.verdict import At, Verdict
from tests.suites.diagnose.telling import group, verdict


def message(rank: int, way: str, peer: int, nth: int, at: float) -> Call:
    to = Who(group="p", group_rank=peer)
    return Call(
        Who(rank), Place(f"{rank}.dump"), "p", None, Signature(way), "pending", to, way == "send", entered=at, nth=nth
    )


def recorded(rank: int, begun: dict[tuple[int, bool], int] | None, *pending: Call) -> Track:
    return Track(Who(rank), Place(f"{rank}.dump"), "p", pending=pending, by_turns=True, messages=begun)


def waits_in(of: str, rank: int, seq: int, at: float) -> Track:
    call = Call(Who(rank), Place(f"{rank}.dump"), of, seq, Signature("allreduce"), "pending", entered=at)
    return Track(Who(rank), Place(f"{rank}.dump"), of, seq, None, seq - 1, (call,))


def test_a_later_message_is_not_the_other_end_of_one_that_was_left_out() -> None:
    """Rank 0 left out its fourth send, so that its fourth is what rank 1 takes for it, and rank 1 waits for a fifth."""
    told = verdict(
        group("p", 0, 1), group("w", 0, 1),
        recorded(0, {(1, True): 4, (1, False): 5}, message(0, "recv", 1, 5, 2.0)),
        recorded(1, {(0, True): 5, (0, False): 5}, message(1, "recv", 0, 5, 1.0), message(1, "send", 0, 5, 3.0)),
        telling=2,
    )  # fmt: skip
    assert (told.name, told.culprits) == ("cycle", {0, 1})


def behind(nth: int, *, counted: bool = True, heard: int = 3) -> Verdict:
    """Rank 0 is in its third message, of which rank 1 has sent so many, and rank 1 waits for it in w. Of rank 2, which
    rank 0 comes to after that, nothing may be heard."""
    tracks = [
        recorded(0, {(1, False): 3} if counted else None, message(0, "recv", 1, 3, 1.0)),
        waits_in("q", 0, 7, 2.0), Track(Who(0), Place("0.dump"), "w", 4, None, 4),
        recorded(1, {(0, True): nth} if counted else None), waits_in("w", 1, 5, 9.0),
        *(waits_in("q", rank, 7, 9.0) for rank in range(2, heard)),
    ]  # fmt: skip
    return verdict(group("p", 0, 1), group("w", 0, 1), group("q", 0, 2), *tracks, telling=heard)


def test_a_circle_through_a_message_that_may_be_over_is_none_where_somebody_is_not_heard() -> None:
    told = behind(3, counted=False, heard=2)
    assert (told.name, told.culprits, told.suspects) == ("undecided", frozenset(), {0, 1, 2})


@pytest.mark.parametrize("way", ["send", "recv"])
def test_who_does_not_come_out_of_a_message_that_the_other_end_is_through_waits_for_nobody(way: str) -> None:
    """Rank 1 has begun the third message too, and is in the fourth. It looked like a circle."""
    told = verdict(
        group("p", 0, 1), group("w", 0, 1),
        recorded(0, {(1, way == "send"): 3}, message(0, way, 1, 3, 2.0)),
        recorded(1, {(0, way != "send"): 4}, message(1, "send" if way == "recv" else "recv", 0, 4, 1.0)),
        waits_in("w", 1, 5, 3.0), Track(Who(0), Place("0.dump"), "w", 4, None, 4), telling=2,
    )  # fmt: skip
    assert (told.name, told.culprits, told.at) == ("stuck", {0}, At("p", None, way))


@pytest.mark.parametrize(("way", "name", "culprits"), [("send", "stuck", {0}), ("recv", "missing", {1})])
def test_only_who_sends_has_come_to_what_the_other_end_is_through(way: str, name: str, culprits: set[int]) -> None:
    """Rank 0 is in w before its message. What it receives may have been sent long before it gets to it."""
    told = verdict(
        group("p", 0, 1), group("w", 0, 1), waits_in("w", 0, 5, 1.0),
        recorded(0, {(1, way == "send"): 3}, message(0, way, 1, 3, 2.0)), recorded(1, {(0, way != "send"): 3}),
        Track(Who(1), Place("1.dump"), "w", 4, None, 4), telling=2,
    )  # fmt: skip
    assert (told.name, told.culprits) == (name, culprits)


@pytest.mark.parametrize(("first", "known"), [(0, True), (1, False)])
def test_messages_are_numbered_where_none_is_lost(first: int, known: bool) -> None:
    names = ["nccl:send 0->1", "nccl:recv 0<-1", "nccl:all_reduce", "nccl:send 0->1"]
    entries = [
        {"record_id": first + index, "process_group": ("4", "p"), "profiling_name": name}
        for index, name in enumerate(names)
    ]
    found = numbered(entries)
    assert (found is not None) is known
    if found is not None:
        assert [found.nth(entry) for entry in entries] == [1, 1, None, 2]
        assert found.counts("4") == {(1, True): 2, (1, False): 1}


@pytest.mark.parametrize(("aside", "name"), [(True, "undecided"), (False, "cycle")])
def test_messages_of_two_groups_need_not_wait_for_each_other(aside: bool, name: str) -> None:
    """Both have sent, and receive: what each sends goes through a group of its own."""
    ways = {0: "p", 1: "q" if aside else "p"}

    def through(rank: int, way: str, at: float) -> Call:
        of = ways[rank if way == "send" else 1 - rank]
        made = message(rank, way, 1 - rank, 1, at)
        return replace(made, group=of, peer=Who(group=of, group_rank=1 - rank), nth=None)

    tracks = [
        Track(Who(rank), Place(f"{rank}.dump"), of, by_turns=True, pending=[c for c in calls if c.group == of])
        for rank in (0, 1)
        for calls in [[through(rank, "send", 1.0), through(rank, "recv", 2.0)]]
        for of in dict.fromkeys(ways.values())
    ]
    told = verdict(group("p", 0, 1), group("q", 0, 1), *tracks, telling=2)
    assert (told.name, told.culprits) == (name, frozenset() if aside else {0, 1})
