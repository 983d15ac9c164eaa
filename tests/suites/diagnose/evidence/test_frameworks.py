"""What DeepEP's kernels and its buffer say."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.frameworks import ROWS, DeepEp
from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.facts import Level, Trouble, Waiting
from tests.suites.diagnose.evidence.feeding import fed, only


def test_a_barrier_tells_whose_signal_did_not_come() -> None:
    facts = fed(DeepEp(), "DeepEP timeout check failed: rank = 3, thread = 5, value = 2)")
    (waiting,) = only(facts, Waiting)
    assert (waiting.who.group_rank, [who.group_rank for who in waiting.on]) == (3, [5])
    assert [trouble.level for trouble in only(facts, Trouble)] == [Level.TIMEOUT]
    assert not fed(DeepEp(), "DeepEP timeout check failed: rank = 3, thread = 99999, value = 2)")


@pytest.mark.parametrize(
    "text", ["DeepEP timeout for dispatch receivers, rank 1, tokens remained: 11", "DeepEP error: CPU recv timeout"]
)
def test_who_waits_for_tokens(text: str) -> None:
    (trouble,) = only(fed(KnownTexts(ROWS), text), Trouble)
    assert (trouble.level, trouble.cause) == (Level.TIMEOUT, None)
