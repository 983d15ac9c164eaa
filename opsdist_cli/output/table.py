"""The table of `perf`, in nccl-tests' columns and order, with ours after them. Pure: records in, lines out.

Works on the record's own objects (contract.md, "Records"), so what is printed is what is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from opsdist_cli.units import bits_per_second, bytes_binary
from suites.launch.lists.nodeset import fold
from suites.report import implausible
from suites.sweep import MOST_PROVEN

Record = Mapping[str, Any]

_SIDES = (("out_of_place", "out-of-place"), ("in_place", "in-place"))
_VENDOR_WORDS = {
    "allreduce": "AllReduce", "allgather": "AllGather", "reduce_scatter": "ReduceScatter", "alltoall": "AllToAll",
    "alltoallv": "AllToAllV", "broadcast": "Broadcast", "reduce": "Reduce", "gather": "Gather", "scatter": "Scatter",
    "sendrecv": "SendRecv", "barrier": "Barrier",
}  # fmt: skip
_SIDE_HEAD = f"  {'time':>7}  {'algbw':>6}  {'busbw':>6}  {'#wrong':>6}  {'eff':>6}"
_SIDE_UNIT = f"  {'(us)':>7}  {'(GB/s)':>6}  {'(GB/s)':>6}  {'':>6}  {'(%)':>6}"
_RATIO_HEAD, _RATIO_UNIT = f"  {'ratio':>6}", f"  {'(x)':>6}"
"""After each side, where backends are compared."""


class Table:
    """Lays out rows for one run. `sides` are the keys of the record that are shown."""

    def __init__(self, placement: str, collectives: Sequence[str], backends: Sequence[str]) -> None:
        shown = {"out-of-place": ["out_of_place"], "in-place": ["in_place"]}.get(placement)
        self._sides = [side for side in _SIDES if shown is None or side[0] in shown]
        self._collective = None if len(collectives) > 1 else collectives[0]
        """What the rows so far were about; it is said when it changes."""
        self._backends = len(backends) > 1

    def header(self) -> list[str]:
        names = f"{'size':>12}  {'count':>12}  {'type':>8}  {'redop':>6}  {'root':>6}"
        units = f"{'(B)':>12}  {'(elements)':>12}  {'':>8}  {'':>6}  {'':>6}"
        lines = []
        side, unit = (
            (_SIDE_HEAD + _RATIO_HEAD, _SIDE_UNIT + _RATIO_UNIT) if self._backends else (_SIDE_HEAD, _SIDE_UNIT)
        )
        if len(self._sides) > 1:
            width = len(side)
            titles = "".join(f"{title:>{width // 2 + len(title) // 2}}".ljust(width) for _, title in self._sides)
            lines.append("#" + " " * (len(names) - 1) + titles)
        backend = f"  {'backend':<8}" if self._backends else ""
        head = names + side * len(self._sides) + backend + "  algorithm"
        return [*lines, "#" + head[1:], ("#" + (units + unit * len(self._sides))[1:]).rstrip()]

    def lines(self, row: Record) -> list[str]:
        """The row, under a heading where its collective is another than the last row's."""
        heading = [] if row["collective"] == self._collective else [f"# {row['collective']}"]
        self._collective = row["collective"]
        return [*heading, self.row(row)]

    def row(self, row: Record) -> str:
        redop, root = row["redop"] or "none", -1 if row["root"] is None else row["root"]
        cells = f"{row['size']:>12}  {_text(row['count']):>12}  {row['type']:>8}  {redop:>6}  {root:>6}"
        if row["skipped"] and not any(row[key] for key, _ in self._sides):
            width = len(self._side(None)) * len(self._sides)
            return f"{cells}{'  skipped: ' + row['skipped']:<{width}}{self._name(row)}"
        remarks = self._remarks(row)
        cells += "".join(self._side(row[key]) for key, _ in self._sides) + self._name(row)
        return f"{cells}  # {', '.join(remarks)}" if remarks else cells

    def _remarks(self, row: Record) -> list[str]:
        """What the figures of a row must not be read without."""
        remarks = []
        if row["bytes_moved"] != row["size"]:
            remarks.append(f"{row['bytes_moved']} B moved")
        for key, title in self._sides:
            side, where = row[key], f"{title} " if len(self._sides) > 1 else ""
            if side is None and row["skipped"]:
                remarks.append(f"{where}skipped: {row['skipped']}")
            elif side is not None:
                if side["iterations"] != side["iterations_asked"]:
                    remarks.append(f"{where}{side['iterations']}/{side['iterations_asked']} iterations")
                if implausible(side["efficiency"]):
                    remarks.append(f"{where}not to be believed")
        return remarks

    def _name(self, row: Record) -> str:
        return (f"  {row['backend']:<8}" if self._backends else "") + f"  {row['algorithm']}"

    def _side(self, side: Record | None) -> str:
        ratio = f"  {_rate(side['time_ratio'] if side else None):>6}" if self._backends else ""
        if side is None:
            return f"  {'N/A':>7}  {'-':>6}  {'-':>6}  {'-':>6}  {'-':>6}{ratio}"
        wrong = "N/A" if side["nwrong"] is None else str(side["nwrong"])
        efficiency = "-" if side["efficiency"] is None else f"{side['efficiency'] * 100:.1f}"
        return (
            f"  {_time(side['time']):>7}  {_rate(side['alg_bw']):>6}  {_rate(side['bus_bw']):>6}  {wrong:>6}"
            f"  {efficiency:>6}{ratio}"
        )


