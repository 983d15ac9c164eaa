"""Who is not to be blamed, or not for that: what follows, what is untold, what may be somebody else's."""

from __future__ import annotations

import pytest

from suites.diagnose.case import case_of
from suites.diagnose.facts import (
    Call,
    Ended,
    Fact,
    Frame,
    Group,
    Identity,
    Level,
    Place,
    Raised,
    Seen,
    Setting,
    Signature,
    Stack,
    Subject,
    Track,
    Trouble,
    Who,
    World,
)
from suites.diagnose.judge import judge
from suites.diagnose.verdict import Verdict


def verdict(*facts: Fact) -> Verdict:
    return judge(case_of([Seen(Place("0.log", 1), "a log"), *facts]))


def waiting_for_2(*more: Fact) -> Verdict:
    """Ranks 0 and 1 are in a call to which rank 2 has not come."""
    seen = [Seen(Place(f"{rank}.log", 1), "log", Who(rank), verbose=True) for rank in range(3)]
    there = [Call(Who(rank), Place(f"{rank}.log", 7), "g", 7, Signature("barrier"), "pending") for rank in (0, 1)]
    return verdict(Group("g", Place("0.log", 1), ranks=(0, 1, 2)), *seen, *there, *more)


def test_who_is_missing_and_left_with_an_error_has_crashed() -> None:
    assert (waiting_for_2().name, waiting_for_2().culprits) == ("missing", {2})
    told = waiting_for_2(Ended(Who(2), Place("job.log", 5), code=1))
    assert (told.name, told.culprits, told.waiting) == ("crashed", {2}, {0, 1})


def test_who_is_missing_and_complains_of_a_path_is_missing_still() -> None:
    told = waiting_for_2(Trouble(Who(2), Place("2.log", 5), Level.TRANSPORT, "it complains", "transport"))
    assert (told.name, told.culprits) == ("missing", {2})


@pytest.mark.parametrize(("raised", "name"), [(5.0, "crashed"), (9.0, "undecided")])
def test_what_came_before_a_time_out_is_known_by_its_time(raised: float, name: str) -> None:
    late = Trouble(Who(1), Place("1.log", 4, time=7.0), Level.TIMEOUT, "it has waited in vain")
    assert verdict(late, Raised(Who(1), Place("1.err", 5, time=raised), "ValueError", "bad batch")).name == name


def test_who_differs_does_not_wait_for_who_is_right() -> None:
    calls = [
        Call(Who(rank), Place(f"{rank}.log", 7), "g", 7, Signature("allreduce", 4 + (rank == 1)), "pending")
        for rank in range(3)
    ]
    told = verdict(Group("g", Place("0.log", 1), ranks=(0, 1, 2)), *calls)
    assert (told.name, told.culprits, told.waiting) == ("mismatch", {1}, {0, 2})


def in_one_log(*more: Fact) -> Verdict:
    """Three of four members of a group wait; they are known by their places in it only."""
    there = [
        Call(
            Who(host="node0", pid=50 + rank, group="tp", group_rank=rank), Place("job.log", 10 + rank), "tp", 7,
            Signature("barrier"), "pending",
        )
        for rank in range(3)
    ]  # fmt: skip
    other = Group("dp", Place("job.log", 3), size=4)
    return verdict(Group("tp", Place("job.log", 2), size=4), other, *there, *more)


def test_the_only_member_without_a_word_is_missing_unless_it_may_be_one_that_is_heard_elsewhere() -> None:
    alone = in_one_log()
    assert (alone.name, len(alone.culprits)) == ("missing", 1)
    elsewhere = Who(host="node0", pid=99, group="dp", group_rank=0)
    done = Call(elsewhere, Place("job.log", 20), "dp", 3, Signature("barrier"), "done")
    told = in_one_log(done)
    assert (told.name, told.culprits) == ("undecided", frozenset())


