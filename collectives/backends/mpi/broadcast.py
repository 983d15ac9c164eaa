"""`python -P -m collectives.backends.mpi.broadcast`, in every rank of an MPI: prints what was on rank 0's stdin.

A process of its own, so that MPI is over before anything else begins. May import: mpi4py, when used.
"""

from __future__ import annotations

import sys


def main() -> None:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    print(world.bcast(sys.stdin.read() if world.rank == 0 else None))


if __name__ == "__main__":
    main()
