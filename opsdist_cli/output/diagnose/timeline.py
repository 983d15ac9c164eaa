"""The last collectives a rank, as a table for people; `chrometrace` has them for Perfetto. Pure. May import: layout."""

from __future__ import annotations

from collections.abc import Sequence

from opsdist_cli.output.diagnose.naming import Record, collective, folded
from opsdist_cli.output.layout import table
from opsdist_cli.units import bytes_binary, seconds

_RANKS = 12
_CALLS = 5
_HEADER = ("rank", "began", "took", "bytes", "state", "collective")


def render(record: Record) -> str:
    """Of those who are named, and of some that wait; times from the first call that is shown."""
    rows = record["timeline"]
    if not rows:
        return "# no timeline: no evidence told of single collectives"
    by_rank: dict[int, list[Record]] = {}
    for row in rows:
        by_rank.setdefault(row["rank"], []).append(row)
    ranks = _of_interest(record, list(by_rank))
    shown = [row for rank in ranks for row in _last(by_rank[rank])]
    first = min((row["start"] for row in shown if row["start"] is not None), default=0.0)
    lines = table(_HEADER, [_cells(row, first) for row in shown])
    left = sorted(set(by_rank) - set(ranks))
    if left:
        lines.append(f"  not shown: {folded(left)}; --timeline FILE.json has all")
    return "\n".join(["last collectives; times by the clock of each rank's host", *lines])


def _of_interest(record: Record, known: Sequence[int]) -> list[int]:
    verdict = record["verdict"]
    named = [one["rank"] for one in (*verdict["culprits"], *verdict["suspects"]) if "rank" in one]
    stands = [stand["rank"] for stand in record["stands"]]
    order = dict.fromkeys((*named, *stands, *verdict["waiting"], *sorted(known)))
    return [rank for rank in order if rank in set(known)][:_RANKS]


def _last(rows: Sequence[Record]) -> list[Record]:
    """In the order of their beginnings; those of which none is told stay where they were."""
    timed = all(row["start"] is not None for row in rows)
    return sorted(rows, key=lambda row: row["start"])[-_CALLS:] if timed else list(rows[-_CALLS:])


def _cells(row: Record, first: float) -> tuple[str, ...]:
    start, end = row["start"], row["end"]
    at = collective(row["op"], row["seq"], row["name"]) + (f", at {row['frame']}" if row["frame"] else "")
    return (
        str(row["rank"]),
        "-" if start is None else f"+{start - first:.3f} s",
        "-" if start is None or end is None else seconds(max(end - start, 0.0)),
        "-" if row["bytes"] is None else bytes_binary(row["bytes"]),
        row["state"],
        at,
    )