def heard(size: int, *ranks: int) -> list[Fact]:
    """Those ranks of a group of so many wait, by one log."""
    calls = [Call(Who(rank), Place("job.log", 10 + rank), "g", 7, Signature("barrier"), "pending") for rank in ranks]
    return [Group("g", Place("job.log", 2), ranks=tuple(range(size))), *calls]


@pytest.mark.parametrize(
    ("size", "ranks", "name", "confidence"),
    [
        (4, (0, 1, 3), "missing", "likely"),
        (3, (0, 1), "missing", "hypothesis"),
        (4, (0, 3), "missing", "hypothesis"),
        (8, (0, 1, 2, 3), "undecided", "hypothesis"),
        (8, (4, 5, 6, 7), "undecided", "hypothesis"),
    ],
)
def test_the_log_of_one_host_proves_nothing_against_the_ranks_of_others(
    size: int, ranks: tuple[int, ...], name: str, confidence: str
) -> None:
    told = verdict(*heard(size, *ranks))
    silent = frozenset(range(size)) - set(ranks)
    assert (told.name, told.confidence) == (name, confidence)
    assert (told.culprits, told.suspects) == ((silent, frozenset()) if name == "missing" else (frozenset(), silent))


def test_ranks_that_write_to_the_log_of_those_who_wait_are_missed_in_it() -> None:
    greetings = [Identity(Who(rank, host="node1", pid=70 + rank), Place("job.log", rank)) for rank in (2, 3)]
    assert verdict(*heard(4, 0, 1)).name == "undecided"
    told = verdict(*heard(4, 0, 1), *greetings)
    assert (told.name, told.confidence, told.culprits) == ("missing", "hypothesis", {2, 3})


def test_the_world_has_no_fewer_ranks_than_any_group() -> None:
    calls = [Call(Who(rank), Place("job.log", rank), "0", 7, Signature("barrier"), "pending") for rank in range(4)]
    assert (verdict(*calls).name, verdict(*calls).suspects) == ("joined", frozenset())
    told = verdict(*calls, Group("comm 1", Place("job.log", 1), size=8))
    assert (told.name, told.suspects) == ("undecided", {4, 5, 6, 7})


@pytest.mark.parametrize(
    ("sizes", "name", "silent"),
    [((4,), "joined", set()), ((5,), "missing", {4}), ((8,), "undecided", {4, 5, 6, 7}), ((5, 8), "joined", set())],
    ids=["all there", "one of five", "half of them", "of several jobs"],
)
def test_a_job_has_as_many_ranks_as_its_start_tells(sizes: tuple[int, ...], name: str, silent: set[int]) -> None:
    calls = [Call(Who(rank), Place("job.log", rank), "0", 7, Signature("barrier"), "pending") for rank in range(4)]
    told = verdict(*calls, *(World(size, Place("job.log", 1)) for size in sizes))
    assert (told.name, told.culprits | told.suspects) == (name, silent)
    assert told.confidence == ("hypothesis" if len(sizes) > 1 or name == "undecided" else "likely")


def test_a_size_that_is_less_than_what_is_seen_is_not_the_jobs() -> None:
    calls = [Call(Who(rank), Place("job.log", rank), "0", 7, Signature("barrier"), "pending") for rank in (0, 1, 3)]
    assert verdict(*calls, World(2, Place("job.log", 1))).culprits == {2}


def test_who_has_waited_in_vain_for_something_untold_is_not_missed_for_its_silence() -> None:
    def told(level: Level) -> Verdict:
        return verdict(*heard(4, 0, 1, 2), Trouble(Who(3), Place("job.log", 30), level, "its watchdog did nothing"))

    assert (told(Level.TIMEOUT).name, told(Level.TIMEOUT).suspects) == ("undecided", {3})
    assert (told(Level.CASCADE).name, told(Level.CASCADE).culprits) == ("missing", {3})


def test_all_who_wait_are_victims_and_no_suspect_is_one() -> None:
    pair = [Call(Who(rank), Place("job.log", rank), "tp", 3, Signature("allreduce"), "pending") for rank in (0, 1)]
    told = verdict(*pair, *heard(4, 2, 3), *(Seen(Place("job.log", 1), "log", Who(rank)) for rank in range(4)))
    assert (told.name, told.culprits) == ("joined", frozenset())
    assert (told.suspects, told.waiting) == ({0, 1}, {2, 3})


