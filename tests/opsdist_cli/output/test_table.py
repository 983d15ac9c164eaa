"""The table of perf: nccl-tests' columns to the letter, and no figure without what it must be read with."""

from __future__ import annotations

from typing import Any

import pytest

from opsdist_cli.output.table import Table, best_by_size, closing, costs, headlines, joined, legend, opening
from tests.opsdist_cli.records import Record, finding, latency, perf_record, row, side
from tests.schema import validate

HEADER = """\
#       size         count      type   redop    root     time   algbw   busbw  #wrong     eff  algorithm
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (%)"""
"""As contract.md has it."""


def table(placement: str = "out-of-place", collectives: tuple[str, ...] = ("allreduce",), **given: Any) -> Table:
    return Table(placement, collectives, given.get("backends", ("builtin",)))


def line(what: Record, placement: str = "out-of-place") -> str:
    return table(placement).row(what)


def test_the_header_is_the_contract() -> None:
    assert "\n".join(table().header()) == HEADER


def test_two_sides_stand_beside_each_other() -> None:
    title, names, units = table("both").header()
    one, two = names.index("time"), names.rindex("time")
    assert one < title.index("out-of-place") < two < title.index(" in-place")
    side_names = ["time", "algbw", "busbw", "#wrong", "eff"]
    assert names.split()[6:] == [*side_names, *side_names, "algorithm"]
    assert units.count("(us)") == 2
    both = line(row(out_of_place=side(time=1.0), in_place=side(time=2.0)), "both")
    assert [both[one - 3 : one + 4], both[two - 3 : two + 4]] == ["   1.00", "   2.00"]


@pytest.mark.parametrize(
    ("what", "cells"),
    [
        (row(), "  1073741824     268435456   float32     sum      -1    100.0  104.20  104.20       0    92.1  ring"),
        (
            row(8, collective="broadcast", redop=None, root=3,
                out_of_place=latency(time=12.345, alg_bw=0.001, bus_bw=0.001)),
            "           8             2   float32    none       3    12.35    0.00    0.00       0       -  ring",
        ),
        (
            row(0, "linear", collective="barrier", redop=None,
                out_of_place=latency(alg_bw=None, bus_bw=None, time=99_999.4)),
            "           0             0   float32    none      -1    99999       -       -       0       -  linear",
        ),
        (
            row(out_of_place=side(time=1234.56)),
            "  1073741824     268435456   float32     sum      -1   1234.6  104.20  104.20       0    92.1  ring",
        ),
        (
            row(out_of_place=side(nwrong=None)),
            "  1073741824     268435456   float32     sum      -1    100.0  104.20  104.20     N/A    92.1  ring",
        ),
        (
            row(out_of_place=None, in_place=side(), skipped=None),
            "  1073741824     268435456   float32     sum      -1      N/A       -       -       -       -  ring",
        ),
    ],
)  # fmt: skip
def test_rows_stand_under_the_header(what: Record, cells: str) -> None:
    assert line(what) == cells


@pytest.mark.parametrize(
    ("what", "placement", "remark"),
    [
        (row(7, bytes_moved=8, count=1), "out-of-place", "8 B moved"),
        (row(out_of_place=side(iterations=5)), "out-of-place", "5/20 iterations"),
        (row(out_of_place=side(iterations=5), in_place=side()), "both", "out-of-place 5/20 iterations"),
        (row(out_of_place=side(efficiency=1.11)), "out-of-place", "not to be believed"),
        (row(in_place=None) | {"skipped": "no time"}, "both", "in-place skipped: no time"),
        (
            row(7, bytes_moved=8, out_of_place=side(iterations=5, efficiency=1.2)),
            "out-of-place",
            "8 B moved, 5/20 iterations, not to be believed",
        ),
    ],
)
def test_what_a_figure_must_not_be_read_without_stands_behind_it(what: Record, placement: str, remark: str) -> None:
    text = line(what, placement)
    assert text.endswith(f"  ring  # {remark}")
    assert "104.20" in text


def test_a_skipped_row_says_why_and_keeps_its_place() -> None:
    text = line(row(8, "halving_doubling", skipped="needs a power of two"))
    assert "  skipped: needs a power of two  " in text
    assert text.index("halving_doubling") == HEADER.index("algorithm")


def test_a_row_is_headed_by_its_collective_where_that_changes() -> None:
    shown = table(collectives=("allreduce", "reduce"))
    first, second, third = row(), row(8), row(8, collective="reduce")
    assert [shown.lines(what)[0] for what in (first, second, third)] == ["# allreduce", shown.row(second), "# reduce"]
    assert len(table().lines(first)) == 1


def test_several_backends_are_named_in_a_column() -> None:
    several = table(backends=("builtin", "mpi"))
    assert several.header()[0].endswith("eff   ratio  backend   algorithm")
    assert several.row(row(out_of_place=side(time_ratio=1.0))).endswith("  92.1    1.00  builtin   ring")


def test_the_first_line_says_what_was_chosen_and_why() -> None:
    assert opening(perf_record(row())) == ["# 2 ranks, as asked; backend builtin; host host"]


