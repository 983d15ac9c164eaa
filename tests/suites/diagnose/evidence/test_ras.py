"""Answers of NCCL RAS, as text and as JSON."""

from __future__ import annotations

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import ras
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Absent, Call, Fact, Trouble, Unread
from tests.suites.diagnose.evidence.feeding import fed, only

HEAD = "#0-0 (feedc0de12345678) MISMATCH\n  Communicator ranks have different AllGather operation counts\n"


def text(body: str) -> list[Fact]:
    return fed(ras.reader(), HEAD + body)


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
    assert (absent.seq, absent.op) == (641, "allgather")


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


def test_ranks_that_no_communicator_has_make_it_worthless() -> None:
    facts = fed(
        ras.reader(),
        "#2-0 (feedc0de12345678) INCOMPLETE\n  Missing communicator data from 255 ranks\n  Rank 1057455228 --\n",
    )
    assert only(facts, Unread)
    assert not only(facts, Absent)


def test_equal_counts_say_nothing() -> None:
    assert not only(fed(ras.reader(), "#0-0 (feedc0de12345678) OK\n"), Absent)


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


def read(told: Any) -> list[Fact]:
    data = json.dumps(told).encode()
    assert ras.recognises(data, "ras.json")
    return list(ras.read(Source("ras.json", lambda: io.BytesIO(data))))


def test_json_tells_what_each_has_launched() -> None:
    calls = only(read(answer()), Call)
    assert [(call.who.group_rank, call.seq, call.signature.op) for call in calls] == [
        (0, 12, "allreduce"),
        (1, 11, "allreduce"),
    ]


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
        st.sampled_from([*HEAD.splitlines(), "  6 ranks have launched up to operation 640", "  Rank 3 --"]), max_size=8
    )
)
def test_lines_in_any_order_never_raise(lines: list[str]) -> None:
    fed(ras.reader(), "\n".join(lines))
