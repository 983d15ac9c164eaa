"""A slice of what links reach: one small comparison of each kind. The figures are printed, and not judged here."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.lab import unavailable
from tests.leftovers import RunSpace

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=f"no lab of hosts: {unavailable()}")


def score(space: RunSpace, *arguments: str) -> str:
    command = [sys.executable, "-m", "tests.soak.links", *arguments, "--times", "1"]
    run = subprocess.run(
        command, cwd=ROOT, env=space.environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="no iperf3: apt-get install iperf3")
def test_beside_iperf3(space: RunSpace) -> None:
    assert re.search(r"^4M: median \d+\.\d+, .* n 1$", score(space, "line", "--size", "4M"), re.MULTILINE)


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install '.[torch]'")
def test_beside_another_library(space: RunSpace) -> None:
    assert re.search(r"^1024: median \d+\.\d+, .* n 1$", score(space, "library", "gloo", "--size", "1K"), re.MULTILINE)