def test_once_the_ranks_have_met_it_is_said_where_they_are_and_what_they_have_loaded() -> None:
    assert joined(perf_record(row(), buffers="private")) == [
        "# ranks 0-1 on host: pinned to CPUs 0,1; transport zmq; private buffers",
        "# builtin: opsdist 0.1.0, portable engine over zmq",
    ]


def two_hosts(rate: float | None, *findings: Record) -> Record:
    """A rank on each of two, by interfaces of so many GB/s."""
    record = perf_record(row(out_of_place=side(clock_error=12.5)), findings=findings)
    world = record["world"]
    link = {"interface": "eth2", "rate": rate}
    world["nodes"] = [{"name": f"node{n}", "ranks": [n - 1], "link": link} for n in (1, 2)]
    for number, rank in enumerate(world["ranks"]):
        rank |= {"node": number, "addresses": [f"10.0.0.{number}"], "transport": {"node": "tcp", "network": "tcp"}}
    validate(record)
    return record


@pytest.mark.parametrize(("rate", "shown"), [(3.125, "25 Gb/s"), (None, "rate unknown")])
def test_of_several_hosts_it_is_said_by_what_they_reach_each_other(rate: float | None, shown: str) -> None:
    assert joined(two_hosts(rate))[1] == (
        f"# rank 1 on node2: pinned to CPUs 1; transport tcp, tcp by eth2 10.0.0.1 ({shown}); registered buffers"
    )


def test_of_several_hosts_it_is_said_how_far_their_clocks_and_their_links_are_known() -> None:
    lines = legend(two_hosts(3.125, finding("perf.link", message="neighbours exchange this")))
    assert "# neighbours exchange this" in lines
    (clocks,) = [line for line in lines if "clock" in line]
    assert clocks.startswith("# clocks of hosts compared to within 12.50 us; a rooted collective")
    unread = two_hosts(3.125)
    unread["results"][0]["out_of_place"]["clock_error"] = None
    assert any(line.startswith("# hosts have no clock in common") for line in legend(unread))
    assert not any("clock" in line for line in legend(perf_record(row())))


def test_the_headline_is_in_the_vendors_words() -> None:
    assert headlines(perf_record(row(8), row())) == [
        "AllReduce Bandwidth: 104.20 GB/s busbw at 1G (Efficiency: 92.1% of 113.1 GB/s, --peak)"
    ]


@pytest.mark.parametrize(
    ("rows", "headline"),
    [
        ([row(out_of_place=latency())], "AllReduce Bandwidth: 104.20 GB/s busbw at 1G"),
        ([row(8, out_of_place=latency(bus_bw=1.5))], "AllReduce Bandwidth: 1.50 GB/s busbw at 8"),
        # The best at the largest size, whoever it is, not the best of all.
        ([row(8), row(out_of_place=latency(bus_bw=2.0)), row(out_of_place=latency(time=9, bus_bw=3.0))],
         "AllReduce Bandwidth: 3.00 GB/s busbw at 1G"),
        ([row(out_of_place=latency(bus_bw=2.0, time=9), in_place=latency(bus_bw=3.0, time=6))],
         "AllReduce Bandwidth: 3.00 GB/s busbw at 1G"),
        # One rank has no bus bandwidth, a barrier no bandwidth at all.
        ([row(8), row(out_of_place=latency(bus_bw=None))], "AllReduce Time: 100.0 us at 1G"),
        ([row(0, collective="barrier", out_of_place=latency(alg_bw=None, bus_bw=None)),
          row(0, "linear", collective="barrier", out_of_place=latency(alg_bw=None, bus_bw=None, time=50.0))],
         "Barrier Time: 50.00 us"),
        # A figure that nobody can believe is no headline, while another is.
        ([row(out_of_place=side(efficiency=1.5, time=1)), row(algorithm="tree")],
         "AllReduce Bandwidth: 104.20 GB/s busbw at 1G (Efficiency: 92.1% of 113.1 GB/s, --peak)"),
        ([row(out_of_place=side(efficiency=1.5))],
         "AllReduce Bandwidth: no figure to believe at 1G (Efficiency: 150.0% of 113.1 GB/s, --peak)"),
    ],
)  # fmt: skip
def test_headlines(rows: list[Record], headline: str) -> None:
    assert headlines(perf_record(*rows)) == [headline]


def test_a_measured_ceiling_reads_without_nested_brackets() -> None:
    ceiling = {"time": 50.0, "bus_bw": 5.8123, "source": "numpy copy by all ranks, a lower bound"}
    (headline,) = headlines(perf_record(row(out_of_place=side(ceiling=ceiling, efficiency=0.5))))
    assert headline.endswith(" (Efficiency: 50.0% of 5.81 GB/s, numpy copy by all ranks, a lower bound)")


def test_each_backend_and_collective_has_its_headline_and_what_was_skipped_has_none() -> None:
    rows = [row(), row(collective="reduce", backend="mpi"), row(collective="gather", skipped="why not")]
    found = headlines(perf_record(*rows, backends=["builtin", "mpi"]))
    assert [headline.split()[0] for headline in found] == ["AllReduce", "Reduce"]


