"""A slice of the launch of a thousand hosts; and that it needs no more open files than a shell gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.leftovers import RunSpace

ROOT = Path(__file__).parents[2]
HOSTS = 150
DESCRIPTORS = 256
"""Fewer than the pipes to all of them."""
PATIENCE = 60.0


def test_many_hosts_are_started_and_ended(space: RunSpace) -> None:
    shell = f"ulimit -S -n {DESCRIPTORS} && exec {sys.executable} -m tests.soak.fanout --hosts {HOSTS}"
    run = subprocess.run(
        ["bash", "-c", shell], cwd=ROOT, env=space.environment(), capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{HOSTS} of {HOSTS} ranks started, 0 faults, 0 survivors" in run.stdout
