"""`opsdist perf --backend gloo`, as a user runs it: measured and checked, and a lost rank named."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.leftovers import RunSpace
from tests.perf_process import SMALL, perf

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install '.[torch]'")
GLOO = ("--backend", "gloo", "-n", "2")


def test_every_collective_is_measured_and_right(space: RunSpace) -> None:
    with perf(space, "all", "--size", "8,4K", "--both", "--loop", "3", "--cache", "warm", *GLOO) as run:
        assert run.code() == 0, run.stderr
    rows = run.record["results"]
    assert {row["backend"] for row in rows} == {"gloo"}
    assert {row["algorithm"] for row in rows} == {"library"}
    measured = [row[place] for row in rows for place in ("out_of_place", "in_place") if row[place]]
    assert len(measured) > 30
    assert all(figures["nwrong"] == 0 for figures in measured)


@pytest.mark.parametrize("fault", ["kill", "stop"])
def test_a_lost_rank_is_named(space: RunSpace, fault: str) -> None:
    with perf(space, *SMALL, "--timeout", "3s", "--inject", f"{fault}:rank=1", *GLOO) as run:
        assert run.code() == 3, run.stderr
    assert run.culprits() == [1]
    verdict = run.record["verdict"]
    assert verdict["collective"]["group"] == "gloo world"
    places = {place["rank"]: place for place in verdict["positions"]}
    assert places[0]["op"] == verdict["collective"]["op"]
    assert places[0]["seq"] == verdict["collective"]["seq"]
    space.gone(5)


def test_what_gloo_lacks_is_refused_before_a_rank_starts(space: RunSpace) -> None:
    with perf(space, *SMALL, "--dtype", "uint32", *GLOO) as run:
        assert run.code() == 2
    assert "gloo in torch has no allreduce of uint32" in run.stderr
