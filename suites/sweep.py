"""What is measured: options, and the rows and cases they amount to.

A row is a line of the table; a case is what ranks run for it. Its plans are proven before a rank starts.
May import: collectives, case, errors, expect's floors, report's types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from collectives.algorithms import ALGORITHMS, algorithm_named
from collectives.dtypes import DTYPES
from collectives.errors import UsageError as CollectiveUsageError
from collectives.ops import COLLECTIVES
from collectives.select import choose
from collectives.simulate import simulate
from suites.case import Case
from suites.errors import UsageError
from suites.expect import BusFloor
from suites.report import Measurement

MOST_PROVEN = 64
"""Up to this many ranks the very plans that will run are proven first; beyond, which would take minutes, the tests'
proof has to do, and costs are told by closed forms."""
SMALLEST_SIZE = 1


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for, resolved. Sizes in bytes, times in seconds, rates in bytes/second."""

    collectives: tuple[str, ...]
    sizes: tuple[int, ...]
    loop: int = 20
    loop_asked: bool = False
    warmup: int = 5
    ranks: int | None = None
    backends: tuple[str, ...] = ("auto",)
    algorithms: tuple[str, ...] = ("auto",)
    dtype: str = "float32"
    redop: str = "sum"
    root: int = 0
    placement: Literal["out-of-place", "in-place", "both"] = "out-of-place"
    check: bool = True
    cache: Literal["cold", "warm"] = "cold"
    sync: Literal["each", "none"] = "each"
    bind: Literal["core", "none"] = "core"
    buffers: Literal["registered", "private"] = "registered"
    group_size: int | None = None
    peak: float | None = None
    floors: tuple[BusFloor, ...] = ()
    timeout: float = 60.0
    budget: float | None = None
    inject: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """The most steps any rank takes, and the most bytes any rank sends."""

    steps: int
    wire_bytes: int


@dataclass(slots=True)
class Row:
    """One line of the table: a size by one algorithm of one backend, out of place, in place or both."""

    backend: str
    collective: str
    algorithm: str
    why: str
    size: int
    cases: dict[bool, int] = field(default_factory=dict)
    """in_place -> index among the cases."""
    results: dict[bool, Measurement] = field(default_factory=dict)
    skipped: str | None = None
    cost: Cost | None = None

    @property
    def complete(self) -> bool:
        return self.skipped is not None or len(self.results) == len(self.cases)


def plan(options: Options, backends: tuple[str, ...], ranks: int) -> tuple[list[Row], list[Case]]:
    """Every row in the order it is measured, and the cases that ranks run. Raises UsageError."""
    rows: list[Row] = []
    cases: list[Case] = []
    for collective in options.collectives:
        _refuse(collective, options, ranks)
        sizes = (0,) if collective == "barrier" else options.sizes
        for size in sizes:
            for algorithm, why in _algorithms(collective, options, ranks, size):
                for backend in backends:
                    rows.append(_row(Row(backend, collective, algorithm, why, size), options, ranks, cases))
    return rows, cases


def _row(row: Row, options: Options, ranks: int, cases: list[Case]) -> Row:
    collective = COLLECTIVES[row.collective]
    if row.algorithm not in ALGORITHMS[row.collective]:
        row.skipped = f"{row.collective} has no algorithm {row.algorithm}"
        return row
    item = DTYPES[options.dtype].itemsize
    # A size too small for one element a rank and block is rounded up: a row of nothing is not a result.
    count = collective.elements(row.size, ranks, item)
    for in_place in _places(options):
        if in_place and collective.alias is None:
            continue
        case = Case(
            row.backend, row.collective, row.algorithm, row.size, count, options.dtype, options.redop, options.root,
            in_place, _groups(ranks, options.group_size),
        )  # fmt: skip
        if reason := algorithm_named(row.collective, row.algorithm).unmet(case.shape(0, ranks)):
            row.skipped = reason
            return row
        row.cases[in_place] = len(cases)
        cases.append(case)
    if not row.cases:
        row.skipped = f"{row.collective} has no in-place form"
    return row


def prove(rows: Sequence[Row], cases: Sequence[Case], ranks: int) -> None:
    """Prove the plans that will run, and tell each row what they cost. Raises PlanError."""
    for row in rows:
        for index in row.cases.values():
            row.cost = _cost(cases[index], ranks)


@cache
def _cost(case: Case, ranks: int) -> Cost:
    algorithm, item = algorithm_named(case.collective, case.algorithm), DTYPES[case.dtype].itemsize
    if ranks > MOST_PROVEN:
        closed = algorithm.closed(ranks, case.count, len(case.groups[0]))
        return Cost(closed.steps, round(closed.wire * item))
    shapes = [case.shape(rank, ranks) for rank in range(ranks)]
    outcome = simulate([algorithm.plan(shape) for shape in shapes], COLLECTIVES[case.collective], shapes, case.count)
    return Cost(outcome.steps, outcome.wire * item)


def _refuse(collective: str, options: Options, ranks: int) -> None:
    row = COLLECTIVES[collective]
    alone = len(options.collectives) == 1
    if not 0 <= options.root < ranks:
        raise UsageError(f"root {options.root} is not a rank of a world of {ranks}")
    if alone and options.placement == "in-place" and row.alias is None:
        raise UsageError(f"{collective} has no in-place form; use --out-of-place")
    if alone:
        for name in options.algorithms:
            if name not in ("auto", "all"):
                try:
                    algorithm_named(collective, name)
                except CollectiveUsageError as error:
                    raise UsageError(str(error)) from None
    if options.group_size is not None and (options.group_size < 1 or ranks % options.group_size):
        raise UsageError(f"--group-size {options.group_size} does not divide {ranks} ranks")
    if any(size < SMALLEST_SIZE for size in options.sizes):
        raise UsageError("a size of 0 bytes measures nothing; use perf barrier")


def _algorithms(collective: str, options: Options, ranks: int, size: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name in options.algorithms:
        if name == "auto":
            found.append(choose(collective, ranks, size))
        elif name == "all":
            found += [(algorithm, "all were asked for") for algorithm in ALGORITHMS[collective]]
        else:
            found.append((name, "asked for"))
    return list(dict(found).items())


def _places(options: Options) -> tuple[bool, ...]:
    return {"out-of-place": (False,), "in-place": (True,), "both": (False, True)}[options.placement]


def _groups(ranks: int, size: int | None) -> tuple[tuple[int, ...], ...]:
    """Consecutive ranks; on one host without a size given, all are one group."""
    size = size or ranks
    return tuple(tuple(range(start, start + size)) for start in range(0, ranks, size))
