"""The section `rdma` as text: RDMA devices and ports. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from opsdist_cli.output.sections.words import or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    return pairs([("devices", or_unknown(facts["devices"]))])
