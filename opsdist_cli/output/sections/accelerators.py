"""The section `accelerators` as text: accelerators. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    devices = facts["ascend"]["devices"]
    if devices is None:
        return pairs([("NPUs", "unknown")])
    return pairs([(f"NPU {device['id']}", _npu(device)) for device in devices] or [("NPUs", "none")])


def _npu(facts: Facts) -> str:
    address = facts["address"] or "unknown"
    return f"address {address}" + ("" if facts["present"] else f", and there is no /dev/davinci{facts['id']}")
