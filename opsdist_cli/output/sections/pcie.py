"""The section `pcie` as text: accelerators, network cards and bridges. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs, table
from opsdist_cli.output.sections.words import or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    devices = [device for device in facts["devices"] or () if device["kind"] != "bridge"]
    bridges = [device for device in facts["devices"] or () if device["kind"] == "bridge"]
    rows = [
        (
            device["id"],
            _of("x", device["width"], device["width_max"]),
            _of("", device["speed"], device["speed_max"]),
            or_unknown(device["numa_node"]),
            _what(device),
        )
        for device in devices
    ]
    lines = table(("address", "lanes", "GT/s", "node", "device"), rows) if rows else []
    if not rows:
        lines = pairs([("devices", "unknown" if facts["devices"] is None else "no accelerator and no network card")])
    return [*lines, *pairs([
        ("bridges above them", f"{len(bridges)}, ACS on at {_with_access_control(bridges)}" if bridges else "unknown"),
        ("IOMMU", or_unknown(facts["iommu"])),
        ("virtual machine", {True: "yes", False: "no", None: "unknown"}[facts["virtual"]]),
    ])]  # fmt: skip


def _of(unit: str, now: float | None, most: float | None) -> str:
    """`x8 of x16`."""
    if now is None:
        return "unknown"
    return f"{unit}{now:g}" + ("" if most is None else f" of {unit}{most:g}")


def _what(device: Facts) -> str:
    numbers = f"{or_unknown(device['vendor'])}:{or_unknown(device['device'])}"
    return f"{device['name'] or device['kind'] + ' ' + numbers}, driver {or_unknown(device['driver'])}"


def _with_access_control(bridges: list[Facts]) -> str:
    known = [bridge["access_control"] for bridge in bridges if bridge["access_control"] is not None]
    return str(sum(known)) if known or not bridges else "unknown"
