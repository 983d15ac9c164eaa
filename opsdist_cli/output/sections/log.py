"""The section `log` as text: events of the kernel and the fabric manager. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from opsdist_cli.output.sections.words import or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    return pairs([("events", or_unknown(facts["events"]))])
