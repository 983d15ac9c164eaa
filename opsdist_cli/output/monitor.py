"""Samples of `opsdist monitor` as a table for people, or as a line each for programs. Pure: JSON values in, text out.

May import: from this package.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import clean, table, wrapped
from opsdist_cli.units import bytes_per_second, seconds

_HEADER = ("link", "kind", "receives", "sends", "of link", "packets/s", "errors", "sent again", "drops")
_WORDS = 2
"""Columns of words; the others are numbers, and stand right."""
_MOST_EVENTS = 5


def json_line(record: Mapping[str, Any]) -> str:
    """One line. Rates are finite."""
    return json.dumps(record, allow_nan=False) + "\n"


def render(host: str, interval: float, sample: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> str:
    """Links that carry or carried something, how many others there are, and the latest of the events."""
    title = f"# opsdist monitor on {host}: every {seconds(interval)}, for {sample['seconds']:.1f} s"
    busy = [link for link in sample["links"] if _busy(link)]
    idle = Counter(link["kind"] for link in sample["links"] if not _busy(link))
    text = [*wrapped(title, "", "  "), *_links(busy)]
    if idle:
        text.append("  idle: " + ", ".join(f"{count} {kind}" for kind, count in idle.items()))
    if sample["late"]:
        text += wrapped(f"late: `{sample['late']}` has not answered yet", "  ", "    ")
    for event in events[-_MOST_EVENTS:]:
        text += wrapped(f"{event['time'][11:19]} {event['link']}: {_CHANGES[event['change']]}", "  ", "    ")
    return "\n".join(text)


_CHANGES = {
    "appeared": "it has appeared",
    "vanished": "it has vanished",
    "reset": "its counters began anew",
}


def summary(record: Mapping[str, Any]) -> str:
    """The last line."""
    carried = sum(1 for link in record["links"] if any((link[way]["bytes_per_second"]["max"] or 0) for way in _WAYS))
    warned = sum(1 for finding in record["findings"] if finding["status"] == "warn")
    samples, links = record["samples"], len(record["links"])
    ended = " (ended early)" if record["exit_code"] >= 128 else ""
    return (
        f"monitor: {samples} samples in {record['seconds']:.1f} s; {carried} of {links} links carried something; "
        f"{warned or 'no'} warning{'' if warned == 1 else 's'}{ended}"
    )


_WAYS = ("rx", "tx")


def _busy(link: Mapping[str, Any]) -> bool:
    figures = [link[f"{way}_{what}"] for way in _WAYS for what in ("bytes", "bytes_per_second", "packets_per_second")]
    return link["late"] or any(figures) or any(link[what] for what in ("errors", "retransmits"))


def _links(links: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [_HEADER, *(_cells(link) for link in links)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    aligned = [
        [cell if column < _WORDS else cell.rjust(widths[column]) for column, cell in enumerate(row)] for row in rows
    ]
    return table(aligned[0], aligned[1:])


def _cells(link: Mapping[str, Any]) -> tuple[str, ...]:
    packets = [link[f"{way}_packets_per_second"] for way in _WAYS if link[f"{way}_packets_per_second"] is not None]
    return (
        clean(link["link"]),
        link["kind"],
        *(_rate(link, way) for way in _WAYS),
        "" if link["share"] is None else f"{link['share']:.1%}",
        f"{sum(packets):.0f}" if packets else "",
        *("" if link[what] is None else str(sum(link[what].values())) for what in ("errors", "retransmits", "drops")),
    )


def _rate(link: Mapping[str, Any], way: str) -> str:
    if link["late"]:
        return "late"
    rate = link[f"{way}_bytes_per_second"]
    return "" if rate is None else bytes_per_second(rate)
