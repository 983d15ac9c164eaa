"""How an agent is started on this host. May import: link."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from suites.launch.link import AgentCommand


def argv() -> list[str]:
    """-P: a folder named like one of the packages, where the user stands, must not shadow it."""
    return [sys.executable, "-P", "-m", "suites.launch.agent"]


def command(host: str) -> AgentCommand:
    return AgentCommand(host, tuple(argv()), environment())


DEFAULTS = {
    # One thread a rank, since ranks are what is measured.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # glibc would give the memory of every segment back to the kernel and fault it in anew: ten times the page faults.
    # Buffers of users are above this threshold and still go back when they are freed.
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 20),
}
"""What the user has set wins."""


def environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The agent's environment."""
    return {**DEFAULTS, **environ, "PYTHONUNBUFFERED": "1"}
