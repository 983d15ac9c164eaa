"""From facts to a verdict: who is at fault, in what, and who is not."""

from __future__ import annotations

import signal

import pytest

from suites.diagnose.case import case_of
from suites.diagnose.facts import (
    Absent,
    Call,
    Class,
    Disagreement,
    Ended,
    Fact,
    Group,
    Level,
    Place,
    Raised,
    Seen,
    Setting,
    Side,
    Signature,
    Stack,
    State,
    Subject,
    Track,
    Trouble,
    Waiting,
    Who,
)
from suites.diagnose.judge import judge
from suites.diagnose.verdict import At, Verdict
from tests.suites.diagnose.telling import call, group, says, verdict


def test_what_a_device_has_behind_the_call_it_does_not_come_through_is_no_excuse() -> None:
    """Rank 0 is through g 7, and rank 1 is not. It has h behind it, to which rank 2 comes after k, and to that rank 0
    after g."""
    told = verdict(
        group("g", 0, 1), group("h", 1, 2), group("k", 0, 2), call(0, "g", 7, state="done", at=1.0),
        call(1, "g", 7, at=1.0), call(1, "g", 8, at=2.0), call(1, "h", 5, at=3.0), call(0, "g", 8, at=2.0),
        call(0, "k", 3, at=3.0), call(2, "k", 3, at=1.0), telling=3,
    )  # fmt: skip
    assert (told.name, told.culprits) == ("stuck", {1})


def test_where_a_call_ended_for_some_who_is_not_heard_is_suspected() -> None:
    """A call that failed ends too: that some are through does not show that all have been there."""
    told = verdict(group("g", 0, 1, 2, 3), call(0, "g", 4, state="done"), call(2, "g", 4), call(3, "g", 4))
    assert (told.name, told.culprits, told.suspects, told.waiting) == ("undecided", frozenset(), {1}, {2, 3})


def test_those_who_are_all_in_one_call_are_not_to_blame_for_who_waits_for_them_elsewhere() -> None:
    told = verdict(
        group("g", 0, 1), group("h", 0, 1, 2, 3), call(0, "g", 7), call(1, "g", 7), call(2, "h", 5), call(3, "h", 5),
        telling=4,
    )  # fmt: skip
    assert (told.name, told.culprits) == ("joined", frozenset())
    assert told.at is not None
    assert (told.at.group, told.at.seq) == ("g", 7)


def through_but_one(*more: Fact) -> Verdict:
    """Rank 2 does not come out of a call that the others are through."""
    return verdict(
        group("g", 0, 1, 2), call(2, "g", 7), call(0, "g", 7, state="done"), call(1, "g", 7, state="done"),
        call(0, "g", 8), call(1, "g", 8), *more, telling=3,
    )  # fmt: skip


def test_who_does_not_come_through_is_stuck_and_a_failed_path_of_its_own_is_why() -> None:
    assert (through_but_one().name, through_but_one().culprits) == ("stuck", {2})
    told = through_but_one(says(2, Level.TRANSPORT, "transport"))
    assert (told.name, told.culprits) == ("transport", {2})
    other = through_but_one(says(1, Level.TRANSPORT, "transport"))
    assert (other.name, other.culprits) == ("stuck", {2})


def test_what_is_stuck_is_so_whatever_code_it_is_ended_with() -> None:
    assert through_but_one(Ended(Who(2), Place("job.log", 9), code=1)).name == "stuck"


def test_the_device_of_who_is_missing_is_named_with_it() -> None:
    device = Subject("device", Who(2, host="node02", device="gpu0"))
    told = verdict(
        group("g", 0, 1, 2), call(0, "g", 7), call(1, "g", 7), says(2, Level.INITIATING, "device", (device,)), telling=3
    )
    assert (told.name, told.culprits, told.about) == ("device", {2}, (device,))


def on_hosts(ranks: int) -> list[Fact]:
    return [
        Seen(Place(f"{rank}.log", 1), "log", Who(rank, host=f"node{rank // 2}", pid=50 + rank), verbose=True)
        for rank in range(ranks)
    ]


