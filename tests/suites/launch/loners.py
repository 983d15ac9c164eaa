"""A stand-in for mpiexec, which starts processes and tells them their ranks, and that is all: no MPI is needed."""

from __future__ import annotations

import sys

from tests.leftovers import RunSpace

LONERS = """
import os, subprocess, sys
if "--version" in sys.argv: sys.exit("loners 1.0")
start = sys.argv.index("-n")
ranks = [subprocess.Popen(sys.argv[start + 2 :], env={**os.environ, "OMPI_COMM_WORLD_RANK": str(rank)})
         for rank in range(int(sys.argv[start + 1]))]
sys.exit(max(rank.wait() for rank in ranks))
"""


def stand_in(space: RunSpace, name: str, text: str = LONERS) -> str:
    """A program that is taken for mpiexec. To the MPI in its ranks, it is the mpiexec of another one."""
    path = space.folder / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return str(path)
