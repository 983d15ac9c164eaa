"""The rules by which `opsdist info` and `opsdist suite node` judge hosts: one file a subject, each with its RULES.

SUBJECTS are the files, in the order in which people read findings. May import: nothing before rules are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suites.checks.rule import Rule

SUBJECTS: tuple[str, ...] = (
    "suites.checks.cpu",
    "suites.checks.memory",
    "suites.checks.numa",
    "suites.checks.limits",
    "suites.checks.cgroup",
    "suites.checks.container",
    "suites.checks.software",
    "suites.checks.environment.values",
    "suites.checks.environment.contradiction",
    "suites.checks.environment.network",
    "suites.checks.environment.job",
    "suites.checks.network.interfaces",
    "suites.checks.network.speed",
    "suites.checks.network.fleet",
    "suites.checks.pcie",
    "suites.checks.log.events",
    "suites.checks.clock",
    "suites.checks.backends",
    "suites.checks.tools",
    "suites.checks.ascend.tool",
    "suites.checks.ascend.presence",
    "suites.checks.ascend.alike",
    "suites.checks.ascend.device",
    "suites.checks.ascend.memory",
    "suites.checks.ascend.errors",
    "suites.checks.ascend.hccs",
    "suites.checks.ascend.topology",
    "suites.checks.ascend.port",
    "suites.checks.ascend.address",
    "suites.checks.ascend.port_settings",
    "suites.checks.ascend.ub",
    "suites.checks.ascend.port_errors",
    "suites.checks.ascend.optics",
    "suites.checks.ascend.software",
    "suites.checks.ascend.ranktable",
    "suites.checks.nvidia.driver",
    "suites.checks.nvidia.device",
    "suites.checks.nvidia.memory",
    "suites.checks.nvidia.link",
    "suites.checks.nvidia.topology",
    "suites.checks.nvidia.fabric",
    "suites.checks.nvidia.nccl_topology",
    "suites.checks.rdma.ports",
    "suites.checks.rdma.adapters",
    "suites.checks.rdma.counters",
    "suites.checks.amd.devices",
    "suites.checks.amd.links",
    "suites.checks.topology",
)


def rules() -> dict[str, Rule]:
    """All rules by name, in their order."""
    return {rule.name: rule for subject in SUBJECTS for rule in import_module(subject).RULES}