def opening(record: Record) -> list[str]:
    """What was chosen and why: the first line, before anything runs."""
    world, config = record["world"], record["config"]
    names = [node["name"] for node in world["nodes"]]
    where = f"host {names[0]}" if len(names) == 1 else f"hosts {fold(names)}"
    return [f"# {world['why']}; backend {','.join(config['backends'])}; {where}"]


def joined(record: Record) -> list[str]:
    """Who takes part, and what moves the data, as it was really loaded: known once the ranks have met."""
    world, lines = record["world"], []
    for number, node in enumerate(world["nodes"]):
        ranks = [rank for rank in world["ranks"] if rank["node"] == number]
        pinned = [str(cpu) for rank in ranks for cpu in rank["cpu"] or ()]
        where = f"pinned to CPUs {','.join(pinned)}" if pinned else "not pinned"
        transport = ranks[0]["transport"]
        by = transport["node"]
        if transport["network"]:
            by += f", {transport['network']} by {_link(node['link'], ranks[0]['addresses'])}"
        first, last = ranks[0]["rank"], ranks[-1]["rank"]
        which = f"ranks {first}-{last}" if first < last else f"rank {first}"
        lines.append(f"# {which} on {node['name']}: {where}; transport {by}; {record['config']['buffers']} buffers")
    return [*lines, *(f"# {backend}: {library}" for backend, library in record["libraries"].items())]


def _link(link: Record | None, addresses: Sequence[str]) -> str:
    """`eth0 10.0.0.1 (25 Gb/s)`."""
    where = ", ".join(addresses)
    if link is None:
        return where
    return f"{link['interface']} {where} ({bits_per_second(link['rate'] * 1e9) if link['rate'] else 'rate unknown'})"


def closing(record: Record) -> list[str]:
    """Out of bounds values, headlines, legend."""
    return [*_wrong(record), *headlines(record), *legend(record)]


def _wrong(record: Record) -> list[str]:
    sides = [row[key] for row in record["results"] for key, _ in _SIDES if row[key]]
    if not sides:
        return []
    if any(side["nwrong"] is None for side in sides):
        return ["# Out of bounds values : unchecked"]
    wrong = sum(side["nwrong"] for side in sides)
    return [f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}"]