@pytest.mark.parametrize(("behind", "hosts"), [((2, 3), ["node1"]), ((1, 3), []), ((3,), [])])
def test_where_all_of_a_host_are_missing_it_is_the_host(behind: tuple[int, ...], hosts: list[str]) -> None:
    there = [call(rank, "g", 7) for rank in range(6) if rank not in behind]
    told = verdict(group("g", *range(6)), *on_hosts(6), *there)
    assert (told.name, told.culprits) == ("missing", set(behind))
    assert [subject.who.host for subject in told.about] == hosts


def test_where_all_of_a_host_are_stuck_it_is_the_host() -> None:
    others = [call(rank, "g", seq, state=state) for rank in (0, 1, 4, 5) for seq, state in _THROUGH]
    told = verdict(group("g", *range(6)), *on_hosts(6), call(2, "g", 7), call(3, "g", 7), *others)
    assert (told.name, told.culprits, [subject.who.host for subject in told.about]) == ("stuck", {2, 3}, ["node1"])


_THROUGH: tuple[tuple[int, State], ...] = ((7, "done"), (8, "pending"))


def test_of_a_group_of_unknown_size_the_one_that_is_behind_is_missing() -> None:
    told = verdict(*(call(rank, "g", seq, state="entered") for rank in range(4) for seq in range(6 - (rank == 2))))
    assert (told.name, told.culprits) == ("missing", {2})


def test_who_waits_itself_for_somebody_unheard_is_but_suspected() -> None:
    told = verdict(
        group("g", 0, 1), group("h", 1, 2), call(0, "g", 3, at=5.0), call(1, "h", 0, at=4.0), call(2, "h", 0, at=4.0),
        Waiting(Who(1), Place("1.log", 8), (Who(9),)), telling=3,
    )  # fmt: skip
    assert (told.name, told.culprits, told.suspects) == ("joined", frozenset(), {1, 3})


@pytest.mark.parametrize(
    "op",
    ["allreduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatterv", "alltoall", "alltoallv", "barrier"],
)
def test_where_some_are_through_a_call_that_synchronises_all_have_been_there(op: str) -> None:
    told = verdict(group("g", 0, 1, 2, 3), call(0, "g", 7, op), call(1, "g", 7, op, state="done"), call(1, "g", 8, op))
    assert (told.name, told.culprits, told.suspects & {2, 3}) == ("stuck", {0}, {2, 3})


def test_hosts_that_differ_are_why_all_are_in_one_call() -> None:
    hosts = [Setting(Who(rank, host=f"node{rank}"), Place(f"{rank}.log", 2), "env.X", str(rank)) for rank in (0, 1)]
    assert verdict(group("g", 0, 1), call(0, "g", 7), call(1, "g", 7), *hosts, telling=2).name == "config"


TELLS = [
    (Signature("allreduce", None, "float32"), Signature("allreduce", 4), Signature("allreduce", 8)),
    (Signature("allreduce", None, "float32"), Signature("allreduce", 4), Signature("allreduce", 4, "float64")),
]


@pytest.mark.parametrize("tells", TELLS)
def test_what_one_leaves_out_of_a_call_another_one_tells(tells: tuple[Signature, ...]) -> None:
    calls = (*tells, Signature("allreduce", 4, "float32"))
    told = verdict(
        group("g", 0, 1, 2, 3),
        *(Call(Who(rank), Place(f"{rank}.log", 7), "g", 7, one, "pending") for rank, one in enumerate(calls)),
    )
    assert (told.name, told.culprits) == ("mismatch", {2})


@pytest.mark.parametrize("op", ["unknown", "coalesced"])
def test_what_may_be_any_call_differs_from_none(op: str) -> None:
    told = verdict(group("g", 0, 1), call(0, "g", 7), call(1, "g", 7, op), telling=2)
    assert told.name == "joined"


