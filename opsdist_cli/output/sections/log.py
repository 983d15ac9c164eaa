"""The section `log` as text: events of the kernel and the fabric manager. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs, table
from opsdist_cli.output.sections.words import or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    sources = [(name, _source(reading)) for name, reading in facts["sources"].items()]
    events = facts["events"]
    if events is None:
        return pairs([("events", "unknown"), *sources])
    if not events:
        return pairs([("events", "none that matters to communication"), *sources])
    rows = [
        (event["kind"], event["device"] or "-", str(event["count"]), event["last"] or "unknown", _what(event))
        for event in events
    ]
    return [*table(("event", "device", "count", "last", "what"), rows), *pairs(sources)]


def _what(event: Facts) -> str:
    code = "" if event["code"] is None else f"{event['code']} "
    return f"{code}{event['detail'] or ''}".strip() or "-"


def _source(reading: Facts) -> str:
    return f"{reading['source']} was read" if reading["state"] == "told" else or_unknown(None, reading["reason"])
