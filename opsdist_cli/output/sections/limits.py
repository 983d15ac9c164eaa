"""The section `limits` as text: limits of a process, and the kernel's. May import: from this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opsdist_cli.output.layout import pairs, table
from opsdist_cli.output.sections.words import bytes_of, or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    in_bytes = ("memlock", "stack", "core")
    rows = []
    for name in ("memlock", "nofile", "nproc", "stack", "core"):
        show: Callable[[Any], str] = bytes_of if name in in_bytes else or_unknown
        limit = facts[name]
        soft, hard = (limit["soft"], limit["hard"]) if limit else (None, None)
        rows.append((name, show(soft), show(hard)))
    return [*table(("limit", "soft", "hard"), rows), *pairs(_kernel(facts["kernel"]))]


def _kernel(facts: Facts) -> list[tuple[str, str]]:
    reserved, filters, options = facts["reserved_ports"], facts["reverse_path_filter"], facts["options"]
    strict = [name for name, value in (filters or {}).items() if value == 1]
    return [
        ("somaxconn", or_unknown(facts["somaxconn"])),
        ("tcp_max_syn_backlog", or_unknown(facts["tcp_max_syn_backlog"])),
        ("outgoing ports", _ports(facts["port_range"])),
        ("but for", "unknown" if reserved is None else ", ".join(map(_ports, reserved)) or "none"),
        ("socket buffers, most", f"{bytes_of(facts['rmem_max'])} in, {bytes_of(facts['wmem_max'])} out"),
        ("reverse path filter", "unknown" if filters is None else f"strict on {', '.join(strict) or 'none'}"),
        ("processes", f"{or_unknown(facts['pid_max'])} ids, {or_unknown(facts['threads_max'])} threads"),
        ("mappings of a process", or_unknown(facts["max_map_count"])),
        ("kernel options", "unknown" if options is None else " ".join(options) or "none of interest"),
    ]


def _ports(interval: list[int] | None) -> str:
    return "unknown" if interval is None else "-".join(map(str, dict.fromkeys(interval)))