@pytest.mark.parametrize(("few", "many"), [("allgather", "barrier"), ("barrier", "allgather")])
def test_of_a_disagreement_that_a_tool_tells_the_majority_is_right(few: str, many: str) -> None:
    sides = (Side(few, (Who(3),)), Side(many, (Who(0), Who(1), Who(2))))
    told = verdict(Disagreement(Place("0.log", 5), sides, "operation", "g", 7))
    assert (told.name, told.culprits) == ("mismatch", {3})


@pytest.mark.parametrize("error", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "SignalException"])
def test_who_is_told_to_leave_is_not_at_fault(error: str) -> None:
    assert verdict(Raised(Who(1), Place("1.log", 5), error, "1")).culprits == frozenset()
    assert verdict(Raised(Who(1), Place("1.log", 5), "ValueError", "1")).name == "crashed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("shell", [False, True])
def test_who_is_ended_by_others_is_not_at_fault(number: int, shell: bool) -> None:
    place = Place("job.log", 5)
    ended = Ended(Who(1), place, code=128 + number) if shell else Ended(Who(1), place, signal=number)
    assert verdict(ended).culprits == frozenset()
    assert verdict(Ended(Who(1), place, signal=signal.SIGSEGV)).name == "crashed"


@pytest.mark.parametrize("row", ["kernel.out_of_memory", "srun.oom", "kubernetes.oom", "ray.memory"])
def test_who_is_killed_where_memory_ran_out_wanted_too_much(row: str) -> None:
    oom = Trouble(Who(host="node0"), Place("dmesg", 3), Level.CASCADE, "memory ran out", known_as=row)
    killed = Ended(Who(1, host="node0"), Place("job.log", 5), signal=signal.SIGKILL)
    assert verdict(oom, killed).name == "resource"
    assert verdict(killed).name == "crashed"


@pytest.mark.parametrize("cause", ["device", "resource", "config", "launch", "crashed"])
def test_what_is_said_after_a_time_out_is_why_only_where_it_cannot_follow_from_it(cause: Class) -> None:
    own = (Subject("rank", Who(1)),)
    told = verdict(says(1, Level.TIMEOUT, line=5), says(1, Level.INITIATING, cause, own, line=9))
    assert told.name == ("undecided" if cause == "crashed" else cause)


@pytest.mark.parametrize(
    "fact",
    [
        call(2, "g", 1, state="done"),
        Stack(Who(2), Place("2.log", 3), "loader", ()),
        Setting(Who(2), Place("2.log", 3), "env.X", "1"),
        Seen(Place("2.log", 3), "log", Who(2)),
        says(2, Level.TEARDOWN),
    ],
)
def test_a_nameless_line_is_of_the_only_one_who_speaks_in_its_file(fact: Fact) -> None:
    raised = Raised(Who(), Place("2.log", 30), "ValueError", "bad batch")
    told = verdict(fact, raised, says(0, Level.TIMEOUT))
    assert (told.name, told.culprits) == ("crashed", {1})  # the second of two who are heard
    assert verdict(fact, raised, Seen(Place("2.log", 4), "log", Who(3))).culprits == frozenset()


@pytest.mark.parametrize("key", ["0", "world", "default_pg", "default"])
def test_ranks_of_the_group_of_everybody_are_the_jobs(key: str) -> None:
    place = Place("0.log", 1)
    there = [
        Call(
            Who(host="node0", pid=60 + rank, group=key, group_rank=rank), place, key, 5, Signature("barrier"), "pending"
        )
        for rank in (0, 1, 3)
    ]
    case = case_of([Group(key, place, size=4), Seen(place, "log", Who(2), verbose=True), *there])
    told = judge(case)
    assert [case.people.persons[number].rank for number in told.culprits] == [2]


def test_a_place_in_a_smaller_group_is_no_rank_of_the_job() -> None:
    place = Place("0.log", 1)
    world = [
        Call(Who(pid=60 + rank, group="0", group_rank=rank), place, "0", 5, Signature("barrier")) for rank in (0, 1)
    ]
    stranger = Who(pid=99, group="h", group_rank=1)
    other = Call(stranger, Place("9.log", 1), "h", 5, Signature("barrier"))
    case = case_of([Group("0", place, size=4), Group("h", place, size=2), other, *world])
    number = case.people.number(stranger)
    assert number is not None
    assert case.people.persons[number].rank is None


