"""Messages of which only the beginning is told."""

from __future__ import annotations

from suites.diagnose.case import case_of
from suites.diagnose.facts import Call, Fact, Group, Identity, Place, Seen, Signature, Who
from suites.diagnose.judge import judge
from suites.diagnose.verdict import Verdict

GROUP = "comm 0xfeed"


def member(rank: int) -> Who:
    return Who(host="node01", pid=10 + rank, group=GROUP, group_rank=rank)


def message(rank: int, op: str, peer: int, seq: int) -> Call:
    place = Place(f"{rank}.log", seq)
    return Call(member(rank), place, GROUP, seq, Signature(op), peer=member(peer), peer_sends=op == "recv")


def verdict(*facts: Fact) -> Verdict:
    logs: list[Fact] = [Group(GROUP, Place("0.log", 1), size=3)]
    for rank in range(3):
        logs += [
            Identity(member(rank), Place(f"{rank}.log", 1)),
            Seen(Place(f"{rank}.log", 1), "log", member(rank), verbose=True),
        ]
    return judge(case_of([*logs, *facts]))


PIPELINE = [
    message(0, "send", 1, 4), message(1, "recv", 0, 4), message(1, "send", 2, 4), message(2, "recv", 1, 4),
    message(2, "send", 1, 4), message(1, "recv", 2, 4), message(1, "send", 0, 4), message(0, "recv", 1, 4),
]  # fmt: skip


def test_messages_that_both_ends_have_come_to_hold_nobody_up() -> None:
    assert verdict(*PIPELINE).name == "none"


def test_who_has_not_come_to_the_other_end_is_missing() -> None:
    told = verdict(*PIPELINE, message(0, "recv", 1, 5), message(1, "recv", 2, 5))
    assert (told.name, told.culprits) == ("missing", {2})


def test_what_an_end_has_kept_of_old_messages_does_not_matter() -> None:
    assert verdict(*PIPELINE, message(0, "send", 1, 1), message(1, "recv", 2, 2)).name == "none"


def test_collectives_are_compared_beside_messages() -> None:
    calls = [
        Call(member(rank), Place(f"{rank}.log", 9), GROUP, seq, Signature("allreduce"))
        for rank in range(3)
        for seq in range(3 if rank != 1 else 2)
    ]
    told = verdict(*PIPELINE, *calls)
    assert (told.name, told.culprits) == ("missing", {1})


def test_two_that_send_to_each_other_and_do_not_receive_wait_in_a_circle() -> None:
    told = verdict(*PIPELINE, message(0, "send", 1, 5), message(1, "send", 0, 5))
    assert (told.name, told.culprits) == ("cycle", {0, 1})