def headlines(record: Record) -> list[str]:
    """One line a backend and collective, from the largest size, in the words of the vendors' tools."""
    lines = []
    for backend in record["config"]["backends"]:
        for collective in record["config"]["collectives"]:
            rows = [row for row in record["results"] if (row["backend"], row["collective"]) == (backend, collective)]
            sides = [(row["size"], row[key]) for row in rows for key, _ in _SIDES if row[key]]
            if sides:
                largest = max(size for size, _ in sides)
                at = f" at {_size(largest)}" if largest else ""
                who = f" by {backend}" if len(record["config"]["backends"]) > 1 else ""
                best = [side for size, side in sides if size == largest]
                lines.append(_headline(_VENDOR_WORDS[collective], at + who, best))
    return lines


def _headline(word: str, at: str, sides: Sequence[Record]) -> str:
    """The best of `sides`, all of one size, that can be believed."""
    believed = [side for side in sides if not implausible(side["efficiency"])]
    if not believed:
        return f"{word} Bandwidth: no figure to believe{at} (Efficiency: {_of_ceiling(sides[0])})"
    best = min(believed, key=lambda side: side["time"])
    if best["bus_bw"] is None:
        return f"{word} Time: {_time(best['time'])} us{at}"
    line = f"{word} Bandwidth: {best['bus_bw']:.2f} GB/s busbw{at}"
    return line if best["efficiency"] is None else f"{line} (Efficiency: {_of_ceiling(best)})"


def _of_ceiling(side: Record) -> str:
    """`92.1% of 113.1 GB/s, --peak`."""
    ceiling, rate = side["ceiling"], side["ceiling"]["bus_bw"]
    figure = "the least time" if rate is None else f"{rate:.1f} GB/s" if rate >= 10 else f"{rate:.3g} GB/s"
    return f"{side['efficiency'] * 100:.1f}% of {figure}, {ceiling['source']}"


def legend(record: Record) -> list[str]:
    config = record["config"]
    sides = [row[key] for row in record["results"] for key, _ in _SIDES if row[key]]
    if not sides:
        return []
    sync = {
        "each": "a barrier before every iteration, whose exit skew is in the time",
        "none": "iterations back to back; a sample is a batch's mean, of about 200 us or more where the loop allows",
    }[config["sync"]]
    lines = [
        "# time: median over samples of the longest of all ranks; sizes are powers of 1024, GB/s = 1e9 bytes/s",
        f"# sync {config['sync']}: {sync}; harness overhead {_overhead(record)}",
        f"# cache {config['cache']}: {_cache(config, sides)}",
    ]
    if len(record["world"]["nodes"]) > 1:
        lines.append(f"# {_clocks(sides)}; a rooted collective may look shorter by what a barrier takes")
    ceilings = sorted({side["ceiling"]["source"] for side in sides if side["ceiling"]})
    if ceilings:
        lines.append(f"# eff: time at the ceiling / time, none where latency dominates; ceiling: {'; '.join(ceilings)}")
    lines += [f"# {finding['message']}" for finding in record["findings"] if finding["check"] == "perf.link"]
    if len(config["backends"]) > 1:
        base = config["backends"][0]
        lines.append(f"# ratio: time over that of {base} (x), whose fastest at that size is 1; above 1 is slower")
    return lines


def _clocks(sides: Sequence[Record]) -> str:
    """What the hosts' clocks may err by when it is said who came late."""
    errors = [side["clock_error"] for side in sides if side["clock_error"] is not None]
    return f"clocks of hosts compared to within {_time(max(errors))} us" if errors else "hosts have no clock in common"


def _overhead(record: Record) -> str:
    """The most that was measured, for each backend."""
    most: dict[str, float] = {}
    for row in record["results"]:
        for side in (row[key] for key, _ in _SIDES if row[key]):
            most[row["backend"]] = max(most.get(row["backend"], 0.0), side["harness_overhead"])
    if len(most) == 1:
        return f"{next(iter(most.values())):.2f} us"
    return ", ".join(f"{overhead:.2f} us ({backend})" for backend, overhead in most.items())


