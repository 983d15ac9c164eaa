"""Dumps of PyTorch's flight recorder, of all versions and forms, whole and damaged."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.case import case_of
from suites.diagnose.evidence.flight_recorder import read, recognises
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import NOBODY, Call, Fact, Group, Seen, Signature, Track, Unread, Who
from suites.diagnose.offline import diagnose
from suites.report import now
from tests.made_up import flight_recorder
from tests.made_up.hangs import dumps, job

JOB = job.missing(4, "grid", (1,), "1", 3, 2)


_FIRST = Who(rank=0)


def facts_of(data: bytes, who: Who = _FIRST) -> list[Fact]:
    return list(read(Source("dump", lambda: io.BytesIO(data), who)))


def of_rank(rank: int, **how: Any) -> list[Fact]:
    return facts_of(pickle.dumps(dumps.dump(JOB, rank, **how), 2), Who(rank=rank))


def tracks(facts: Iterable[Fact]) -> dict[str, Track]:
    return {fact.group: fact for fact in facts if isinstance(fact, Track)}


def test_groups_are_known_by_name_and_members_alike_on_all_members() -> None:
    groups = {fact.key: fact for fact in of_rank(0) if isinstance(fact, Group)}
    assert groups["1@0-1"].ranks == (0, 1)
    assert groups["0@0-3"].name == "default_pg"
    assert "1@0-1" in {fact.key for fact in of_rank(1) if isinstance(fact, Group)}


def test_what_is_under_way_is_told_with_number_and_operation() -> None:
    track = tracks(of_rank(0))["1@0-1"]
    assert [(call.seq, call.signature.op, call.state) for call in track.pending] == [(3, "reduce_scatter", "pending")]
    assert track.whole
    assert dict(track.history)[1] == Signature("allreduce", 4096, "float")


def test_a_status_belongs_to_its_group_though_numbers_and_names_differ() -> None:
    track = tracks(of_rank(0))["1@0-1"]
    assert (track.enqueued, track.completed) == (3, 2)
    quiet = tracks(of_rank(0, active_only=True))
    assert quiet["0@0-3"].completed == 2
    assert not quiet["1@0-1"].whole


@pytest.mark.parametrize("version", ["2.0", "2.3", "2.4", "2.7", "2.9", "2.10"])
def test_every_version_tells_the_same_of_what_is_under_way(version: str) -> None:
    assert [call.seq for call in tracks(of_rank(0, version=version))["1@0-1"].pending] == [3]


@pytest.mark.parametrize("back_end", ["nccl", "gloo", "xccl", "hccl"])
def test_every_back_end_names_operations_alike(back_end: str) -> None:
    assert tracks(of_rank(0, back_end=back_end))["1@0-1"].pending[0].signature.op == "reduce_scatter"


@pytest.mark.parametrize("folder", ["/job", "/job/torchtitan", "/job/torch_jobs"])
@pytest.mark.parametrize("file", ["torch/distributed/made_up.py", "torch_npu/made_up.py", "typing_extensions.py"])
def test_the_frame_of_a_call_is_the_innermost_of_the_program(folder: str, file: str) -> None:
    dump = dumps.dump(JOB, 0)
    for entry in dump["entries"]:
        entry["frames"] = [
            {"name": "inner", "filename": f"/lib/{file}", "line": 9},
            {"name": "step", "filename": f"{folder}/train.py", "line": 40},
        ]
    pending = tracks(facts_of(pickle.dumps(dump, 2)))["1@0-1"].pending[0]
    assert pending.frame == f"{folder}/train.py:40 step"


def test_json_is_read_as_pickle_is() -> None:
    import json

    told = flight_recorder.as_json(dumps.dump(JOB, 0))
    found = tracks(facts_of(json.dumps(told).encode()))
    assert found["1@0-1"].pending[0].seq == 3
    assert found["1@0-1"].completed == 2


def test_ranks_of_messages_are_ranks_of_the_group() -> None:
    ring = job.message_circle(4)
    facts = facts_of(pickle.dumps(dumps.dump(ring, 2), 2), Who())
    (call,) = [call for call in tracks(facts)["0@0-3"].pending if call.peer]
    assert (call.signature.op, call.peer, call.peer_sends) == ("recv", Who(group="0@0-3", group_rank=1), False)
    assert call.who.rank == 2, "found by its own end of a message"


def test_without_a_name_the_only_rank_of_all_groups_is_whose_it_is() -> None:
    seen = next(fact for fact in facts_of(pickle.dumps(dumps.dump(JOB, 2), 2), Who()) if isinstance(fact, Seen))
    assert seen.who.rank == 2


def batched(rank: int, ended: int, numbers: int, *, active_only: bool = False) -> dict[str, Any]:
    """Of one of two ranks that send to each other and receive in one batch, time after time. PyTorch records no end of
    the messages of a batch, only of the batch."""
    dump = dumps.dump(JOB, rank)
    first = dump["entries"][0] | {"process_group": ("1", "GROUP_1"), "is_p2p": True, "collective_seq_id": 0}
    first |= {"state": "scheduled", "retired": False, "time_discovered_completed_ns": None}
    dump["entries"] = []
    for number in range(1, numbers + 1):
        for name in (f"nccl:send {rank}->{1 - rank}", f"nccl:recv {rank}<-{1 - rank}", "nccl:coalesced"):
            entry = first | {"profiling_name": name, "p2p_seq_id": number, "time_created_ns": number * 1_000_000}
            if name == "nccl:coalesced" and number <= ended:
                entry |= {"state": "completed", "retired": True}
            if not (active_only and entry["state"] == "completed"):
                dump["entries"].append(entry)
    return dump


@pytest.mark.parametrize("active_only", [False, True])
def test_messages_of_a_batch_end_with_it(active_only: bool) -> None:
    track = tracks(facts_of(pickle.dumps(batched(0, 3, 4, active_only=active_only), 2)))["1@0-1"]
    assert [(call.signature.op, call.batch) for call in track.pending] == [("send", 4), ("recv", 4)]


def test_messages_of_a_batch_that_a_device_is_at_are_so_too(tmp_path: Path) -> None:
    """Its other end is there, and the device of that is not at it, though it has been at those before."""
    for rank in (0, 1):
        dump = batched(rank, 3, 4)
        dump["entries"][2]["time_discovered_started_ns"] = 1_000_000
        dump["entries"][-1]["state"] = "scheduled" if rank else "started"
        data = pickle.dumps(dump, 2)
        assert [call.running for call in tracks(facts_of(data))["1@0-1"].pending] == [rank == 0] * 2
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(data)
    told = diagnose([str(tmp_path)], ["opsdist"], now()).record()["verdict"]
    assert (told["class"], [one["rank"] for one in told["culprits"]]) == ("stuck", [1])


@pytest.mark.parametrize(("first", "over", "told"), [(0, False, True), (7, True, True), (7, False, False)])
def test_starts_are_told_where_no_call_that_is_under_way_was_overwritten(first: int, over: bool, told: bool) -> None:
    dump = dumps.dump(JOB, 0)
    entry = dump["entries"][0] | {"time_discovered_completed_ns": None, "retired": False, "state": "started"}
    done = entry | {"state": "completed", "retired": True}
    dump["entries"] = [
        one | {"record_id": first + number, "collective_seq_id": 1 + number}
        for number, one in enumerate((done if over else entry, entry))
    ]
    assert {track.starts for track in tracks(facts_of(pickle.dumps(dump, 2))).values()} == {told}


def singly(collectives: int, completed: int) -> dict[str, Any]:
    """Messages one by one, each a batch of its own; of those that ended a dump of what is under way lacks the batch."""
    dump = batched(0, 4, 4, active_only=True)
    dump["entries"] = [entry for entry in dump["entries"] if entry["profiling_name"] == "nccl:recv 0<-1"]
    for entry in dump["entries"]:
        entry["collective_seq_id"] = collectives
    group = dump["entries"][0]["pg_id"]
    dump["pg_status"][str(group)] = dict.fromkeys(("last_enqueued_collective", "last_started_collective"), 4)
    dump["pg_status"][str(group)]["last_completed_collective"] = completed
    return dump


@pytest.mark.parametrize(("collectives", "completed", "left"), [(0, 3, 1), (2, 3, 1), (0, 0, 4), (3, 3, 4)])
def test_what_a_status_says_of_messages_counts_where_it_cannot_be_of_collectives(
    collectives: int, completed: int, left: int
) -> None:
    track = tracks(facts_of(pickle.dumps(singly(collectives, completed), 2)))["1@0-1"]
    assert len(track.pending) == left


def test_messages_that_are_no_batches_may_end_in_another_order() -> None:
    """The third has ended, and was left out."""
    dump = singly(0, 3)
    dump["entries"] = [entry for entry in dump["entries"] if entry["p2p_seq_id"] != 3]
    assert len(tracks(facts_of(pickle.dumps(dump, 2)))["1@0-1"].pending) == 3


def test_where_what_is_over_is_kept_a_message_has_a_state_of_its_own() -> None:
    """The third has ended before the first two, on a stream of its own."""
    dump = singly(0, 3)
    dump["entries"][2] |= {"state": "completed", "retired": True}
    assert len(tracks(facts_of(pickle.dumps(dump, 2)))["1@0-1"].pending) == 3


@pytest.mark.parametrize(("calls", "told"), [(64, True), (65, False)])
def test_messages_are_counted_where_all_that_are_under_way_are_told(calls: int, told: bool) -> None:
    """One that is left out would seem to be over."""
    dump = dumps.dump(JOB, 0) | {"pg_status": {}}
    first = dump["entries"][0] | {"process_group": ("1", "GROUP_1"), "is_p2p": True, "profiling_name": "nccl:send 0->1"}
    first |= {"state": "scheduled", "retired": False, "time_discovered_completed_ns": None}
    dump["entries"] = [first | {"record_id": number, "p2p_seq_id": number + 1} for number in range(calls)]
    track = tracks(facts_of(pickle.dumps(dump, 2)))["1@0-1"]
    assert (len(track.pending), track.messages) == (64, {(1, True): 64} if told else None)


@pytest.mark.parametrize("active_only", [False, True])
def test_who_is_a_batch_behind_is_missing(tmp_path: Path, active_only: bool) -> None:
    """Both send first; in one batch that holds up nobody."""
    for rank, numbers in ((0, 5), (1, 4)):
        dump = batched(rank, 4, numbers, active_only=active_only)
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump, 2))
    told = diagnose([str(tmp_path)], ["opsdist"], now()).record()["verdict"]
    assert (told["class"], [one["rank"] for one in told["culprits"]]) == ("missing", [1])


def test_messages_of_one_batch_make_no_circle(tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(batched(rank, 4, 5), 2))
    told = diagnose([str(tmp_path)], ["opsdist"], now()).record()["verdict"]
    assert (told["class"], told["culprits"]) == ("joined", [])
    assert [one["rank"] for one in told["suspects"]] == [0, 1]


def of_file(name: str, who: Who = NOBODY) -> list[Fact]:
    """World only: what is in it does not tell whose it is."""
    made = job.missing(4, "world", (1,), "0", 3, 2)
    data = pickle.dumps(dumps.dump(made, 3), 2)
    return list(read(Source(name, lambda: io.BytesIO(data), who)))


@pytest.mark.parametrize("name", ["3.pkl", "job/r3.pickle", "all.tar!fr/0003", "worker_3.json.gz", "trace-3"])
def test_the_number_that_a_name_ends_in_is_the_rank(name: str) -> None:
    assert [fact.who for fact in of_file(name) if isinstance(fact, Seen)] == [Who(rank=3)]


def test_a_name_that_looks_like_host_and_process_tells_no_host() -> None:
    read_as_log = Who(host="trace", pid=3)
    assert [fact.who for fact in of_file("nccl_trace_3", read_as_log) if isinstance(fact, Seen)] == [Who(rank=3)]


@pytest.mark.parametrize("name", ["t1007.bin", "dump", "2026.12.02"])
def test_a_dump_of_nobody_known_is_told_to_be_unread(name: str) -> None:
    (fact,) = of_file(name)
    assert isinstance(fact, Unread)
    assert "whose dump it is" in fact.why


def test_a_status_beside_messages_tells_nothing_of_collectives() -> None:
    facts = facts_of(pickle.dumps(dumps.dump(job.message_circle(2), 0), 2))
    assert tracks(facts)["0@0-1"].completed is None


class Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("/tmp/opsdist-was-run",)


def test_nothing_in_a_pickle_is_run() -> None:
    hostile = pickle.dumps({"version": "2.9", "pg_config": Harm(), "entries": []}, 2)
    assert recognises(hostile, "x")
    (fact,) = facts_of(hostile)
    assert isinstance(fact, Unread)
    assert "mkdir" in fact.why
    assert not os.path.exists("/tmp/opsdist-was-run")


def test_what_is_cut_anywhere_is_told_to_be_so() -> None:
    whole = pickle.dumps(dumps.dump(JOB, 0), 2)
    for length in range(0, len(whole) - 1, 97):
        (fact,) = facts_of(whole[:length])
        assert isinstance(fact, Unread)


def test_an_empty_recorder_is_told_to_have_been_off() -> None:
    (fact,) = facts_of(pickle.dumps({"version": "2.9", "entries": []}, 2))
    assert isinstance(fact, Unread)
    assert "off" in fact.why


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["pg_config", "pg_status", "entries", "version"]), VALUES)
def test_whatever_stands_at_the_top_it_never_raises(key: str, value: Any) -> None:
    facts_of(pickle.dumps({**dumps.dump(JOB, 0), key: value}, 2))


@given(st.sampled_from([*sorted(dumps.dump(JOB, 0)["entries"][0]), "frames"]), VALUES)
def test_whatever_stands_in_an_entry_it_never_raises(key: str, value: Any) -> None:
    told = dumps.dump(JOB, 0)
    told["entries"][0] = {**told["entries"][0], key: value}
    facts = facts_of(pickle.dumps(told, 2))
    assert any(isinstance(fact, Track | Call) for fact in facts)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_told_not_to_be(data: bytes) -> None:
    assert facts_of(b"\x80\x02" + data)


def gloo_dump(group: str = "0", **shapes: tuple[list[list[int]], list[list[int]]]) -> bytes:
    """Calls of a group that ended, each with the sizes of what went in and came out; nothing lists the members."""
    entries = [
        {
            "record_id": number, "process_group": (group, "undefined"), "collective_seq_id": number,
            "profiling_name": f"gloo:{op}", "input_sizes": inputs, "output_sizes": outputs, "state": "scheduled",
            "input_dtypes": ["Float"] * len(inputs), "retired": True, "is_p2p": False,
        }
        for number, (op, (inputs, outputs)) in enumerate(shapes.items(), 1)
    ]  # fmt: skip
    return pickle.dumps({"version": "2.10", "entries": entries, "pg_status": {}}, 2)


@pytest.mark.parametrize(
    "shapes",
    [
        {"all_gather": ([[2, 3]], [[4, 2, 3]])},
        {"all_gather": ([[6]], [[6]] * 4), "all_reduce": ([[5]], [[5]])},
        {"reduce_scatter": ([[8]], [[2]]), "barrier": ([], [])},
    ],
)
def test_shapes_tell_how_many_a_group_has_that_nothing_lists(
    shapes: dict[str, tuple[list[list[int]], list[list[int]]]], tmp_path: Path
) -> None:
    assert [fact.heads for fact in facts_of(gloo_dump(**shapes)) if isinstance(fact, Group)] == [4]
    for rank in range(3):
        (tmp_path / f"gloo_trace_rank_{rank}").write_bytes(gloo_dump(**shapes))
    verdict = diagnose([str(tmp_path)], ["opsdist"], now()).record()["verdict"]
    assert [suspect["rank"] for suspect in verdict["suspects"]] == [3]


@pytest.mark.parametrize(
    "shapes",
    [
        {"all_gather": ([[6]], [[6], [5], [7]])},
        {"all_gather": ([[6]], [[13]])},
        {"all_gather": ([[0]], [[0]])},
        {"all_gather": ([[6]], [[12]]), "reduce_scatter": ([[9]], [[3]])},
        {"all_gather": ([["x"]], [[12]]), "broadcast": ([[3]], [[12]])},
    ],
)
def test_shapes_that_do_not_fit_tell_nothing(shapes: dict[str, tuple[list[list[int]], list[list[int]]]]) -> None:
    assert [fact.heads for fact in facts_of(gloo_dump(**shapes)) if isinstance(fact, Group)] == [None]


def test_where_as_many_are_heard_as_a_group_has_all_of_it_are_known() -> None:
    data = gloo_dump("row", all_gather=([[3]], [[2, 3]]))
    heard = [fact for rank in (1, 3) for fact in facts_of(data, Who(rank))]
    people = case_of(heard).people
    assert [people.persons[number].rank for number in people.members("row") or ()] == [1, 3]
    assert case_of(heard[: len(heard) // 2]).people.members("row") is None


@pytest.mark.parametrize("op", ["all_gather", "reduce_scatter"])
def test_shares_that_are_uneven_by_design_differ_from_none(op: str, tmp_path: Path) -> None:
    shares = [[[3]], [[5]]]
    for rank, mine in enumerate(shares):
        whole = [share[0] for share in shares]
        call = (mine, whole) if op == "all_gather" else (whole, mine)
        (tmp_path / f"gloo_trace_rank_{rank}").write_bytes(gloo_dump(**{op: call}))
    assert diagnose([str(tmp_path)], ["opsdist"], now()).record()["verdict"]["class"] == "none"


def test_a_broadcast_of_different_sizes_is_told_though_it_ended(tmp_path: Path) -> None:
    for rank, length in enumerate((8, 8, 9)):
        (tmp_path / f"gloo_trace_rank_{rank}").write_bytes(gloo_dump(broadcast=([[length]], [[length]])))
    verdict = diagnose([str(tmp_path)], ["opsdist"], now()).record()["verdict"]
    assert (verdict["class"], [culprit["rank"] for culprit in verdict["culprits"]]) == ("mismatch", [2])
