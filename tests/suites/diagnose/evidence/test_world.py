"""The size of a job is read from what is printed at its start. May import: suites."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.world import WorldSizes
from suites.diagnose.facts import Place, World
from tests.suites.diagnose.evidence.feeding import fed


@pytest.mark.parametrize(
    "text",
    [
        "  global_world_sizes=[16, 16, 16, 16]",
        "Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/16",
        "All distributed processes registered. Starting with 16 processes",
        "[INFO] [launch.py:164:main] dist_world_size=16",
        "using world size: 16, data-parallel size: 4, context-parallel size: 1",
    ],
)
def test_who_starts_a_job_tells_how_many_ranks_it_has(text: str) -> None:
    assert fed(WorldSizes(), text) == [World(16, Place("job.log", 1, text.strip()))]


@pytest.mark.parametrize(
    "text",
    [
        "  role_world_sizes=[16, 16]",
        "  global_world_sizes=[]",
        "dist_world_size=0",
        "using world size: 9999999",
        "using world size: many",
        "WORLD_SIZE=16",
    ],
)
def test_what_tells_no_size_of_a_job_is_left_alone(text: str) -> None:
    assert fed(WorldSizes(), text) == []
