"""The section `accelerators` as text: a row a device, by vendor, and what tools would not tell.

May import: from this package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import pairs, table

Facts = Mapping[str, Any]

_KINDS = {"ascend": ("NPUs", "npu"), "nvidia": ("NVIDIA GPUs", "gpu"), "amd": ("AMD GPUs", "gpu")}
_HEADER = ("device", "name", "PCI", "told by tools")
_NO_WORD = ("absent", "unasked")


def render(facts: Facts) -> list[str]:
    lines: list[str] = []
    for vendor, told in facts.items():
        kind, prefix = _KINDS[vendor]
        if told["devices"]:
            lines += table(_HEADER, [_row(prefix, device) for device in told["devices"]])
        else:
            lines += pairs([(kind, "unknown" if told["devices"] is None else "none")])
        lines += pairs(_unanswered(told))
    return lines


def _row(prefix: str, device: Facts) -> tuple[str, ...]:
    return (f"{prefix}{device['id']}", device["name"] or "-", device["bus"] or "-", ", ".join(_said(device)))


def _said(device: Facts) -> Iterator[str]:
    """The other ids of an NPU, its address, and how many questions were answered."""
    if device.get("card") is not None:
        yield f"card {device['card']}" + ("" if device["chip"] is None else f" chip {device['chip']}")
    if device.get("address"):
        yield f"address {device['address']}"
    if device.get("present") is False:
        yield f"no /dev/davinci{device['id']}"
    answers = Counter(reading["state"] for reading in device["readings"].values())
    yield f"{answers['told']} answer{'s' * (answers['told'] != 1)}"


def _unanswered(told: Facts) -> list[tuple[str, str]]:
    """What was asked in vain: tool by tool, with the reason."""
    readings = [*told["readings"].values(), *(r for d in told["devices"] or () for r in d["readings"].values())]
    silent = [reading for reading in readings if reading["state"] not in ("told", *_NO_WORD)]
    reasons: dict[tuple[str, str], list[str]] = {}
    for reading in silent:
        tool = reading["source"].split()[0]
        reasons.setdefault((tool, f"{reading['state']}: {reading['reason']}"), []).append(reading["source"])
    return [(tool, f"{why}{_times(sources)}") for (tool, why), sources in reasons.items()]


def _times(sources: Sequence[str]) -> str:
    return f" (`{sources[0]}`{f' and {len(sources) - 1} more' if len(sources) > 1 else ''})"
