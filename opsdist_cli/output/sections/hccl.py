"""The view `hccl` as text: a row an NPU, what is wrong with it below. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import pairs, table, wrapped
from opsdist_cli.output.sections.words import device_remarks

Facts = Mapping[str, Any]

_HEADER = ("device", "health", "HCCS", "port", "Gb/s", "net health", "address", "MTU", "FEC", "TLS", "state")
_LEGEND = (
    "HCCS: links up of all, and the lanes of the weakest; port, net health and address: the NPU's own network card; "
    "- is not told"
)


def render(rows: Sequence[Facts] | None) -> list[str]:
    if not rows:
        return pairs([("NPUs", "unknown" if rows is None else "none")])
    lines = table(_HEADER, [_cells(row) for row in rows])
    return [*lines, *device_remarks(rows), *wrapped(_LEGEND, "  ", "  ")]


def _cells(row: Facts) -> tuple[str, ...]:
    return (
        row["device"], _or_dash(row["health"]), _hccs(row), _or_dash(row["port"]),
        _or_dash(row["mbps"] and f"{row['mbps'] / 1000:g}"), _or_dash(row["net_health"]), _or_dash(row["address"]),
        _or_dash(row["mtu"]), _or_dash(row["fec"]), {0: "off", 1: "on"}.get(row["tls"], "-"), row["state"],
    )  # fmt: skip


def _hccs(row: Facts) -> str:
    if row["hccs_links"] is None:
        return "-"
    return f"{row['hccs_up']}/{row['hccs_links']} x{row['hccs_lanes']}"


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)
