"""What a rank does: moves and reduces data.

    import numpy, collectives

    with collectives.open() as comm:            # rank and world from the environment
        data = numpy.full(1 << 20, comm.rank + 1, numpy.float32)
        comm.allreduce(data)                    # in place, sum
        print(comm.rank, data[0])

May not import probes, suites or opsdist_cli. Importing this package is cheap: everything else is imported when used.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collectives.backends.builtin import BuiltinCommunicator

__all__ = ["open"]


def open(timeout: float = 60.0, record: str | None = None) -> BuiltinCommunicator:  # noqa: A001 (collectives.open reads as what it does)
    """Join the world that the environment describes, with the built-in backend.

    Rank and world size come from OPSDIST_RANK and OPSDIST_WORLD_SIZE, or from torchrun, mpirun or srun; without any of
    them this is a world of one. OPSDIST_STORE (such as tcp://127.0.0.1:29411) is where rank 0 serves the rendezvous;
    OPSDIST_TOKEN keeps strangers out. `timeout` bounds, in seconds, every wait in which nothing moves.

    With `record`, or OPSDIST_RECORD, each rank records its last 2048 calls in a file of that folder, rank-N.ring, which
    is made. It is up to date whenever and however the rank ends, and can be read while it runs: `opsdist diagnose
    deadlock FOLDER` tells from the files of all ranks who waits for whom, and where in their programs they stand.

    Raises UsageError, RendezvousError, ResourceError.
    """
    from collectives.backends.builtin import BACKEND
    from collectives.errors import UsageError
    from collectives.placement import Placement, from_environment
    from collectives.recorder import recording
    from collectives.rendezvous import Store, StoreServer

    placement = from_environment() or Placement(0, 1, 0, 1, 0, 1)
    address = os.environ.get("OPSDIST_STORE")
    if address is None:
        if placement.world_size > 1:
            raise UsageError("OPSDIST_STORE is not set: give all ranks one address, such as tcp://127.0.0.1:29411")
        address = "tcp://127.0.0.1:*"
    token = os.environ.get("OPSDIST_TOKEN", "none")
    folder = os.environ.get("OPSDIST_RECORD") if record is None else record
    recorder = recording(folder, placement.rank, placement.world_size) if folder else None
    server = StoreServer(address, token) if placement.rank == 0 else None
    store = Store(server.address if server else address, token)
    try:
        return BACKEND.open(placement, store, token, timeout, recorder=recorder)
    finally:
        # The ranks have met, or never will: from here on they talk to each other.
        store.close()
        if server:
            server.close()
