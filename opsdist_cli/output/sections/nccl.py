"""The view `nccl` as text: a row a GPU, what is wrong with it below. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import pairs, table, wrapped
from opsdist_cli.output.sections.words import device_remarks

Facts = Mapping[str, Any]

_HEADER = ("device", "name", "PCI", "PCIe", "links", "state")
_LEGEND = "links: the kinds of paths to the other GPUs; NCCL runs on NVIDIA's, RCCL on AMD's; - is not told"


def render(rows: Sequence[Facts] | None) -> list[str]:
    if not rows:
        return pairs([("GPUs", "unknown" if rows is None else "none")])
    lines = table(_HEADER, [_cells(row) for row in rows])
    return [*lines, *device_remarks(rows), *wrapped(_LEGEND, "  ", "  ")]


def _cells(row: Facts) -> tuple[str, ...]:
    links = ", ".join(f"{count} x {kind}" for kind, count in row["links"].items())
    return (row["device"], row["name"] or "-", row["bus"] or "-", _pcie(row["pcie"]), links or "-", row["state"])


def _pcie(device: Facts | None) -> str:
    """`x16 of x16`."""
    now, most = (device or {}).get("width"), (device or {}).get("width_max")
    return "-" if now is None else f"x{now}" if most is None else f"x{now} of x{most}"