@pytest.mark.parametrize(
    ("sides", "end"),
    [
        ([side(), side()], "0 OK"),
        ([side(nwrong=3), side(nwrong=4)], "7 FAILED"),
        ([side(nwrong=None)], "unchecked"),
    ],
)
def test_out_of_bounds_values(sides: list[Record], end: str) -> None:
    rows = [row(8 << index, out_of_place=one) for index, one in enumerate(sides)]
    assert closing(perf_record(*rows))[0] == f"# Out of bounds values : {end}"


def test_nothing_measured_is_closed_by_nothing() -> None:
    assert closing(perf_record(row(skipped="no"))) == []


def test_there_is_no_average_over_sizes() -> None:
    text = "\n".join([*table().header(), *closing(perf_record(row(8), row()))]).lower()
    assert "avg" not in text
    assert "average" not in text


def test_the_legend_says_what_time_rates_sync_cache_overhead_and_efficiency_mean() -> None:
    text = "\n".join(legend(perf_record(row(8), row(out_of_place=side(harness_overhead=0.5)))))
    for words in (
        "median over samples of the longest of all ranks", "GB/s = 1e9 bytes/s", "sizes are powers of 1024",
        "sync each: a barrier before every iteration", "harness overhead 0.50 us", "cache cold: 1 set of buffers",
        "32 MiB or more a rank", "last-level caches: 32 MiB", "ceiling: --peak", "none where latency dominates",
    ):  # fmt: skip
        assert words in text


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"sync": "none"}, "sync none: iterations back to back; a sample is a batch's mean"),
        ({"cache": "warm"}, "cache warm: one set of buffers, used again and again"),
        ({"rotation_bytes": 1 << 20}, "less than the caches, for want of memory"),
        ({"cache_bytes": 0, "rotation_bytes": 0}, "the size of the caches is unknown, so they may be warm"),
    ],
)
def test_the_legend_follows_the_options(config: dict[str, Any], words: str) -> None:
    assert words in "\n".join(legend(perf_record(row(), **config)))


def test_without_a_ceiling_there_is_no_talk_of_efficiency() -> None:
    assert "eff" not in "\n".join(legend(perf_record(row(out_of_place=latency()))))


def test_the_best_algorithm_by_size_and_where_the_lead_changes() -> None:
    times = {"ring": (9, 9, 9, 1), "tree": (5, 5, 5, 5), "linear": (1, 6, 6, 6)}
    rows = [
        row(size, name, out_of_place=side(time=float(column[index]), time_ci95=None))
        for index, size in enumerate((8, 1024, 4096, 1 << 20))
        for name, column in times.items()
    ]
    rows.append(row(1 << 30, "ring", skipped="no time"))
    assert best_by_size(perf_record(*rows)) == [
        "# best allreduce: 8 linear, 1K-4K tree, 1M ring",
        "#   crossover: linear -> tree between 8 and 1K, tree -> ring between 4K and 1M",
    ]


def test_noise_does_not_change_the_lead() -> None:
    """At 1K tree is ahead by less than the intervals tell; at 4K it is ahead for sure."""
    intervals = {
        (8, "ring"): (4.0, 6.0), (8, "tree"): (8.0, 9.0), (1024, "ring"): (7.0, 9.0), (1024, "tree"): (5.0, 7.5),
        (4096, "ring"): (9.0, 9.5), (4096, "tree"): (5.0, 7.0),
    }  # fmt: skip
    rows = [
        row(size, name, out_of_place=side(time=(low + high) / 2, time_ci95=[low, high]))
        for (size, name), (low, high) in intervals.items()
    ]
    assert best_by_size(perf_record(*rows))[0] == "# best allreduce: 8-1K ring, 4K tree"


def test_what_auto_takes_at_different_sizes_was_not_compared() -> None:
    assert best_by_size(perf_record(row(8, "tree"), row(1024, "ring"))) == []


def test_one_algorithm_is_not_called_the_best() -> None:
    assert best_by_size(perf_record(row(8), row())) == []


def test_the_best_barrier_has_no_size() -> None:
    rows = [
        row(0, name, collective="barrier", out_of_place=latency(time=time, alg_bw=None, bus_bw=None))
        for name, time in (("linear", 2.0), ("dissemination", 1.0))
    ]
    assert best_by_size(perf_record(*rows)) == ["# best barrier: dissemination"]


def test_steps_and_wire_bytes_of_every_algorithm() -> None:
    rows = [
        row(8),
        row(),
        row(algorithm="tree", steps=4, wire_bytes_per_rank=5),
        row(algorithm="x", skipped="no", steps=None),
    ]
    assert costs(perf_record(*rows)) == [
        "# at the largest size, proven before the run:",
        "#   allreduce ring: 2 steps, 1073741824 wire bytes per rank at 1G",
        "#   allreduce tree: 4 steps, 5 wire bytes per rank at 1G",
    ]
