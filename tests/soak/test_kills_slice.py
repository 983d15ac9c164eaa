"""A slice of the soak that is short enough for every day."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.soak.kills import Hit, one

_DRAW = random.Random(20)
HITS = [Hit.drawn(_DRAW) for _ in range(6)]


@pytest.mark.parametrize("hit", HITS, ids=str)
def test_the_right_one_is_named_and_nothing_is_left(hit: Hit, tmp_path: Path) -> None:
    assert one(hit, tmp_path) in ("hit", "missed")
