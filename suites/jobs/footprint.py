"""How much memory this rank took at the most, without what it only looks at.

The kernel counts a page of shared memory for every process that has it mapped and touched, so a rank that reads its
peers' buffers where they lie would seem to own them. May import: collectives, probes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from collectives.communicator import Communicator
from probes import process
from probes.host import Host, LocalHost


class Footprint:
    """Look after each round, while its buffers are there: by then all is touched that is going to be."""

    def __init__(self, host: Host | None = None) -> None:
        self._host = host or LocalHost()
        self._highest = 0
        self.nbytes: int | None = None
        """Unknown until looked at, or where the kernel does not tell."""

    def look(self, comms: Iterable[Communicator]) -> None:
        memory = process.memory(self._host, os.getpid())
        if memory is None or memory.peak_bytes <= self._highest:
            return  # the peak was in an earlier round
        self._highest = memory.peak_bytes
        foreign = max(memory.shared_bytes - sum(comm.registered for comm in comms), 0)
        self.nbytes = max(memory.peak_bytes - foreign, self.nbytes or 0)
