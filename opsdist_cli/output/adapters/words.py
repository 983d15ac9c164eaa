"""What adapters say of findings: the worst first, in a line. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.places import several_hosts

Record = Mapping[str, Any]

SEVERITY = ("fail", "error", "warn")


def bad(record: Record) -> list[Record]:
    """Findings that are not well, the worst first."""
    found = [finding for finding in record["findings"] if finding["status"] in SEVERITY]
    return sorted(found, key=lambda finding: SEVERITY.index(finding["status"]))


def short(finding: Record, record: Record) -> str:
    """`ascend.link_down npu3: the network port of npu3 has no link`; on one line. Of several hosts each is named."""
    host = finding["subject"].get("host") if several_hosts(record["findings"]) else None
    words = [finding["check"], host, finding["subject"].get("device")]
    return " ".join(f"{' '.join(filter(None, words))}: {finding['message']}".split())


def cut(text: str, length: int) -> str:
    """At most so many characters, with a sign that something was left out."""
    return text if len(text) <= length else text[: length - 3] + "..."


def ran(record: Record) -> bool:
    """Whether any check came to a judgement."""
    return any(finding["status"] not in ("skip", "error") for finding in record["findings"])