def test_a_device_is_that_of_the_only_process_that_has_it() -> None:
    xid = Trouble(
        Who(host="node0", device="gpu1"), Place("dmesg", 3), Level.INITIATING, "it fell off the bus", "device",
        (Subject("device", Who(host="node0", device="gpu1")),),
    )  # fmt: skip
    ranks = [
        Seen(Place(f"{n}.log", 1), "log", Who(n, host="node0", pid=50 + n, device=f"gpu{n}"), verbose=True)
        for n in range(3)
    ]
    told = verdict(group("g", 0, 1, 2), *ranks, call(0, "g", 7), call(2, "g", 7), xid)
    assert (told.name, told.culprits, told.about) == ("device", {1}, xid.about)


def test_who_is_missed_by_a_watcher_but_says_that_it_came_is_not_missing() -> None:
    absent = Absent(Place("0.log", 5), (Who(2),), (Who(0), Who(1)), "g", 7, "barrier")
    came = Absent(Place("2.log", 5), (), (Who(2),), "g", 7, "barrier")
    assert (verdict(group("g", 0, 1, 2), absent).name, verdict(group("g", 0, 1, 2), absent).culprits) == (
        "missing",
        {2},
    )
    assert verdict(group("g", 0, 1, 2), absent, came).culprits == frozenset()


@pytest.mark.parametrize("key", ["default", "0"])
def test_who_is_heard_is_of_the_group_of_everybody_though_nothing_lists_it(key: str) -> None:
    told = verdict(*(call(rank, key, 7) for rank in (0, 1, 3)), telling=4)
    assert (told.name, told.culprits) == ("missing", {2})


def test_places_in_groups_that_are_not_named_tell_nobody_apart_or_together() -> None:
    seen = [Seen(Place(f"{pid}.log", 1), "log", Who(host="node0", pid=pid, group_rank=0)) for pid in (50, 51)]
    assert len(case_of(seen).people.persons) == 2


def test_the_size_of_the_job_is_that_of_its_ranks() -> None:
    assert case_of([group("g", 3, 1)]).people.size == 4


def recorded(name: str, who: Who, at: float) -> Track:
    latest = Call(who, Place(name), "g", 3, Signature("barrier"), "done", entered=at)
    return Track(who, Place(name), "g", 3, completed=3, latest=(latest,))


def test_where_folders_do_not_tell_runs_apart_the_latest_recording_of_each_counts() -> None:
    facts = [recorded("a/1", Who(0), 1.0), recorded("a/2", Who(0), 2.0), recorded("b/1", Who(1), 3.0)]
    case = case_of(facts)
    assert [fact.place.file for fact in case.facts if isinstance(fact, Track)] == ["a/2", "b/1"]


def test_recordings_of_processes_without_a_rank_are_all_judged() -> None:
    facts = [recorded(f"{pid}/1", Who(host="node0", pid=pid), 1.0) for pid in (50, 51)]
    assert len(case_of(facts).facts) == 2


@pytest.mark.parametrize(("fronts", "name"), [((4, 5), "stuck"), ((3, 5), "undecided")])
def test_calls_of_no_named_group_that_are_far_apart_are_of_several(fronts: tuple[int, int], name: str) -> None:
    told = verdict(*(call(rank, "default", seq) for rank, seq in enumerate(fronts)), telling=2)
    assert told.name == name


def test_ended_calls_of_no_named_group_hold_nobody_up() -> None:
    assert verdict(*(call(rank, "default", 3, state="done") for rank in range(2)), telling=2).name == "none"


