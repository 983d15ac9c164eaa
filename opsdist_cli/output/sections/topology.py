"""The view `topology` as text, in a few lines; `opsdist topo` draws it. May import: from this package, nodeset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from suites.launch.lists.nodeset import fold

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    links = ", ".join(f"{count} x {kind}" for kind, count in facts["links"].items())
    rows = [("links", links or "no accelerators that reach each other")]
    rows += [(f"nearest to {device}", ", ".join(cards)) for device, cards in facts["nearest_nic"].items() if cards]
    rows += [("out of line", _told(found)) for found in facts["asymmetries"]]
    return pairs(rows)


def _told(found: Facts) -> str:
    return f"{found['device']}: {'/'.join(found['kinds'])} to {fold(found['peers'])} where {found['usual']} is usual"
