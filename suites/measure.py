"""From the stamps of all ranks to a measurement: times, rates, efficiency, who came late, what was wrong.

A sample is the maximum over ranks of (exit - entry); the headline is the median over samples. Rates come from the
median time, never from a mean of rates. Seconds, bytes and bytes/second throughout.
May import: numpy, collectives, case, stats, report's types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectives.ops import COLLECTIVES
from suites import stats
from suites.case import Case
from suites.report import Ceiling, Measurement, WrongData

CLOCK_ERROR = 1e-6
"""On one host all ranks read the same clock; closer entries than this are not told apart."""


SKEW = 10
"""Between hosts a barrier lets ranks go at different times, by up to its own latency, and who goes late finds a message
there already. A ceiling that is not this many times as long is lost in it."""


@dataclass(frozen=True, slots=True)
class Floor:
    """What the harness costs and how fast ranks can agree at all, measured in the same run."""

    overhead: float
    latency: float


def floor(ready: Mapping[int, Mapping[str, Any]]) -> Floor:
    """From the `ready` reports of all ranks."""
    overheads = [stats.median(report["overhead"]) / 1e9 for report in ready.values()]
    return Floor(max(overheads), stats.median(_over_ranks([report["latency"] for report in ready.values()])))


def measure(
    case: Case,
    reports: Mapping[int, Mapping[str, Any]],
    base: Floor,
    peak: float | None,
    check: bool,
    hosts: int = 1,
) -> Measurement:
    """From the `case` reports of all ranks. `peak` is a bus bandwidth that replaces the measured ceiling."""
    ranks = len(reports)
    ordered = [reports[rank] for rank in range(ranks)]
    runs = np.asarray(ordered[0]["runs"])
    samples = tuple(float(sample) for sample in np.asarray(_over_ranks([r["stamps"] for r in ordered])) / runs)
    row, size, time = COLLECTIVES[case.collective], case.bytes_moved(ranks), stats.median(samples)
    # A rate of what need not move is no rate: a barrier, or one rank in place.
    moves = any(row.least_traffic(ranks, in_place=case.in_place))
    alg_bw = size / time if size and moves else None
    bus_bw = alg_bw * row.bus_factor(ranks) if alg_bw and ranks > 1 else None
    moved = sum(report["ceiling_bytes"] for report in ordered)
    ceiling = ceiling_of(case, ranks, moved, ordered[0]["ceiling"], ordered[0]["ceiling_source"], peak, hosts)
    # Where the ceiling is below what any agreement of ranks takes, latency dominates and efficiency says nothing.
    least = base.latency * (SKEW if hosts > 1 else 1)
    efficiency = ceiling.time / time if ceiling and ceiling.time >= least else None
    return Measurement(
        case=case,
        samples=samples,
        bytes_moved=size,
        alg_bw=alg_bw,
        bus_bw=bus_bw,
        wrong=_wrong(ordered) if check else None,
        iterations=int(runs.sum()),
        iterations_asked=ordered[0]["asked"],
        ceiling=ceiling,
        efficiency=efficiency,
        # Clocks of several hosts have nothing in common.
        late_rank=_late_rank([r["stamps"] for r in ordered]) if hosts == 1 else None,
        overhead=base.overhead,
        sets=ordered[0]["sets"],
        again=bool(ordered[0].get("again")),
        round=ordered[0].get("round", 0),
        passes=tuple(ordered[0].get("passes", ())),
    )


def _over_ranks(stamps: Sequence[Sequence[Sequence[int]]]) -> list[float]:
    """Per sample the longest of all ranks, in seconds."""
    table = np.asarray(stamps)
    longest: list[float] = ((table[:, :, 1] - table[:, :, 0]).max(axis=0) / 1e9).tolist()
    return longest


def _late_rank(stamps: Sequence[Sequence[Sequence[int]]]) -> int | None:
    """The rank that most often entered last, if it did so in more than half of the samples and by more than the
    clocks can err. (The rank with the longest duration is the one that came first.)"""
    entries = np.asarray(stamps)[:, :, 0]
    if len(entries) < 2:
        return None
    last = entries.argmax(axis=0)
    counts = np.bincount(last, minlength=len(entries))
    rank = int(counts.argmax())
    others = np.delete(entries, rank, axis=0).max(axis=0)
    gap = float(np.median((entries[rank] - others)[last == rank])) / 1e9
    return rank if 2 * counts[rank] > entries.shape[1] and gap > CLOCK_ERROR else None


def ceiling_of(
    case: Case,
    ranks: int,
    moved: float,
    seconds: Sequence[float],
    source: str,
    peak: float | None,
    hosts: int = 1,
) -> Ceiling | None:
    """The ceiling, where all ranks together moved `moved` bytes in the best of `seconds`: read and wrote in memory on
    one host, sent between several. `peak` is a bus bandwidth that replaces the measured one. None where nothing must
    move or nothing was measured."""
    row, size = COLLECTIVES[case.collective], case.bytes_moved(ranks)
    factor = row.bus_factor(ranks) if ranks > 1 else 0.0
    if peak is not None:
        return Ceiling(size * factor / peak, peak, "--peak") if size and factor else None
    if hosts > 1:
        least = row.across(hosts, ranks) * hosts * size
    else:
        least = sum(row.least_traffic(ranks, in_place=case.in_place)) * size
    if not least or not moved or not seconds:
        return None
    time = least / moved * min(seconds)
    return Ceiling(time, size * factor / time if factor else None, source)


def _wrong(ordered: Sequence[Mapping[str, Any]]) -> tuple[WrongData, ...]:
    return tuple(
        WrongData(rank, checked=report["checked"], failed=report["failed"], **report["wrong"])
        for rank, report in enumerate(ordered)
        if report["wrong"]
    )
