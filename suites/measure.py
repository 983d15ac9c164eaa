"""From the stamps of all ranks to a measurement: times, rates, efficiency, who came late, what was wrong.

A sample is the maximum over ranks of (exit - entry); the headline is the median over samples. Rates come from the
median time, never from a mean of rates. Seconds, bytes and bytes/second throughout.
May import: numpy, collectives, case, clocks, stats, report's types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectives.ops import COLLECTIVES
from suites import stats
from suites.case import Case
from suites.clocks import Clock, clocks_of, worst
from suites.report import Ceiling, Measurement, WrongData

CLOCK_ERROR = 1e-6
"""On one host all ranks read the same clock; closer entries than this are not told apart. Between hosts there is what
the clocks were found to err on top of it."""


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
    counts: Sequence[int] = (),
) -> Measurement:
    """From the `case` reports of all ranks. `peak` is a bus bandwidth that replaces the measured ceiling; `counts` are
    the ranks on each host, where there are several."""
    ranks, hosts = len(reports), max(len(counts), 1)
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
    clocks = clocks_of(ordered[0].get("clocks") or ())
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
        late_rank=_late_rank([r["stamps"] for r in ordered], counts, clocks),
        overhead=base.overhead,
        sets=ordered[0]["sets"],
        again=bool(ordered[0].get("again")),
        round=ordered[0].get("round", 0),
        passes=tuple(ordered[0].get("passes", ())),
        clock_error=worst(clocks) / 1e9 if clocks else None,
        neighbour_bw=_neighbour_bw(moved, ordered[0]["ceiling"], hosts),
    )


def _over_ranks(stamps: Sequence[Sequence[Sequence[int]]]) -> list[float]:
    """Per sample the longest of all ranks, in seconds."""
    table = np.asarray(stamps)
    longest: list[float] = ((table[:, :, 1] - table[:, :, 0]).max(axis=0) / 1e9).tolist()
    return longest


def _late_rank(stamps: Sequence[Sequence[Sequence[int]]], counts: Sequence[int], clocks: Sequence[Clock]) -> int | None:
    """The rank that most often entered last, if it did so in more than half of the samples and, before the ranks of
    every host, by more than the two clocks can err. (The rank with the longest duration is the one that came first.)"""
    entries = np.asarray(stamps)[:, :, 0].copy()
    if len(entries) < 2 or (len(counts) > 1 and len(clocks) != len(counts)):
        return None  # of clocks that were not read nothing is known
    host_of = [host for host, count in enumerate(counts or (len(entries),)) for _ in range(count)]
    if clocks:
        for rank, host in enumerate(host_of):
            entries[rank] -= [clocks[host].offset(at) for at in entries[rank].tolist()]
    last = entries.argmax(axis=0)
    often = np.bincount(last, minlength=len(entries))
    rank = int(often.argmax())
    if 2 * often[rank] <= entries.shape[1]:
        return None
    own = host_of[rank]
    for host in range(host_of[-1] + 1):
        others = [other for other, where in enumerate(host_of) if where == host and other != rank]
        if not others:
            continue
        apart = clocks[host].error + clocks[own].error if host != own else 0
        gap = float(np.median((entries[rank] - entries[others].max(axis=0))[last == rank])) / 1e9
        if gap <= CLOCK_ERROR + apart / 1e9:
            return None
    return rank


def _neighbour_bw(moved: float, seconds: Sequence[float], hosts: int) -> float | None:
    """What each host sent to the next one, while it received as much where the collective has both directions."""
    return moved / hosts / min(seconds) if hosts > 1 and moved and seconds else None


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
