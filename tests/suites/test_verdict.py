"""From faults to a verdict: a pure judgement, so tables of faults and what must be said about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.verdict import Fault, Kind, judge

HERE = "node1"


def ended(rank: int, code: int | None = None, signal: int | None = None, phase: str = "case 0") -> Fault:
    return Fault(rank, "exit", phase, code=code, signal=signal, pid=100 + rank)


def waits(rank: int, *peers: int, error: str = "TransportTimeout") -> Fault:
    return Fault(rank, "failure", "case 0", error=error, message="nothing moved", waiting_for=peers, pid=100 + rank)


def raised(rank: int, error: str = "ValueError", message: str = "bad value") -> Fault:
    return Fault(rank, "failure", "case 0", error=error, message=message, pid=100 + rank)


def silent(rank: int, state: str = "S (sleeping)", phase: str = "case 0") -> Fault:
    return Fault(rank, "silent", phase, state=state, pid=100 + rank)


def mismatch(rank: int, peer: int) -> Fault:
    return Fault(rank, "failure", "case 0", error="MismatchError", message="call 3: differ", peer=peer)


def agent(kind: Kind = "agent", phase: str = "", host: str = HERE, **found: Any) -> Fault:
    return Fault(None, kind, phase, message=f"the agent on {host} ended without a word", pid=7, host=host, **found)


SILENCE = Fault(None, "silence", "", message="nothing happened for 70 s")
STOPPED = "T (stopped)"

CASES: dict[str, tuple[list[Fault], str, list[int], list[int], list[int]]] = {
    "exit 0": ([ended(1, code=0)], "missing", [1], [], []),
    "exit 3": ([ended(1, code=3)], "crashed", [1], [], []),
    "killed": ([ended(1, signal=9)], "crashed", [1], [], []),
    "killed, and others had complained": ([waits(0, 1), ended(1, signal=11)], "crashed", [1], [], [0]),
    "two died: the first was the cause": ([ended(2, signal=9), ended(1, code=1)], "crashed", [2], [], []),
    "raised": ([raised(1)], "crashed", [1], [], []),
    "raised, and others waited": ([waits(0, 1), waits(2, 0), raised(1)], "crashed", [1], [], [0, 2]),
    "died beats raised": ([raised(0), ended(1, signal=9)], "crashed", [1], [], []),
    "never entered": ([waits(0, 1), silent(1)], "missing", [1], [], [0]),
    "never entered, seen along a chain": ([waits(2, 1), waits(0, 2), silent(1)], "missing", [1], [], [0, 2]),
    "two never entered": ([waits(0, 1, 2), silent(1), silent(2)], "missing", [1, 2], [], [0]),
    "silent, but nobody waits for it": ([waits(0, 1), silent(1), silent(2)], "missing", [1], [], [0]),
    "stopped inside": ([waits(0, 1), silent(1, STOPPED)], "stuck", [1], [], [0]),
    "stopped before": ([waits(0, 1), silent(1, STOPPED, "rendezvous")], "missing", [1], [], [0]),
    "stopped beats silent": ([waits(0, 1, 2), silent(1), silent(2, STOPPED)], "stuck", [2], [], [0]),
    "stopped, and not even waited for": ([waits(0, 1), silent(1), silent(2, STOPPED)], "stuck", [2], [], [0]),
    "mismatch: two sides, no culprit": ([mismatch(1, 0)], "mismatch", [], [0, 1], []),
    "mismatch, while others wait": ([waits(2, 0), mismatch(1, 0)], "mismatch", [], [0, 1], [2]),
    "all wait in a ring": ([waits(0, 1), waits(1, 2), waits(2, 0)], "joined", [], [], [0, 1, 2]),
    "waited for, and nothing known of it": ([waits(0, 1)], "undecided", [], [1], [0]),
    "nothing happens at all": ([SILENCE], "undecided", [], [], []),
    "nothing happens, all are silent": ([SILENCE, silent(0), silent(1)], "undecided", [], [0, 1], []),
    "nothing happens, one is stopped": ([SILENCE, silent(0), silent(1, STOPPED)], "stuck", [1], [], []),
    "did not meet": ([waits(0, 1, error="RendezvousError"), silent(1, phase="rendezvous")], "missing", [1], [], [0]),
    "a wrong world": ([raised(0, "RendezvousError", "ranks 0 and 1 are the same process")], "launch", [], [], []),
    "the agent died": ([agent(signal=9)], "crashed", [], [], []),
    "the agent failed, and said at what": ([agent(error="OSError")], "crashed", [], [], []),
    "the agent had no port": ([agent(error="ResourceError")], "resource", [], [], []),
    "a rank had no memory": ([raised(1, "ResourceError")], "resource", [1], [], []),
    "ended from outside": ([agent("outside"), agent(signal=9), waits(0, 1)], "undecided", [], [], [0]),
    "the agent hangs": ([agent()], "stuck", [], [], []),
    "the agent never spoke": ([agent("launch", "start")], "launch", [], [], []),
    "the agent is not heard of any more": ([agent("unreachable")], "transport", [], [], []),
    "the agent is not heard of, and ranks had complained": (
        [waits(0, 1), agent("unreachable")],
        "transport",
        [],
        [],
        [0],
    ),
    "a rank died before the agent": ([ended(1, signal=9), agent(signal=9)], "crashed", [1], [], []),
    "the agent died, and ranks had complained": ([waits(0, 1), agent(signal=9)], "crashed", [], [], [0]),
}
"""(faults in order of arrival, class, culprits, suspects, waiting)."""


def ranks(subjects: list[dict[str, Any]]) -> list[int]:
    return [subject["rank"] for subject in subjects if subject["kind"] == "rank"]


@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_named_and_nobody_else(case: str) -> None:
    faults, wanted, culprits, suspects, waiting = CASES[case]
    verdict = judge(faults, [HERE] * 3)
    assert verdict["class"] == wanted
    assert (ranks(verdict["culprits"]), ranks(verdict["suspects"])) == (culprits, suspects)
    assert verdict["waiting"] == waiting
    assert verdict["explanation"]
    assert verdict["next_checks"]


@pytest.mark.parametrize("case", [case for case in CASES if "agent" in case and not case.startswith("a rank")])
def test_the_host_is_named_when_its_agent_fails(case: str) -> None:
    assert judge(CASES[case][0], [HERE] * 3)["culprits"] == [{"kind": "host", "host": HERE}]


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ([ended(1, code=0)], ["rank 1 (pid 101)", "exit 0", "case 0"]),
        ([ended(1, signal=9)], ["rank 1 (pid 101)", "SIGKILL", "case 0"]),
        ([ended(1, signal=99)], ["signal 99"]),
        ([raised(2)], ["rank 2 (pid 102)", "case 0", "bad value"]),
        ([Fault(1, "failure", "start", error="ZeroDivisionError")], ["rank 1", "start", "ZeroDivisionError"]),
        ([waits(0, 1), silent(1, STOPPED)], ["rank 1 (pid 101)", "case 0", "T (stopped)"]),
        ([agent(signal=9)], ["agent", "SIGKILL", "pid 7"]),
        ([agent(code=1)], ["agent", "exit 1"]),
    ],
)
def test_the_explanation_says_who_where_and_how(faults: list[Fault], words: list[str]) -> None:
    explanation = judge(faults, [HERE] * 3)["explanation"]
    assert [word for word in words if word not in explanation] == []


def test_of_a_stopped_process_that_was_ended_with_its_run_only_who_stopped_it_can_be_looked_for() -> None:
    (check,) = judge([waits(0, 1), silent(1, STOPPED)], [HERE] * 2)["next_checks"]
    assert "who stopped it" in check
    assert "101" not in check


_ranks = st.integers(0, 3)
_faults = st.one_of(
    st.builds(ended, _ranks, code=st.integers(0, 3)),
    st.builds(ended, _ranks, signal=st.sampled_from([9, 11, 15])),
    st.builds(lambda rank, peers: waits(rank, *peers), _ranks, st.lists(_ranks, min_size=1, max_size=3)),
    st.builds(raised, _ranks),
    st.builds(silent, _ranks, st.sampled_from(["S (sleeping)", STOPPED, "R (running)"])),
    st.builds(mismatch, _ranks, _ranks),
    st.just(SILENCE),
    st.just(agent()),
)


@given(st.lists(_faults, min_size=1, max_size=6))
def test_never_blames_a_rank_that_only_waits(faults: list[Fault]) -> None:
    verdict = judge(faults, [HERE] * 4)
    guilty = set(ranks(verdict["culprits"]))
    only_complain = {f.rank for f in faults if f.waiting_for} - {f.rank for f in faults if not f.waiting_for}
    assert not guilty & only_complain
    assert not guilty & set(verdict["waiting"])
    assert not guilty & set(ranks(verdict["suspects"]))
    assert verdict["cascade_count"] <= len(faults)


def test_the_hints_of_a_raised_error_are_among_the_next_checks() -> None:
    fault = Fault(1, "failure", "case 0", error="ValueError", message="bad value", notes=("hint: look there",), pid=101)
    assert "hint: look there" in judge([fault], [HERE] * 2)["next_checks"]


def test_with_several_hosts_each_rank_is_named_with_its_own() -> None:
    verdict = judge([waits(0, 1), ended(1, signal=9)], ["node1", "node2"])
    assert verdict["culprits"] == [{"kind": "rank", "rank": 1, "host": "node2"}]
    assert "on node2) was ended by SIGKILL" in verdict["explanation"]
    assert " on node" not in judge([waits(0, 1), ended(1, signal=9)], ["node1", "node1"])["explanation"]


def test_two_hosts_that_cannot_connect_are_a_link_and_who_waited_for_them_is_a_victim() -> None:
    faults = [waits(3, 1, error="Unreached"), waits(1, 3, error="Unreached"), waits(0, 3, error="PeerLost")]
    found = judge(faults, ["a", "b", "c", "d"])
    assert found["class"] == "transport"
    assert found["culprits"] == [{"kind": "link", "host": "b", "peer": "d"}]
    assert "rank 3 (pid 103 on d) failed" in found["explanation"]
    assert "firewall" in found["next_checks"][0]


def cut(rank: int, *hosts: str) -> Fault:
    return replace(waits(rank, 0), unanswered=hosts)


def test_what_a_host_does_not_acknowledge_is_lost_on_the_way_to_it() -> None:
    found = judge([waits(2, 0), cut(1, "a"), waits(0, 1)], ["a", "b", "c"])
    assert (found["class"], found["culprits"]) == ("transport", [{"kind": "link", "host": "a", "peer": "b"}])
    assert found["waiting"] == [0, 1, 2]
    assert "what b sends to a is not acknowledged" in found["explanation"]
    assert "ip -s link" in found["next_checks"][0]


def test_what_all_cut_paths_have_in_common_is_the_link_of_one_host() -> None:
    hosts = ["a", "b", "c", "d"]
    assert judge([cut(1, "a"), cut(0, "c", "d")], hosts)["culprits"] == [{"kind": "link", "host": "a"}]
    assert judge([cut(1, "a"), cut(0, "b")], hosts)["culprits"] == [{"kind": "link", "host": "a", "peer": "b"}]
    pairs = [(link["host"], link["peer"]) for link in judge([cut(0, "b"), cut(2, "d")], hosts)["culprits"]]
    assert pairs == [("a", "b"), ("c", "d")]
    both = [cut(0, "b"), waits(0, 2, error="Unreached"), waits(2, 0, error="Unreached")]
    assert judge(both, hosts)["culprits"] == [{"kind": "link", "host": "a"}]


def test_a_process_that_is_gone_explains_more_than_what_is_not_acknowledged() -> None:
    assert judge([cut(1, "a"), ended(0, signal=9)], ["a", "b"])["class"] == "crashed"


def test_a_rank_that_was_not_reached_since_it_is_gone_makes_no_link() -> None:
    assert judge([waits(3, 1, error="Unreached"), ended(1, signal=9)], ["a", "b", "c", "d"])["class"] == "crashed"
    assert judge([waits(3, 1, error="Unreached"), silent(1)], ["a", "b", "c", "d"])["class"] == "missing"
    assert judge([waits(3, 1, error="Unreached"), waits(1, 0), waits(0, 3)], ["a", "b", "c", "d"])["class"] == "joined"
