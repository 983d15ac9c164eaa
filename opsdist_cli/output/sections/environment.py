"""The section `environment` as text: variables. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    none = [("variables", "none that steers communication is set" if facts["told"] else "unknown")]
    filed = [(name, f"{value} (/etc/nccl.conf)") for name, value in (facts["nccl_file"] or {}).items()]
    return pairs([*(list(facts["variables"].items()) or none), *filed])
