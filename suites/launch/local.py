"""How an agent is started on this host. May import: the standard library."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def argv() -> list[str]:
    """-P: a folder named like one of the packages, where the user stands, must not shadow it."""
    return [sys.executable, "-P", "-m", "suites.launch.agent"]


def environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The agent's environment: one thread a rank, since ranks are what is measured, and no buffering of output."""
    one = {name: environ.get(name, "1") for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    return {**environ, **one, "PYTHONUNBUFFERED": "1"}
