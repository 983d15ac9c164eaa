"""The environment of a host as rules see it: what is set, where, and how many nodes a job has by that.

A variable counts before /etc/nccl.conf, which NCCL reads for what is not set. May import: rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suites.checks.rule import Facts

HIDDEN = "(hidden)"
_FILE = "/etc/nccl.conf"


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    value: str
    file: str | None = None

    @property
    def text(self) -> str:
        where = f" in {self.file}" if self.file else ""
        return f"{self.name}={self.value}{where}"

    @property
    def removal(self) -> str:
        """What takes it away."""
        return f"take {self.name} out of {self.file}" if self.file else f"unset {self.name}"

    def evidence(self, threshold: Any = None, source: str | None = None) -> dict[str, Any]:
        found: dict[str, Any] = {"file": self.file} if self.file else {}
        found |= {"variable": self.name, "value": self.value}
        found |= {"threshold": threshold} if threshold is not None else {}
        return found | ({"source": source} if source else {})


def settings(facts: Facts) -> Mapping[str, Setting]:
    """By name; those of which only the name is known are left out, as nothing can be said about their values."""
    environment = facts["environment"]
    filed = environment.get("nccl_file") or {}
    found = {name: Setting(name, value, _FILE) for name, value in filed.items()}
    found |= {name: Setting(name, value) for name, value in environment["variables"].items()}
    return {name: setting for name, setting in found.items() if setting.value != HIDDEN}


def names(facts: Facts) -> list[Setting]:
    """All that is set, hidden values too."""
    environment = facts["environment"]
    filed = environment.get("nccl_file") or {}
    variables = environment["variables"]
    return [Setting(name, value) for name, value in variables.items()] + [
        Setting(name, value, _FILE) for name, value in filed.items() if name not in variables
    ]


def number(found: Mapping[str, Setting], *names: str) -> int | None:
    """The first of the variables that is a number."""
    values = (found[name].value.strip() for name in names if name in found)
    return next((int(value) for value in values if value.isascii() and value.isdigit() and len(value) < 10), None)


def nodes(found: Mapping[str, Setting]) -> int | None:
    """How many hosts the job has, as far as its launcher tells."""
    told = number(found, "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "NNODES")
    if told is not None:
        return told
    world = number(found, "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")
    local = number(found, "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
    return -(-world // local) if world and local else None
