"""The sections of `opsdist info` as text, one file each with `render(facts) -> lines`.

SECTIONS maps a section or a view of `suites.hostinfo` to its module, imported when used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

SECTIONS: dict[str, str] = {
    "cpu": "opsdist_cli.output.sections.cpu",
    "memory": "opsdist_cli.output.sections.memory",
    "numa": "opsdist_cli.output.sections.numa",
    "cgroup": "opsdist_cli.output.sections.cgroup",
    "network": "opsdist_cli.output.sections.network",
    "rdma": "opsdist_cli.output.sections.rdma",
    "pcie": "opsdist_cli.output.sections.pcie",
    "accelerators": "opsdist_cli.output.sections.accelerators",
    "log": "opsdist_cli.output.sections.log",
    "clock": "opsdist_cli.output.sections.clock",
    "limits": "opsdist_cli.output.sections.limits",
    "software": "opsdist_cli.output.sections.software",
    "environment": "opsdist_cli.output.sections.environment",
    "backends": "opsdist_cli.output.sections.backends",
    "topology": "opsdist_cli.output.sections.topology",
    "hccl": "opsdist_cli.output.sections.hccl",
    "nccl": "opsdist_cli.output.sections.nccl",
}


def section_text(section: str, facts: Any) -> list[str]:
    """The lines of a section, without its heading."""
    lines: list[str] = import_module(SECTIONS[section]).render(facts)
    return lines
