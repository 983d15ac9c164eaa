"""What is measured: options, and the rows, cases and rounds they amount to.

A row is a line of the table; a case is what ranks run for it; cases of one round are measured in turns. The plans of
cases that have any are proven before a rank starts.
May import: collectives, case, errors, expect's floors, report's types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import Any, Literal

from collectives.algorithms import ALGORITHMS, algorithm_named
from collectives.backends import LIBRARY, Backend
from collectives.dtypes import DTYPES
from collectives.errors import UsageError as CollectiveUsageError
from collectives.ops import COLLECTIVES
from collectives.schedule import Plan
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
    per_host: int | None = None
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
    record: bool = False
    """What ranks have recorded is wanted, however the run ends."""
    inject: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """The most steps any rank takes, the most bytes any rank sends, and the most that leave any host (None where that
    is not known, or there is one host)."""

    steps: int
    wire_bytes: int
    host_bytes: int | None = None


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


@dataclass(frozen=True, slots=True)
class Sweep:
    """Every row in the order it is shown, the cases that ranks run, and who of them take turns."""

    rows: list[Row] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    rounds: list[tuple[int, ...]] = field(default_factory=list)
    """Indexes of cases, every case in one round: what all backends make of one collective, size, choice of algorithm
    and placement, so that they meet the same state of the machine. With one backend every case is a round."""


def plan(options: Options, backends: Sequence[Backend], counts: Sequence[int]) -> Sweep:
    """What the options amount to with these backends and so many ranks on each host. Raises UsageError."""
    sweep, ranks = Sweep(), sum(counts)
    groups = _groups(counts, options.group_size)
    for collective in options.collectives:
        _refuse(collective, options, backends, ranks)
        sizes = (0,) if collective == "barrier" else options.sizes
        for size in sizes:
            told: set[tuple[str, str]] = set()
            for choice in _choices(collective, options, counts, size):
                rows = [Row(backend.name, collective, *_meant(choice, backend), size) for backend in backends]
                # A library that chooses for itself is measured once, whatever choices the others offer.
                fresh = [row for row in rows if (row.backend, row.algorithm) not in told]
                told |= {(row.backend, row.algorithm) for row in fresh}
                for row in fresh:
                    backend = next(backend for backend in backends if backend.name == row.backend)
                    sweep.rows.append(_row(row, options, backend, ranks, groups, sweep.cases))
                for in_place in _places(options):
                    if members := tuple(row.cases[in_place] for row in fresh if in_place in row.cases):
                        sweep.rounds.append(members)
    return sweep


def _row(
    row: Row, options: Options, backend: Backend, ranks: int, groups: tuple[tuple[int, ...], ...], cases: list[Case]
) -> Row:
    collective = COLLECTIVES[row.collective]
    # Where nothing is folded the operator is of no account, and every backend has the first.
    if reason := backend.lacks(row.collective, options.dtype, options.redop if collective.reduces else "sum"):
        row.skipped = reason
    elif row.algorithm != LIBRARY and not backend.plans:
        row.skipped = f"{backend.name} runs no plans: its library chooses"
    elif backend.plans and row.algorithm not in ALGORITHMS[row.collective]:
        row.skipped = f"{row.collective} has no algorithm {row.algorithm}"
    if row.skipped:
        return row
    item = DTYPES[options.dtype].itemsize
    # A size too small for one element a rank and block is rounded up: a row of nothing is not a result.
    count = collective.elements(row.size, ranks, item)
    for in_place in _places(options):
        if in_place and collective.alias is None:
            continue
        case = Case(
            row.backend, row.collective, row.algorithm, row.size, count, options.dtype, options.redop, options.root,
            in_place, groups,
        )  # fmt: skip
        if case.planned and (reason := algorithm_named(row.collective, row.algorithm).unmet(case.shape(0, ranks))):
            row.skipped = reason
            return row
        row.cases[in_place] = len(cases)
        cases.append(case)
    if not row.cases:
        row.skipped = f"{row.collective} has no in-place form"
    return row


def prove(rows: Sequence[Row], cases: Sequence[Case], counts: Sequence[int]) -> None:
    """Prove the plans that will run, with so many ranks on each host, and tell each row what they cost; what a library
    does is not known. Raises PlanError."""
    for row in rows:
        for index in row.cases.values():
            row.cost = _cost(cases[index], tuple(counts)) if cases[index].planned else None


@cache
def _cost(case: Case, counts: tuple[int, ...]) -> Cost:
    algorithm, item = algorithm_named(case.collective, case.algorithm), DTYPES[case.dtype].itemsize
    ranks = sum(counts)
    if ranks > MOST_PROVEN:
        closed = algorithm.closed(ranks, case.count, len(case.groups[0]))
        return Cost(closed.steps, round(closed.wire * item))
    shapes = [case.shape(rank, ranks) for rank in range(ranks)]
    plans = [algorithm.plan(shape) for shape in shapes]
    outcome = simulate(plans, COLLECTIVES[case.collective], shapes, case.count)
    return Cost(outcome.steps, outcome.wire * item, leaving(plans, counts) * item if len(counts) > 1 else None)


def leaving(plans: Sequence[Plan], counts: Sequence[int]) -> int:
    """Elements that ranks of one host send to others, on the host that sends most. `counts` are the ranks on each."""
    host_of = [host for host, count in enumerate(counts) for _ in range(count)]
    sent = [0] * len(counts)
    for rank, plan in enumerate(plans):
        for step in plan.steps:
            for send in step.sends:
                if host_of[send.peer] != host_of[rank]:
                    sent[host_of[rank]] += sum(span.count for span in send.spans)
    return max(sent)


def _refuse(collective: str, options: Options, backends: Sequence[Backend], ranks: int) -> None:
    row = COLLECTIVES[collective]
    alone = len(options.collectives) == 1
    known = {"auto", "all"} | ({LIBRARY} if not all(backend.plans for backend in backends) else set())
    if not 0 <= options.root < ranks:
        raise UsageError(f"root {options.root} is not a rank of a world of {ranks}")
    if alone and options.placement == "in-place" and row.alias is None:
        raise UsageError(f"{collective} has no in-place form; use --out-of-place")
    if alone:
        for name in options.algorithms:
            if name not in known:
                try:
                    algorithm_named(collective, name)
                except CollectiveUsageError as error:
                    raise UsageError(str(error)) from None
    if options.group_size is not None and (options.group_size < 1 or ranks % options.group_size):
        raise UsageError(f"--group-size {options.group_size} does not divide {ranks} ranks")
    if any(size < SMALLEST_SIZE for size in options.sizes):
        raise UsageError("a size of 0 bytes measures nothing; use perf barrier")


def _choices(collective: str, options: Options, counts: Sequence[int], size: int) -> list[tuple[str, str, bool]]:
    """(algorithm of backends with plans, why, whether it was left open, so that a library may choose its own)."""
    found: dict[str, tuple[str, str, bool]] = {}
    local = counts[0] if len(set(counts)) == 1 else None
    for name in options.algorithms:
        left_open = name in ("auto", "all")
        if name == "auto":
            named = [choose(collective, sum(counts), size, local)]
        elif name == "all":
            named = [(algorithm, "all were asked for") for algorithm in ALGORITHMS[collective]]
        else:
            named = [(name, "asked for")]
        for algorithm, why in named:
            open_before = algorithm in found and found[algorithm][2]
            found[algorithm] = (algorithm, why, left_open or open_before)
    return list(found.values())


def _meant(choice: tuple[str, str, bool], backend: Backend) -> tuple[str, str]:
    """(algorithm, why) of this backend."""
    algorithm, why, left_open = choice
    return (LIBRARY, "the library chooses") if left_open and not backend.plans else (algorithm, why)


def _places(options: Options) -> tuple[bool, ...]:
    return {"out-of-place": (False,), "in-place": (True,), "both": (False, True)}[options.placement]


def _groups(counts: Sequence[int], size: int | None) -> tuple[tuple[int, ...], ...]:
    """The ranks of each host, or as many consecutive ones as asked for."""
    ranks = sum(counts)
    if size:
        return tuple(tuple(range(start, start + size)) for start in range(0, ranks, size))
    ends = list(accumulate(counts))
    return tuple(tuple(range(end - count, end)) for end, count in zip(ends, counts, strict=True))
