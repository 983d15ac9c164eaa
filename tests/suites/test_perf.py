"""The flow of perf before and after its ranks, without any: what is refused, in which order rows are handed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_interface
from typing import Any

import pytest

from collectives.backends import BACKENDS
from suites.errors import UsageError
from suites.launch.reach import Candidate
from suites.perf import PerfRun
from suites.report import Measurement, now
from suites.sweep import Options
from suites.world import HostFacts

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "twin", "tests.twin.twin:BACKEND")


def on_a_host(patch: pytest.MonkeyPatch, mebibytes: int, cache: int = 0) -> None:
    """With so much memory available."""
    patch.setattr("suites.world.look", lambda _: HostFacts("host", (0, 1), 2, mebibytes * MIB, cache * MIB))


def planned(*sizes: int, backends: Sequence[str] = ("builtin", "twin"), **given: Any) -> PerfRun:
    options = Options(("broadcast",), sizes, backends=tuple(backends), **{"ranks": 2, **given})
    return PerfRun(options, ["opsdist"], now())


def measured(run: PerfRun, index: int, seconds: float) -> None:
    """As if the ranks had reported it."""
    case = run.cases[index]
    row = next(row for row in run.rows if index in row.cases.values())
    row.results[case.in_place] = Measurement(
        case, (seconds,), 8, 1e9, 1e9, (), 1, 1, None, None, None, 1e-7, sets=1, again=False
    )


def test_buffers_of_all_backends_must_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each alone takes two buffers of 100 MiB on two ranks, and twice 64 MiB for the processes."""
    on_a_host(monkeypatch, 600)
    for alone in ("builtin", "twin"):
        planned(100 * MIB, backends=[alone], cache="warm")
    with pytest.raises(UsageError, match="MiB are available"):
        planned(100 * MIB, cache="warm")


def test_where_memory_is_short_the_rotations_of_all_backends_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_host(monkeypatch, 800, cache=1000)
    alone, both = planned(8, backends=["builtin"]).beyond, planned(8).beyond
    assert (alone, both) == (100 * MIB, 50 * MIB)


def test_the_default_number_of_ranks_counts_all_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_host(monkeypatch, 600)
    assert planned(100 * MIB, backends=["twin"], cache="warm", ranks=None).world.size == 2
    assert planned(100 * MIB, cache="warm", ranks=None).world.size == 1


def test_a_backend_that_cannot_be_used_is_named_with_reason_and_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWIN_UNAVAILABLE", "not there; install it")
    with pytest.raises(UsageError, match="backend twin cannot be used: not there; install it"):
        planned(8)


@pytest.mark.parametrize(
    ("asked", "backends"), [(("auto",), ("builtin",)), (("auto", "twin", "builtin"), ("builtin", "twin"))]
)
def test_auto_is_the_built_in_one_and_nobody_is_measured_twice(
    asked: tuple[str, ...], backends: tuple[str, ...]
) -> None:
    run = planned(8, backends=asked)
    assert run.backends == backends
    assert [row.backend for row in run.rows] == list(backends)


def test_a_ratio_is_to_the_fastest_of_the_baseline_once_all_are_measured() -> None:
    run = planned(8, algorithms=("all",))
    assert [(row.backend, row.algorithm) for row in run.rows][:3] == [
        ("builtin", "linear"), ("twin", "library"), ("builtin", "tree"),
    ]  # fmt: skip
    for index, seconds in ((0, 4e-6), (1, 3e-6)):
        measured(run, index, seconds)
    assert list(run._complete_rows()) == []
    assert run.unshown() == run.rows[:2]
    measured(run, 2, 2e-6)
    measured(run, 3, 8e-6)
    shown = list(run._complete_rows())
    assert shown == run.rows
    assert [run.row_record(row)["out_of_place"]["time_ratio"] for row in shown] == [2.0, 1.5, 1.0, 4.0]
    (entry,) = run.record(0).record()["comparison"]
    assert (entry["baseline_algorithm"], entry["time_ratio"]) == ("tree", pytest.approx(1.5))
    assert run.unshown() == []


def test_rows_of_one_backend_wait_for_nobody() -> None:
    run = planned(8, algorithms=("all",), backends=["builtin"])
    measured(run, 0, 4e-6)
    (row,) = run._complete_rows()
    assert row is run.rows[0]
    assert run.row_record(row)["out_of_place"]["time_ratio"] is None


@pytest.mark.parametrize(("gigabits", "status", "code"), [(10, "pass", 0), (100, "warn", 1), (None, "info", 0)])
def test_what_neighbours_exchange_is_judged_by_the_links_that_were_chosen(
    gigabits: int | None, status: str, code: int
) -> None:
    """Two measured 0.5 and 1 GB/s. Strictly, a warning is a failure."""
    run = planned(8, 16, backends=["builtin"])
    rate = gigabits and gigabits * 125_000_000
    run.crew.links = {run.world.hosts[0]: Candidate("eth3", ip_interface("10.0.0.1/24"), 1500, rate)}
    for index, reached in enumerate((5e8, 1e9)):
        measured(run, index, 1e-3)
        row = run.rows[index]
        row.results = {place: replace(result, neighbour_bw=reached) for place, result in row.results.items()}
    assert run.judge(strict=True) == code
    (finding,) = [finding for finding in run.findings if finding.check == "perf.link"]
    assert (finding.status, finding.evidence["neighbour_gb_s"]) == (status, 1.0)
    (node,) = run.record(0).record()["world"]["nodes"]
    assert node["link"] == {"interface": "eth3", "rate": rate and rate / 1e9}


def test_before_the_ranks_have_met_nobody_knows_what_they_load() -> None:
    record = planned(8).record(0).record()
    assert record["libraries"] == {}
    assert {rank["transport"]["node"] for rank in record["world"]["ranks"]} == {None}