def _cache(config: Record, sides: Sequence[Record]) -> str:
    if config["cache"] == "warm":
        return "one set of buffers, used again and again"
    sets = sorted({side["buffer_sets"] for side in sides})
    number = f"{sets[0]}-{sets[-1]} sets" if len(sets) > 1 else f"{sets[0]} set{'s' if sets[0] > 1 else ''}"
    beyond, caches = config["rotation_bytes"], config["cache_bytes"]
    turns = " in turn, over" if sets[-1] > 1 else " of"
    text = f"{number} of buffers{turns} {bytes_binary(beyond)} or more a rank"
    if not caches:
        return f"{text}; the size of the caches is unknown, so they may be warm"
    short = "; less than the caches, for want of memory" if beyond * config["ranks"] < caches else ""
    return f"{text} (last-level caches: {bytes_binary(caches)}{short})"


def best_by_size(record: Record) -> list[str]:
    """With several algorithms or backends: which is best from which size to which, and where the lead changes beyond
    noise."""
    lines = []
    for collective in record["config"]["collectives"]:
        rows = [row for row in record["results"] if row["collective"] == collective]
        several = len(record["config"]["backends"]) > 1
        winners = _winners([(f"{row['backend']} " * several + row["algorithm"], row) for row in rows])
        if not winners or not compared(rows):
            continue
        parts, start = [], winners[0]
        for before, after in zip(winners, [*winners[1:], None], strict=True):
            if after is None or after[1] != start[1]:
                upto = _size(start[0]) if start[0] == before[0] else f"{_size(start[0])}-{_size(before[0])}"
                parts.append(f"{upto} {start[1]}" if before[0] else start[1])
                start = after or start
        lines.append(f"# best {collective}: " + ", ".join(parts))
        changes = [
            f"{a[1]} -> {b[1]} between {_size(a[0])} and {_size(b[0])}" for a, b in pairwise(winners) if a[1] != b[1]
        ]
        if changes:
            lines.append("#   crossover: " + ", ".join(changes))
    return lines


def compared(rows: Sequence[Record]) -> bool:
    """Whether at some size there is a choice: `auto` may well take one algorithm here and another there."""
    sizes = [(row["collective"], row["size"]) for row in rows]
    return len(sizes) > len(set(sizes))


def _winners(rows: Sequence[tuple[str, Record]]) -> list[tuple[int, str]]:
    """(size, name) of the fastest of the named rows, sizes rising. Where intervals overlap, noise must not change the
    lead: it stays."""
    by_size: dict[int, list[tuple[float, str, Record]]] = {}
    for name, row in rows:
        side = row["out_of_place"] or row["in_place"]
        if side:
            by_size.setdefault(row["size"], []).append((side["time"], name, side))
    winners: list[tuple[int, str]] = []
    for size, measured in sorted(by_size.items()):
        _, name, best = min(measured, key=lambda entry: entry[:2])
        level = {other for _, other, side in measured if _bounds(side)[0] <= _bounds(best)[1]}
        winners.append((size, winners[-1][1] if winners and winners[-1][1] in level else name))
    return winners


def _bounds(side: Record) -> tuple[float, float]:
    """The interval of the median, or the median where there are too few samples for one."""
    low, high = side["time_ci95"] or (side["time"], side["time"])
    return low, high


def costs(record: Record) -> list[str]:
    """Steps and wire bytes per rank of every algorithm at the largest size."""
    lines = []
    for row in record["results"]:
        if row["steps"] is not None and row["size"] == max(r["size"] for r in record["results"]):
            host = row["wire_bytes_per_host"]
            leaving = "" if host is None else f", {host} leave a host"
            lines.append(
                f"#   {row['collective']} {row['algorithm']}: {row['steps']} steps, "
                f"{row['wire_bytes_per_rank']} wire bytes per rank{leaving} at {_size(row['size'])}"
            )
    how = "proven before the run" if record["world"]["size"] <= MOST_PROVEN else "by closed form"
    return [f"# at the largest size, {how}:", *lines] if lines else []


def _size(size: int) -> str:
    for factor, unit in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def _text(value: int | None) -> str:
    return "-" if value is None else str(value)


def _time(microseconds: float) -> str:
    """As nccl-tests: seven places, for whatever takes less than ten seconds."""
    digits = 0 if microseconds >= 10_000 else 1 if microseconds >= 100 else 2
    return f"{microseconds:.{digits}f}"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}"
