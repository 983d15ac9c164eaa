"""Lines that name both a process and its rank say who is who. May import: suites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import identities
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import NOBODY, Identity, Who
from tests.suites.diagnose.evidence.feeding import fed, only


def told(text: str, who: Who = NOBODY) -> list[Who]:
    return [one.who for one in only(fed(identities.Identities(), text, who=who), Identity)]


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("worker up: global_rank=3 local_rank=1 pid=4321", Who(rank=3, local_rank=1, pid=4321)),
        ("pid 4321: env RANK=3 LOCAL_RANK=1 WORLD_SIZE=8", Who(rank=3, local_rank=1, pid=4321)),
        ("[pid: 4321] python train.py --rank 3 --node_rank 1", Who(rank=3, pid=4321)),
        ("{'pid': 4321, 'global_rank': 3}", Who(rank=3, pid=4321)),
        ("Global rank 3 has PID 4321", Who(rank=3, pid=4321)),
    ],
)
def test_a_rank_beside_a_pid_is_its_rank(text: str, who: Who) -> None:
    assert told(text) == [who]


def test_what_a_wrapper_says_of_the_process_counts() -> None:
    ray = Who(pid=4321, address="192.0.2.3")
    assert told("Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/8", ray) == [
        Who(rank=3, pid=4321, address="192.0.2.3")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "global_rank=3 local_rank=1",
        "node_rank=3 pid=4321",
        "NODE_RANK=3 pid=4321",
        "LOCAL_RANK=3 pid=4321",
        "--node-rank 3 --rank-file x pid=4321",
        "rank: 3 pid: 4321",
        "RANK=3 pid=4321 RANK=4 pid=4322",
        "global_rank=0.5 pid=4321",
        "global_rank=3 ppid=4321",
    ],
)
def test_what_may_be_anything_is_no_rank(text: str) -> None:
    assert not told(text)


def test_a_contradiction_says_nothing() -> None:
    assert not told("global_rank=3 pid=4321", Who(rank=4))
    assert not told("global_rank=3 pid=4321", Who(pid=99))


@given(st.text(), st.sampled_from(identities.Identities().wakes), st.text())
def test_no_text_makes_it_raise(before: str, wake: str, after: str) -> None:
    told(f"{before}{wake}{after} pid=1")


@pytest.mark.parametrize("pad", ["RANK=1 ", "pid=", " ", "pid: ", "RANK'", "9"])
def test_a_long_line_is_read_as_any_other(pad: str) -> None:
    assert not list(identities.Identities().feed(Line(pad * (65536 // len(pad)) + "RANK=1 RANK=2", 1, "log")))