def test_whose_process_does_not_go_on_waits_for_nobody() -> None:
    def told(*more: Fact) -> Verdict:
        each = [Waiting(Who(rank), Place(f"{rank}.log", 8), (Who(1 - rank),)) for rank in (0, 1)]
        return verdict(*each, *more, telling=2)

    assert told().name == "cycle"
    halted = told(says(1, Level.INITIATING, "stuck", (Subject("rank", Who(1)),)))
    assert (halted.name, halted.culprits, halted.waiting) == ("missing", {1}, {0})


def test_a_watcher_of_a_group_that_nothing_else_tells_of_is_heard() -> None:
    absent = Absent(Place("0.log", 5), (Who(1),), group="nowhere", op="barrier")
    told = verdict(absent, telling=2)
    assert (told.name, told.culprits, told.waiting) == ("missing", {1}, {0})


@pytest.mark.parametrize("pending", [True, False])
def test_calls_that_differed_and_ended_are_at_fault_whether_anybody_waits_or_not(pending: bool) -> None:
    def track(rank: int, op: str) -> Track:
        who, place = Who(rank), Place(f"{rank}.rings")
        under_way = (Call(who, place, "g", 5, Signature("barrier"), "pending"),) if pending else ()
        history = ((3, Signature(op)), (4, Signature("barrier")), (5, Signature("barrier")))
        return Track(who, place, "g", 5, None, 4 if pending else 5, under_way, history=history, exact=True)

    told = verdict(group("g", 0, 1, 2), track(0, "barrier"), track(1, "barrier"), track(2, "allgather"), telling=3)
    assert (told.name, told.culprits, told.at and told.at.seq) == ("mismatch", {2}, 3)
    assert ("ended all the same" in told.explanation) is not pending


def test_what_ended_though_it_differed_excuses_nobody_who_is_missing() -> None:
    def track(rank: int, count: int, last: int) -> Track:
        who, place = Who(rank), Place(f"{rank}.rings")
        under_way = (Call(who, place, "g", 5, Signature("barrier"), "pending"),) if last == 5 else ()
        history = ((3, Signature("broadcast", count)), *((seq, Signature("barrier")) for seq in range(4, last + 1)))
        return Track(who, place, "g", last, None, 4, under_way, history=history)

    told = verdict(group("g", 0, 1, 2), track(0, 8, 5), track(1, 8, 4), track(2, 9, 5), telling=3)
    assert (told.name, told.culprits) == ("missing", {1})


def test_of_calls_in_which_one_is_missed_the_first_is_the_one_that_another_must_leave_to_come_to_the_others() -> None:
    """Whatever the clocks say: rank 1 comes to the call of h after that of g."""
    told = verdict(
        group("g", 1, 2), group("h", 0, 1, 2),
        call(1, "g", 4, at=9.0), call(0, "h", 4, at=5.0), call(2, "g", 3, state="done", at=1.0), telling=3,
    )  # fmt: skip
    assert (told.name, told.culprits, told.at) == ("missing", {2}, At("g", 4, "allreduce"))


@pytest.mark.parametrize(("level", "waiting"), [(Level.TIMEOUT, {0}), (Level.CASCADE, {0}), (Level.TEARDOWN, set())])
def test_who_complains_of_what_others_did_has_waited(level: Level, waiting: set[int]) -> None:
    told = verdict(says(2, level))
    assert (told.name, told.culprits, told.waiting) == ("undecided", frozenset(), waiting)


def test_who_is_missed_elsewhere_is_not_said_to_be_missing_in_a_group_it_is_not_of() -> None:
    told = verdict(
        group("g", 0, 1), group("h", 2, 3), call(0, "g", 4, at=1.0), call(1, "g", 3, state="done", at=0.5),
        call(2, "h", 7, at=2.0), call(3, "h", 6, state="done", at=0.5), telling=4,
    )  # fmt: skip
    assert (told.name, told.culprits, told.at) == ("missing", {1, 3}, At("g", 4, "allreduce"))
    assert told.explanation.startswith("rank 1 never entered allreduce #4 of g; ")
    assert told.explanation.endswith("; rank 3 holds up ranks elsewhere")
