"""What several rules about NPUs need of the facts. May import: readings, rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suites.checks.readings import Reading, devices, has_told, label, value
from suites.checks.rule import Facts

Device = Mapping[str, Any]


def each(facts: Facts) -> Iterator[tuple[str, Device]]:
    """(label, device) of all NPUs."""
    return ((label("ascend", device), device) for device in devices(facts, "ascend"))


def ascend(facts: Facts) -> Mapping[str, Any]:
    return (facts.get("accelerators") or {}).get("ascend") or {}


def told_by(device: Device, name: str, *queries: str) -> Reading | None:
    """The first of the readings that holds the value."""
    readings = [device["readings"][query] for query in queries if query in device["readings"]]
    return next((reading for reading in readings if value(reading, name) is not None), None)


def any_told(device: Device, *queries: str) -> bool:
    return any(has_told(device["readings"][query]) for query in queries if query in device["readings"])


def in_container(facts: Facts) -> bool:
    """Whether this is known to be a container, which may have been given but some of the NPUs."""
    return bool((facts.get("cgroup") or {}).get("container"))


def model(device: Device) -> str:
    """`910B3`, whatever tool told it; empty where none did."""
    board = told_by(device, "chip_name", "chip_board", "board")
    return str(device["name"] or (board and value(board, "chip_name")) or "").removeprefix("Ascend ").strip()


def some(names: Sequence[str], most: int = 4, between: str = ", ") -> str:
    """The first of them, and how many more there are."""
    return between.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
