"""Facts of some devices only: what `-i` chooses.

A device is named as its list has it (eth0, mlx5_0, 0000:01:00.0), or npu3 and gpu0; a bare number is an accelerator's.
May import: errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suites.errors import UsageError

Facts = Mapping[str, Any]

_LISTS = (("network", "interfaces", "name"), ("rdma", "devices", "name"), ("pcie", "devices", "id"))
"""(section, its list, by what its elements are named)."""


def narrowed(facts: Facts, devices: Sequence[str]) -> dict[str, Any]:
    """The facts with these devices only. Raises UsageError for one that is in no list."""
    known = list(dict.fromkeys(name for names in _names(facts) for name in names))
    for device in devices:
        if device not in known:
            listed = ", ".join(name for name in known if not name.isdecimal())
            raise UsageError(f"no device '{device}'; known: {listed or 'none, as far as was looked'}")
    kept = dict(facts)
    for section, part, mark in _LISTS:
        if section in kept and (kept[section] or {}).get(part):
            items = [item for item in kept[section][part] if item[mark] in devices]
            kept[section] = {**kept[section], part: items}
    if kept.get("accelerators"):
        kept["accelerators"] = {
            vendor: {**told, "devices": told["devices"] and [d for d in told["devices"] if _chosen(vendor, d, devices)]}
            for vendor, told in kept["accelerators"].items()
        }
    return kept


def labels(vendor: str, device: Facts) -> tuple[str, str]:
    """The names of an accelerator."""
    return f"{'npu' if vendor == 'ascend' else 'gpu'}{device['id']}", str(device["id"])


def _chosen(vendor: str, device: Facts, devices: Sequence[str]) -> bool:
    return any(name in devices for name in labels(vendor, device))


def _names(facts: Facts) -> Iterator[Sequence[str]]:
    for section, part, mark in _LISTS:
        yield [item[mark] for item in (facts.get(section) or {}).get(part) or ()]
    for vendor, told in (facts.get("accelerators") or {}).items():
        for device in told["devices"] or ():
            yield labels(vendor, device)
