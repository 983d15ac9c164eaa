"""Answers of NCCL RAS, as text and as JSON."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import ras, ras_json
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Absent, Fact, Group, Identity, Level, Place, Trouble, Unread, Who
from tests.suites.diagnose.evidence.feeding import fed, only

HEAD = "#0-0 (feedc0de12345678) MISMATCH\n  Communicator ranks have different AllGather operation counts\n"


def text(body: str) -> list[Fact]:
    return fed(ras.RasText(), HEAD + body)


def test_who_has_launched_less_is_missing_though_the_others_are_listed() -> None:
    (absent,) = only(
        text(
            "  6 ranks have launched up to operation 640\n  2 ranks have launched up to operation 641\n"
            "  Rank 3 -- GPU 3 managed by process 4711 on node 192.0.2.4\n"
            "  Rank 5 -- GPU 5 managed by process 4713 on node 192.0.2.4\n"
        ),
        Absent,
    )
    assert {who.group_rank for who in absent.absent} == {0, 1, 2, 4, 6, 7}
    assert {who.group_rank for who in absent.present} == {3, 5}
    assert (absent.seq, absent.op, absent.sure) == (641, "allgather", False)


def test_a_listed_minority_that_is_behind_is_missing() -> None:
    (absent,) = only(
        text(
            "  7 ranks have launched up to operation 6650\n  1 rank has launched up to operation 6649\n"
            "  Rank 0 -- GPU 0 managed by process 4711 on node 192.0.2.4\n"
        ),
        Absent,
    )
    (who,) = absent.absent
    assert (who.group_rank, who.pid, who.host) == (0, 4711, "192.0.2.4")


WHERE = "GPU 3 managed by process 4711 on node 192.0.2.4"
ALONE = [
    (f"Rank 7 has launched up to operation 60 -- {WHERE}", 61),
    (f"Rank 7 has not launched any operations -- {WHERE}", 1),
    ("Rank 7 has launched up to operation 60 -- [process information not found]", 61),
    (f"Rank 7 has launched up to operation 60 -- {WHERE.replace('3', '3 (NVML 5)', 1)}", 61),
]


@pytest.mark.parametrize(("line", "seq"), ALONE)
def test_a_single_rank_that_is_behind_stands_in_the_line_of_its_count(line: str, seq: int) -> None:
    (absent,) = only(text(f"  7 ranks have launched up to operation 64\n  {line}\n"), Absent)
    (who,) = absent.absent
    assert (who.group_rank, absent.seq, len(absent.present)) == (7, seq, 7)
    assert (who.pid, who.device) == ((4711, "gpu3") if "process 4711" in line else (None, None))


def test_ranks_that_have_launched_nothing_are_behind() -> None:
    facts = text(
        "  6 ranks have launched up to operation 64\n  2 ranks have not launched any operations\n"
        f"  Rank 3 -- {WHERE}\n  Rank 4 -- [process information not found]\n"
    )
    (absent,) = only(facts, Absent)
    assert ([who.group_rank for who in absent.absent], absent.seq) == ([3, 4], 1)


def test_each_kind_of_call_is_compared_by_itself() -> None:
    facts = text(
        f"  7 ranks have launched up to operation 10\n  Rank 0 has launched up to operation 9 -- {WHERE}\n\n"
        "  Communicator ranks have different AllReduce operation counts\n"
        f"  7 ranks have launched up to operation 500\n  Rank 4 has launched up to operation 499 -- {WHERE}\n"
    )
    assert [(one.op, one.seq, [who.group_rank for who in one.absent]) for one in only(facts, Absent)] == [
        ("allgather", 10, [0]),
        ("allreduce", 500, [4]),
    ]


LINES = (
    "#0-0 (feedc0de12345678) MISMATCH",
    "  Communicator ranks have different AllGather operation counts",
    "  6 ranks have launched up to operation 640",
    "  2 ranks have launched up to operation 639",
    f"  Rank 3 -- {WHERE}",
    f"  Rank 4 -- {WHERE}",
)


@pytest.mark.parametrize(
    "told",
    [
        "\n".join(f"2026-01-02T03:04:05.678Z stdout F {line}" for line in LINES),
        f"{LINES[0]}\n{LINES[1]}{LINES[2]}\n{LINES[3]}{LINES[4]}{LINES[5]}",
    ],
)
def test_lines_may_stand_behind_labels_and_be_joined(told: str) -> None:
    (absent,) = only(fed(ras.RasText(), told), Absent)
    assert [who.group_rank for who in absent.absent] == [3, 4]


def test_a_rank_that_leaves_is_not_behind() -> None:
    facts = fed(
        ras.RasText(),
        "#0-0 (feedc0de12345678) MISMATCH\n  Communicator ranks have different status\n"
        f"  7 ranks have status RUNNING\n  Rank 7 has status FINALIZE -- {WHERE}\n\n",
    )
    assert not only(facts, Absent)
    assert [fact.who.group_rank for fact in only(facts, Identity)] == [7]


TABLE = (
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n"
    "    0         1         2         4         8         8   RUNNING  INCOMPLETE,MISMATCH\n\n"
)


def incomplete(rank: int) -> str:
    return (
        "#0-0 (feedc0de12345678) INCOMPLETE\n  Missing communicator data from 1 rank\n"
        f"  Rank {rank} -- [process information not found]\n\n"
    )


def test_who_is_not_listed_is_told_only_where_all_have_answered() -> None:
    counts = (
        f"{HEAD}  5 ranks have launched up to operation 64\n  2 ranks have launched up to operation 65\n"
        f"  Rank 6 -- {WHERE}\n  Rank 7 -- {WHERE}\n"
    )
    (group,) = only(fed(ras.RasText(), TABLE + counts), Group)
    assert group.size == 8
    assert not only(fed(ras.RasText(), TABLE + counts), Absent)
    assert [one.sure for one in only(fed(ras.RasText(), incomplete(3) + counts), Absent)] == [True]


def test_ranks_beyond_the_size_in_the_table_are_impossible() -> None:
    assert only(fed(ras.RasText(), TABLE + incomplete(8)), Unread)
    assert not only(fed(ras.RasText(), incomplete(8)), Unread)


def test_dead_processes_stand_above_all_communicators() -> None:
    facts = fed(
        ras.RasText(),
        "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
        "  Process 34 on node 192.0.2.3 managing GPU 5\n\n"
        "#0-0 (feedc0de12345678) INCOMPLETE\n  Missing communicator data from 1 rank\n  The missing rank: 21\n",
    )
    (trouble,) = only(facts, Trouble)
    assert (trouble.cause, trouble.who.pid, trouble.who.device) == ("crashed", 34, "gpu5")
    (absent,) = only(facts, Absent)
    assert absent.absent == (Who(group="comm 0xfeedc0de12345678", group_rank=21),)
    assert (34, 21) in [(fact.who.pid, fact.who.group_rank) for fact in only(facts, Identity)]


def test_processes_that_do_not_answer_are_missing() -> None:
    facts = fed(
        ras.RasText(),
        "INCOMPLETE\n  Missing communicator data from 2 job processes\n"
        "  Process 34 on node 192.0.2.3 managing GPU 5\n  Process 35 on node 192.0.2.3 managing GPUs 6,7 (NVML 0,1)\n",
    )
    (absent,) = only(facts, Absent)
    assert [(who.pid, who.device) for who in absent.absent] == [(34, "gpu5"), (35, None)]


def test_a_watcher_tells_of_a_death_in_words() -> None:
    (trouble,) = only(
        fed(ras.RasText(), "[2026-01-02 03:04:05] PEER_DEAD: Process 15 on node 192.0.2.5 managing GPU 1"), Trouble
    )
    assert (trouble.cause, trouble.who.host, trouble.who.pid) == ("crashed", "192.0.2.5", 15)


@pytest.mark.parametrize(
    "body",
    [
        f"  Asynchronous error on 1 rank\n  Rank 5 reported Unhandled CUDA error -- {WHERE}\n",
        f"  Initialization errors on 2 ranks\n  2 ranks reported Unhandled CUDA error\n  Rank 5 -- {WHERE}\n",
    ],
)
def test_what_a_rank_reports_of_itself(body: str) -> None:
    (trouble,) = only(fed(ras.RasText(), f"#0-0 (feedc0de12345678) ERROR\n{body}"), Trouble)
    assert (trouble.level, trouble.cause, trouble.who.group_rank) == (Level.INITIATING, "crashed", 5)
    (trouble,) = only(
        fed(ras.RasText(), f"#0-0 (feedc0de12345678) ERROR\n{body}".replace("Unhandled CUDA", "Remote process")),
        Trouble,
    )
    assert (trouble.level, trouble.cause) == (Level.CASCADE, None)


def test_ranks_that_no_communicator_has_make_it_worthless() -> None:
    facts = fed(
        ras.RasText(),
        "#2-0 (feedc0de12345678) INCOMPLETE\n  Missing communicator data from 255 ranks\n  Rank 1057455228 --\n",
    )
    assert only(facts, Unread)
    assert not only(facts, Absent)


def test_equal_counts_say_nothing() -> None:
    assert not only(fed(ras.RasText(), "#0-0 (feedc0de12345678) OK\n"), Absent)


def answer(**how: Any) -> dict[str, Any]:
    rank = {
        "host": "node01",
        "pid": 11,
        "cuda_dev": 0,
        "status": {"init_state": "RUNNING", "async_error": "ncclSuccess"},
    }
    return {
        "communicators": [
            {
                "hash": "0xfeed",
                "size": 3,
                "ranks": [
                    {**rank, "rank": 0, "collective_counts": {"AllReduce": 12}},
                    {**rank, "rank": 1, "pid": 12, "collective_counts": {"AllReduce": 11}},
                ],
                "missing_ranks": [],
                **how,
            }
        ]
    }


def read(*told: Any) -> list[Fact]:
    data = "\n".join(json.dumps(one) for one in told).encode()
    assert ras_json.recognises(data, "ras.json")
    return list(ras_json.read(Source("ras.json", lambda: io.BytesIO(data))))


def test_json_tells_who_has_launched_less() -> None:
    (absent,) = only(read(answer()), Absent)
    assert [who.group_rank for who in absent.absent] == [1]
    assert [who.group_rank for who in absent.present] == [0]
    assert (absent.group, absent.seq, absent.op, absent.sure) == ("comm 0xfeed", 12, "allreduce", False)
    assert not only(read(answer(ranks=[])), Absent)


def test_answers_in_a_row_are_looks_of_their_own() -> None:
    looks = only(read(answer(), answer()), Absent)
    assert [look.place for look in looks] == [Place("ras.json", 1), Place("ras.json", 2)]


def test_what_follows_a_whole_answer_and_is_cut_off_is_told() -> None:
    data = (json.dumps(answer()) + json.dumps(answer())[:50]).encode()
    facts = list(ras_json.read(Source("ras.json", lambda: io.BytesIO(data))))
    assert len(only(facts, Absent)) == len(only(facts, Unread)) == 1


def test_who_answers_and_is_no_member_is_not_missing() -> None:
    other = {"rank": 2, "host": "node02", "pid": 21, "cuda_dev": 0}
    here = {**other, "status": {"unresponsive": False, "considered_dead": False}}
    silent = {**other, "status": {"unresponsive": True, "considered_dead": False}}
    assert not [fact for fact in only(read(answer(missing_ranks=[here])), Absent) if fact.sure]
    assert [fact.absent[0].pid for fact in only(read(answer(missing_ranks=[silent])), Absent) if fact.sure] == [21]


@pytest.mark.parametrize(
    ("status", "level"),
    [
        ({"init_state": 0, "async_error": 7}, None),
        ({"init_state": 7, "async_error": 0}, None),
        ({"init_state": 0, "async_error": 6}, Level.CASCADE),
        ({"init_state": 3, "async_error": 0}, Level.CASCADE),
        ({"init_state": 0, "async_error": 1}, Level.INITIATING),
    ],
)
def test_what_is_under_way_is_no_error(status: dict[str, int], level: Level | None) -> None:
    rank = {"rank": 0, "host": "node01", "pid": 11, "cuda_dev": 0, "status": status}
    assert [trouble.level for trouble in only(read(answer(ranks=[rank])), Trouble)] == (
        [] if level is None else [level]
    )


def test_an_unknown_host_is_nobodys() -> None:
    facts = read(answer(ranks=[{"rank": 0, "host": "unknown", "pid": -1, "cuda_dev": 0}]))
    assert [(who.who.host, who.who.pid) for who in only(facts, Identity)] == [(None, None)]


def test_a_watcher_tells_of_a_death() -> None:
    event = {"timestamp": "2026-01-02 03:04:05", "group": "LIFECYCLE", "event": "PEER_DEAD"}
    for told in ({**event, "host": "192.0.2.5", "pid": 15}, {**event, "peer": {"host": "192.0.2.5", "pid": 15}}):
        (trouble,) = only(read(told), Trouble)
        assert (trouble.cause, trouble.who.host, trouble.who.pid) == ("crashed", "192.0.2.5", 15)


def test_a_dead_rank_is_why() -> None:
    dead = {
        "rank": 2,
        "host": "node02",
        "pid": 21,
        "cuda_dev": 0,
        "status": {"unresponsive": True, "considered_dead": True},
    }
    facts = read(answer(missing_ranks=[dead]))
    (trouble,) = only(facts, Trouble)
    assert (trouble.cause, trouble.about[0].who.group_rank) == ("crashed", 2)
    assert only(facts, Absent)


def test_json_with_impossible_ranks_is_worthless() -> None:
    assert only(read(answer(missing_ranks=[{"rank": 99}])), Unread)


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["rank", "status", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.sampled_from(["hash", "size", "ranks", "missing_ranks"]), VALUES)
def test_whatever_stands_in_json_it_never_raises(key: str, value: Any) -> None:
    read(answer(**{key: value}))


@given(
    st.lists(
        st.sampled_from(
            [
                *HEAD.splitlines(),
                *TABLE.splitlines(),
                "DEAD",
                "",
                "  6 ranks have launched up to operation 640",
                "  Rank 3 --",
                *(f"  {line}" for line, _ in ALONE),
                "  1 job process is considered dead",
                "  The missing ranks: 1, 2,",
                "  Missing communicator data from 1 rank",
            ]
        ),
        max_size=8,
    )
)
def test_lines_in_any_order_never_raise(lines: list[str]) -> None:
    fed(ras.RasText(), "\n".join(lines))
