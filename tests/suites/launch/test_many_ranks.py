"""Many more ranks than cores: they start, meet, pass a barrier and end."""

from __future__ import annotations

from tests.leftovers import RunSpace
from tests.perf_process import perf


def test_64_ranks_pass_a_barrier(space: RunSpace) -> None:
    with perf(space, "barrier", "-n", "64", "--loop", "1", "--warmup", "1") as run:
        assert run.code() == 0, run.stderr
    ranks = run.record["world"]["ranks"]
    assert [rank["rank"] for rank in ranks] == list(range(64))
    assert len({rank["pid"] for rank in ranks}) == 64
    assert run.record["results"][0]["out_of_place"]["iterations"] == 1
