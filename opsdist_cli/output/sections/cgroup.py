"""The section `cgroup` as text: what a control group leaves. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from opsdist_cli.output.sections.words import bytes_of, cpu_list, or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    limit, source = facts["memory_limit_bytes"], facts["memory_source"]
    quota = facts["cpu_quota"]
    return pairs([
        ("container", facts["container"] or "no sign of one"),
        ("version", or_unknown(facts["version"], "no control group is mounted")),
        ("memory limit", bytes_of(limit) + (f" ({source})" if source else "")),
        ("memory used", bytes_of(facts["memory_used_bytes"])),
        ("memory left", bytes_of(facts["memory_headroom_bytes"])),
        ("CPU quota", f"{quota:g} CPUs" if isinstance(quota, float | int) else or_unknown(quota)),
        ("CPUs", cpu_list(facts["cpus"])),
        ("processes", or_unknown(facts["pids_limit"])),
        ("ended for memory", or_unknown(facts["oom_kills"])),
    ])  # fmt: skip