def test_a_setting_is_of_the_host_that_its_process_is_known_to_be_on() -> None:
    seen = [Seen(Place(f"{rank}.log", 1), "log", Who(rank, host=f"node{rank // 2}")) for rank in range(6)]
    cards = [Setting(Who(rank), Place("job.log", rank), "nccl.devices", f"{rank // 2 == 1}") for rank in range(6)]
    told = verdict(*seen, *cards)
    assert (told.name, [subject.who.host for subject in told.about]) == ("config", ["node1"])


def test_what_logs_tell_of_a_rank_are_no_recordings_of_several_runs() -> None:
    tracks = [Track(Who(0), Place(f"{name}.log", 4), "g", 3, completed=3) for name in "ab"]
    case = case_of(tracks)
    assert (len(case.facts), case.people.notes) == (2, [])


def test_a_process_that_left_is_the_one_whose_log_it_was() -> None:
    files = [Ended(Who(rank), Place(f"{rank}.log", 9), code=0) for rank in (1, 2)]
    raised = Raised(Who(), Place("2.log", 5), "ValueError", "bad batch")
    told = verdict(*files, raised)
    assert (told.name, told.culprits) == ("crashed", {1})  # the second of two who are known


@pytest.mark.parametrize(
    "frame", [Frame("all_reduce", "train.py", 3), Frame("wait", "/venv/torch/distributed/store.py", 3)]
)
def test_who_waits_is_told_by_a_function_or_by_its_file(frame: Frame) -> None:
    stacks = [Stack(Who(rank), Place(f"{rank}.txt", 1), "MainThread", (frame,)) for rank in (0, 1, 2)]
    busy = Stack(Who(3), Place("3.txt", 1), "MainThread", (Frame("load", "data.py", 9),))
    told = verdict(*stacks, busy)
    assert (told.name, told.culprits, told.waiting) == ("missing", {3}, {0, 1, 2})


def test_a_dead_process_is_that_of_its_rank_whatever_else_it_is_called() -> None:
    about = (Subject("rank", Who(2)),)
    told = waiting_for_2(Trouble(Who(2), Place("ras.txt", 5), Level.INITIATING, "it is dead", "crashed", about))
    assert (told.name, told.confidence, told.culprits) == ("crashed", "certain", {2})


def test_where_all_processes_of_a_host_break_down_it_is_the_host() -> None:
    seen = [Seen(Place(f"{n}.log", 1), "log", Who(n, host=f"node{n // 2}"), verbose=True) for n in range(4)]
    there = [Call(Who(n), Place(f"{n}.log", 7), "g", 7, Signature("barrier"), "pending") for n in (0, 1)]
    ended = [Ended(Who(n), Place("job.log", n), signal=11) for n in (2, 3)]
    told = verdict(Group("g", Place("0.log", 1), ranks=(0, 1, 2, 3)), *seen, *there, *ended)
    assert (told.name, told.culprits, told.suspects) == ("crashed", {2, 3}, frozenset())
    assert [subject.who.host for subject in told.about] == ["node1"]


@pytest.mark.parametrize(
    ("level", "said"),
    [
        (Level.TRANSPORT, "rank 0: it fails; nothing tells at whose end"),
        (Level.TIMEOUT, "rank 0 waited in vain, and nothing tells for whom"),
        (Level.CASCADE, "rank 0 tells of a failure that follows from another, and nothing tells from which"),
    ],
)
def test_who_is_not_heard_to_wait_is_not_said_to(level: Level, said: str) -> None:
    told = verdict(Trouble(Who(0), Place("0.log", 5), level, "it fails", remedy=("look there",)))
    assert (told.name, told.culprits, told.explanation) == ("undecided", frozenset(), said)
    assert "look there" in told.next_checks
