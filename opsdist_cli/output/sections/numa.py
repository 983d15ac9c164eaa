"""The section `numa` as text: NUMA nodes. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs, table
from opsdist_cli.output.sections.words import cpu_list, free_of

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    rows = [
        (
            str(node["id"]),
            free_of(node["memory_free_bytes"], node["memory_bytes"]),
            " ".join(map(str, node["distances"])) if node["distances"] else "unknown",
            cpu_list(node["cpus"]),  # last, since it may be long: some machines deal CPUs out to nodes in turn
        )
        for node in facts["nodes"] or ()
    ]
    balancing = {True: "on", False: "off", None: "unknown"}[facts["balancing"]]
    nodes = table(("node", "memory", "distances", "CPUs"), rows) if rows else pairs([("nodes", "unknown")])
    return [*nodes, *pairs([("automatic balancing", balancing)])]
