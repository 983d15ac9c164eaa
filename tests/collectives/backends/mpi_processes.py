"""Ranks under a real mpiexec, of the MPI that this environment has."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from collectives.backends.mpi import installed
from tests.leftovers import RunSpace

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0
needs_mpi = pytest.mark.skipif(installed.unavailable() is not None, reason=f"no MPI: {installed.unavailable()}")


def mpiexec(space: RunSpace, size: int, *program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m PROGRAM` as ranks of MPI."""
    found = installed.mpiexec_path()
    assert found
    shared = {
        "OPSDIST_STORE": f"ipc://@opsdist-test-{secrets.token_hex(8)}", "OPSDIST_TOKEN": secrets.token_hex(8),
        "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", **variables,
    }  # fmt: skip
    command = [found, "-n", str(size), sys.executable, "-m", *program]
    return subprocess.run(
        command, check=False, env=space.environment(**shared), text=True, timeout=PATIENCE,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
