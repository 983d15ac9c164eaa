"""The record of a suite for a monitor or scheduler that has codes and manners of its own.

ADAPTERS maps a format to its module, imported when used, with `render(record) -> str` and `exit_code(record) -> int`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

ADAPTERS: dict[str, str] = {
    "nagios": "opsdist_cli.output.adapters.nagios",
    "npd": "opsdist_cli.output.adapters.npd",
    "slurm-prolog": "opsdist_cli.output.adapters.slurm_prolog",
    "prometheus": "opsdist_cli.output.adapters.prometheus",
}


def adapted(name: str, record: Mapping[str, Any]) -> tuple[str, int]:
    """What to print, and the exit code."""
    module = import_module(ADAPTERS[name])
    return module.render(record), module.exit_code(record)
