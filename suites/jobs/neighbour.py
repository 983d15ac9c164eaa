"""The ceiling between hosts: how fast each host sends to the next one while it receives from the one before; or, for
collectives whose data has one direction, from or to a root, how fast every other host sends to the next one.

All hosts do it at the same time, and on each as many ranks as there are on the host that has the fewest, by the
backend's own point-to-point way. Where a core and not the link is what limits a host, one direction alone is faster.
May import: numpy, collectives, case, agree, ceiling's result.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from collectives.communicator import Call, Communicator
from collectives.ops import COLLECTIVES
from suites.case import Case
from suites.jobs.agree import Shared
from suites.jobs.ceiling import LEAST_FOR_CEILING, Moved

LEAST_SENT, MOST_SENT = 2 << 20, 8 << 20
"""Bytes of a message: enough that its time is that of the bandwidth, not of the latency; and little memory."""
REPETITIONS = 3
"""After one that is not counted."""
REPETITION_SECONDS = 0.05


def exchange_all(case: Case, counts: Sequence[int], comm: Communicator, shared: Shared) -> Moved:
    """Exchange on all ranks, which must call it together, and time it. `counts` are the ranks on each host."""
    hosts = len(counts)
    share = COLLECTIVES[case.collective].across(hosts, comm.size) * case.bytes_moved(comm.size) / min(counts)
    if share < LEAST_FOR_CEILING:
        return Moved()
    column = _column(counts, comm.rank)
    nbytes = int(min(max(share, LEAST_SENT), MOST_SENT))
    way = _one_way if COLLECTIVES[case.collective].rooted else _both_ways
    call = way(comm, column, nbytes) if column else None

    def exchange(times: int) -> float:
        comm.barrier()
        begin = time.monotonic_ns()
        for _ in range(times):
            if call:
                call.run()
        comm.barrier()
        return shared.largest((time.monotonic_ns() - begin) / 1e9)

    times = shared.agree(max(int(REPETITION_SECONDS / exchange(1)), 1))[0]
    seconds = tuple(exchange(times) for _ in range(REPETITIONS))
    # A host that sits out, since all others are in pairs, counts like them: its link would carry as much.
    return Moved(nbytes * times if column else 0, seconds, "neighbour bandwidth between hosts")


def _both_ways(comm: Communicator, column: Sequence[int], nbytes: int) -> Call | None:
    group = comm.group(column)
    return group.bind("sendrecv", group.allocate(nbytes, "uint8"), group.allocate(nbytes, "uint8"))


def _one_way(comm: Communicator, column: Sequence[int], nbytes: int) -> Call | None:
    """From the first host to the second, from the third to the fourth; None on the last of an odd number."""
    first = column.index(comm.rank) // 2 * 2
    pair = column[first : first + 2]
    if len(pair) < 2:
        return None
    group = comm.group(pair)
    data = group.allocate(nbytes, "uint8")
    # In place, so that the sender copies nothing besides.
    return group.bind("broadcast", data if group.rank == 0 else None, data, root=0)


def _column(counts: Sequence[int], rank: int) -> tuple[int, ...]:
    """The ranks, one on each host, of which this one exchanges with its neighbours; none for one to which not every
    host has a counterpart."""
    firsts = [sum(counts[:host]) for host in range(len(counts))]
    local = next(rank - first for first in reversed(firsts) if rank >= first)
    return tuple(first + local for first in firsts) if local < min(counts) else ()
