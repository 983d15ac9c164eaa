"""What a command amounts to: rows in order, cases, what is skipped and why, what is refused before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

import suites.sweep
from collectives.algorithms import ALGORITHMS
from collectives.communicator import Communicator
from collectives.dtypes import DTYPES
from collectives.errors import PlanError
from collectives.ops import COLLECTIVES
from collectives.placement import Placement
from collectives.recorder import Recorder
from collectives.rendezvous import Store
from collectives.select import choose
from suites.case import Case
from suites.errors import UsageError
from suites.sweep import MOST_PROVEN, Cost, Options, Row, Sweep, plan, prove

ALL = tuple(COLLECTIVES)


@dataclass(frozen=True)
class Named:
    """A backend, as far as planning asks."""

    name: str
    plans: bool = True
    lacking: tuple[str, str, str] | None = None
    summary: str = "told"

    def unavailable(self) -> str | None:
        raise NotImplementedError

    def claims(self) -> bool:
        raise NotImplementedError

    def caveat(self) -> str | None:
        raise NotImplementedError

    def lacks(self, collective: str, dtype: str, operator: str) -> str | None:
        return "has it not" if self.lacking == (collective, dtype, operator) else None

    def open(
        self,
        placement: Placement,
        store: Store,
        token: str,
        timeout: float,
        address: str | None = None,
        recorder: Recorder | None = None,
    ) -> Communicator:
        raise NotImplementedError


LIB = Named("lib", plans=False)


def swept(
    collectives: str | Sequence[str], sizes: Sequence[int] = (1024,), ranks: int = 4,
    backends: Sequence[str | Named] = ("b",), **given: Any,
) -> Sweep:  # fmt: skip
    names = (collectives,) if isinstance(collectives, str) else tuple(collectives)
    rows = [Named(backend) if isinstance(backend, str) else backend for backend in backends]
    return plan(Options(names, tuple(sizes), **given), rows, [ranks])


def planned(*given: Any, **named: Any) -> tuple[list[Row], list[Case]]:
    sweep = swept(*given, **named)
    return sweep.rows, sweep.cases


def test_rows_go_by_collective_then_size_then_algorithm_then_backend() -> None:
    rows, cases = planned(
        ["allgather", "reduce"], [8192, 1024], backends=["x", "y"], algorithms=("ring", "linear", "tree")
    )
    assert [(row.collective, row.size, row.algorithm, row.backend) for row in rows] == [
        (collective, size, algorithm, backend)
        for collective in ("allgather", "reduce")
        for size in (8192, 1024)
        for algorithm in ("ring", "linear", "tree")
        for backend in ("x", "y")
    ]
    assert [row.skipped for row in rows[:6:2]] == [
        None, "allgather has no algorithm linear", "allgather has no algorithm tree",
    ]  # fmt: skip
    assert [(case.collective, case.algorithm) for case in cases[::2]] == [
        ("allgather", "ring"), ("allgather", "ring"), *[("reduce", "linear"), ("reduce", "tree")] * 2,
    ]  # fmt: skip


def test_a_row_knows_its_cases_by_placement() -> None:
    rows, cases = planned("allreduce", [8, 64], placement="both")
    assert [row.cases for row in rows] == [{False: 0, True: 1}, {False: 2, True: 3}]
    assert [case.in_place for case in cases] == [False, True, False, True]
    assert not any(row.complete for row in rows)


@pytest.mark.parametrize(("placement", "places"), [("both", {False}), ("out-of-place", {False}), ("in-place", set())])
def test_what_has_no_in_place_form_runs_out_of_place_or_is_skipped(placement: str, places: set[bool]) -> None:
    rows, _ = planned(["alltoall", "allreduce"], placement=placement)
    assert set(rows[0].cases) == places
    assert rows[0].skipped == (None if places else "alltoall has no in-place form")
    assert rows[0].complete is not bool(places)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ranks", [1, 3, 8])
@pytest.mark.parametrize("size", [1, 7, 8, 1000, 4096])
def test_a_size_is_rounded_to_whole_elements_and_never_to_nothing(dtype: str, ranks: int, size: int) -> None:
    rows, cases = planned(ALL, [size], ranks, dtype=dtype)
    assert not any(row.skipped for row in rows)
    item = DTYPES[dtype].itemsize
    for case in cases:
        if case.collective == "barrier":
            assert (case.size, case.count, case.bytes_moved(ranks)) == (0, 0, 0)
            continue
        blocks = COLLECTIVES[case.collective].blocks(ranks)
        assert case.size == size
        assert case.count == max(size // (blocks * item), 1)
        moved = case.bytes_moved(ranks)
        assert 0 < moved <= max(size, blocks * item)
        # alltoallv rounds each of its blocks.
        assert moved > size - blocks * item * (2 if case.collective == "alltoallv" else 1)


def test_barrier_is_one_row_however_many_sizes() -> None:
    rows, _ = planned("barrier", [8, 16, 32])
    assert [row.size for row in rows] == [0]


def test_auto_says_why_and_all_is_every_algorithm_once() -> None:
    rows, _ = planned("allreduce", [8, 1 << 30])
    assert [(row.algorithm, row.why) for row in rows] == [choose("allreduce", 4, 8), choose("allreduce", 4, 1 << 30)]
    rows, _ = planned("allreduce", algorithms=("all", "ring", "auto"))
    assert [row.algorithm for row in rows] == list(ALGORITHMS["allreduce"])
    rows, _ = planned("allreduce", algorithms=("ring", "auto"))
    assert [(row.algorithm, row.why == "asked for") for row in rows] == [
        ("ring", True),
        (choose("allreduce", 4, 1024)[0], False),
    ]


@pytest.mark.parametrize(("ranks", "runs"), [(8, True), (6, False)])
def test_an_algorithm_whose_needs_are_not_met_is_skipped_with_the_need(ranks: int, runs: bool) -> None:
    rows, cases = planned("allgather", ranks=ranks, algorithms=("recursive_doubling", "ring"), placement="both")
    assert len(cases) == (4 if runs else 2)
    assert (rows[0].skipped is None) is runs
    assert runs or "power of two" in (rows[0].skipped or "")


@pytest.mark.parametrize(
    ("group_size", "groups"),
    [(None, ((0, 1, 2, 3, 4, 5),)), (2, ((0, 1), (2, 3), (4, 5))), (3, ((0, 1, 2), (3, 4, 5)))],
)
def test_groups_are_consecutive_ranks(group_size: int | None, groups: tuple[tuple[int, ...], ...]) -> None:
    _, (case,) = planned("allreduce", ranks=6, algorithms=("hierarchical",), group_size=group_size)
    assert case.groups == groups


@pytest.mark.parametrize(
    ("what", "given", "message"),
    [
        ("broadcast", {"root": 4}, "root 4 is not a rank of a world of 4"),
        ("allreduce", {"root": -1}, "root -1 is not a rank"),
        ("alltoall", {"placement": "in-place"}, "alltoall has no in-place form; use --out-of-place"),
        ("allreduce", {"algorithms": ("rign",)}, "did you mean 'ring'"),
        ("allreduce", {"algorithms": ("ring", "bruck")}, "bruck"),
        ("allreduce", {"group_size": 3}, "--group-size 3 does not divide 4 ranks"),
        ("allreduce", {"sizes": (8, 0)}, "a size of 0 bytes measures nothing"),
    ],
)
def test_what_contradicts_itself_is_refused(what: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planned(what, **given)


def test_every_case_is_proven_before_it_runs() -> None:
    rows, cases = planned("allreduce", [4096], ranks=4, algorithms=("ring", "two_shot"))
    prove(rows, cases, [4])
    assert [row.cost for row in rows] == [Cost(6, 6144), Cost(1, 6144)]


def test_a_plan_that_is_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = ALGORITHMS["allgather"]["ring"]
    broken = replace(ring, plan=lambda shape: replace(ring.plan(shape), steps=()))
    monkeypatch.setitem(ALGORITHMS["allgather"], "ring", broken)
    rows, cases = planned("allgather", [4444], algorithms=("ring",))
    with pytest.raises(PlanError):
        prove(rows, cases, [4])


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_beyond_what_can_be_proven_in_time_costs_are_those_of_closed_forms(
    monkeypatch: pytest.MonkeyPatch, collective: str
) -> None:
    """Here for a few ranks, where both are known. (alltoallv's rounds its unequal blocks together, not one by one.)"""
    told: list[list[Cost | None]] = []
    for most in (MOST_PROVEN, 3):
        monkeypatch.setattr("suites.sweep.MOST_PROVEN", most)
        suites.sweep._cost.cache_clear()
        rows, cases = planned(collective, [4096], algorithms=("all",))
        prove(rows, cases, [4])
        told.append([row.cost for row in rows])
    suites.sweep._cost.cache_clear()
    for proven, closed in zip(*told, strict=True):
        assert proven is not None
        assert closed is not None
        assert closed.steps == proven.steps
        assert closed.wire_bytes == pytest.approx(proven.wire_bytes, abs=8 if collective == "alltoallv" else 0)


def test_a_case_of_alltoallv_counts_the_fullest_rank() -> None:
    case = Case("b", "alltoallv", "direct", 0, 30, "int64", "sum", 0, False)
    sent = [sum(case.shape(rank, 4).send_counts) for rank in range(4)]
    assert case.bytes_moved(4) == 8 * max(sent) == 8 * 120
    assert replace(case, count=1).bytes_moved(2) == 8


def test_a_library_is_one_row_a_size_whatever_algorithms_are_open_to_others() -> None:
    for algorithms in (("auto",), ("all",), ("all", "auto", "ring"), ("library", "all")):
        rows, _ = planned("allreduce", [8, 64], backends=["b", LIB], algorithms=algorithms)
        ours = [row for row in rows if row.backend == "lib"]
        assert [(row.size, row.algorithm, row.skipped) for row in ours] == [(8, "library", None), (64, "library", None)]
    rows, _ = planned("allreduce", backends=["b", LIB])
    assert [(row.backend, row.why) for row in rows][1] == ("lib", "the library chooses")


def test_an_algorithm_asked_for_that_a_backend_does_not_run_is_a_row_with_the_reason() -> None:
    rows, cases = planned("allreduce", backends=["b", LIB], algorithms=("ring", "library"))
    assert [(row.backend, row.algorithm, row.skipped) for row in rows] == [
        ("b", "ring", None),
        ("lib", "ring", "lib runs no plans: its library chooses"),
        ("b", "library", "allreduce has no algorithm library"),
        ("lib", "library", None),
    ]
    assert [case.backend for case in cases] == ["b", "lib"]


def test_a_word_that_is_no_algorithm_of_anybody_is_refused_whoever_is_asked() -> None:
    with pytest.raises(UsageError, match="did you mean 'ring'"):
        planned("allreduce", backends=["b", LIB], algorithms=("rign",))
    with pytest.raises(UsageError, match="unknown allreduce algorithm 'library'"):
        planned("allreduce", algorithms=("library",))


@pytest.mark.parametrize(
    ("lacking", "skipped"),
    [
        (("allreduce", "float32", "prod"), "has it not"),
        (("allreduce", "float32", "sum"), None),
        # Where nothing is folded, nobody is asked for an operator.
        (("broadcast", "float32", "prod"), None),
        (("broadcast", "float32", "sum"), "has it not"),
    ],
)
def test_what_a_backend_lacks_is_a_row_with_the_reason(lacking: tuple[str, str, str], skipped: str | None) -> None:
    rows, _ = planned(lacking[0], backends=["b", replace(LIB, lacking=lacking)], redop="prod")
    assert [row.skipped for row in rows] == [None, skipped]


def test_what_a_library_does_costs_nobody_knows_what() -> None:
    rows, cases = planned("allreduce", [4096], backends=[LIB, "b"], algorithms=("two_shot", "library"))
    prove(rows, cases, [4])
    assert [(row.backend, row.cost) for row in rows if not row.skipped] == [("b", Cost(1, 6144)), ("lib", None)]


def members(sweep: Sweep) -> list[list[tuple[str, str, int, bool]]]:
    cases = sweep.cases
    return [
        [(c.backend, c.algorithm, c.size, c.in_place) for c in map(cases.__getitem__, indexes)]
        for indexes in sweep.rounds
    ]


def test_all_backends_take_turns_at_one_size_and_placement() -> None:
    two = choose("allreduce", 4, 8)[0]
    assert members(swept("allreduce", [8, 16], backends=["b", LIB, "c"], placement="both")) == [
        [("b", two, size, place), ("lib", "library", size, place), ("c", two, size, place)]
        for size in (8, 16)
        for place in (False, True)
    ]


def test_of_several_algorithms_a_library_takes_turns_with_the_first() -> None:
    found = members(swept("allgather", backends=["b", LIB], algorithms=("all",)))
    assert found[0] == [("b", "ring", 1024, False), ("lib", "library", 1024, False)]
    assert [len(round_) for round_ in found[1:]] == [1] * (len(ALGORITHMS["allgather"]) - 1)


def test_with_one_backend_every_case_is_measured_by_itself_in_the_order_of_rows() -> None:
    sweep = swept("allreduce", [8, 16], algorithms=("ring", "tree"), placement="both")
    assert sweep.rounds == [(index,) for index in range(8)]


def test_who_is_skipped_takes_no_turn() -> None:
    sweep = swept("allreduce", backends=[replace(LIB, lacking=("allreduce", "float32", "sum")), "b"])
    assert sweep.rounds == [(0,)]
    assert sweep.cases[0].backend == "b"


def test_a_case_of_a_library_is_told_by_its_backend() -> None:
    _, (planned_case, by_library) = planned("allreduce", backends=["b", LIB], algorithms=("ring", "library"))
    assert planned_case.describe() == "allreduce ring, 1024 bytes, float32, out of place"
    assert by_library.describe() == "allreduce by lib, 1024 bytes, float32, out of place"


def across(collective: str, counts: Sequence[int], **given: Any) -> Sweep:
    return plan(Options((collective,), (1 << 20,), **given), [Named("b")], counts)


@pytest.mark.parametrize(
    ("counts", "algorithm"),
    [
        ((2, 2), "hierarchical"),
        ((4, 4, 4), "hierarchical"),
        ((1, 1), "two_shot"),
        ((2, 1), "two_shot"),
        ((4,), "two_shot"),
    ],
)
def test_hosts_with_equally_many_ranks_reduce_inside_first(counts: tuple[int, ...], algorithm: str) -> None:
    sweep = across("allreduce", counts)
    assert [row.algorithm for row in sweep.rows] == [algorithm]
    assert [len(group) for group in sweep.cases[0].groups] == list(counts)


def test_a_group_size_that_was_asked_for_is_kept_whatever_the_hosts() -> None:
    sweep = across("allreduce", (2, 2), group_size=4)
    assert sweep.cases[0].groups == ((0, 1, 2, 3),)


@pytest.mark.parametrize(
    ("algorithm", "counts", "factor"),
    [("ring", (2, 2), 1.5), ("hierarchical", (2, 2), 1), ("hierarchical", (2, 2, 2, 2), 1.5), ("ring", (4,), None)],
)
def test_the_bytes_that_leave_a_host_are_told_of_every_plan(
    algorithm: str, counts: tuple[int, ...], factor: float | None
) -> None:
    sweep = across("allreduce", counts, algorithms=(algorithm,))
    prove(sweep.rows, sweep.cases, counts)
    assert sweep.rows[0].cost
    assert sweep.rows[0].cost.host_bytes == (None if factor is None else factor * (1 << 20))
