"""Pairwise: in step s every rank sends to the rank s above it and receives from the rank s below.

    step 1   0 -> 1 -> 2 -> 3 -> 0        step 2   0 -> 2 -> 0, 1 -> 3 -> 1        step 3   0 -> 3 -> 2 -> 1 -> 0

Steps n-1, the least bytes. Every rank sends one message and receives one at a time, so nobody is flooded: the choice
for large blocks on a network.
Reference: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 2005, section on alltoall.
May import: schedule.
"""

from __future__ import annotations

from collectives.schedule import Closed, Plan, Receive, Send, Shape, Step, copy, plan, together


def alltoall(shape: Shape) -> Plan:
    """Serves alltoallv too."""
    steps = [copy(shape, shape.send_block(shape.rank), shape.recv_block(shape.rank))]
    for s in range(1, shape.size):
        to, source = (shape.rank + s) % shape.size, (shape.rank - s) % shape.size
        exchange = Step(
            sends=(Send(to, (shape.send_block(to),)),), receives=(Receive(source, (shape.recv_block(source),)),)
        )
        steps = [together(steps[0], exchange)] if s == 1 else [*steps, exchange]
    return plan(steps)


def block_closed(size: int, count: int, group: int) -> Closed:
    return Closed(size - 1, count * (size - 1), size - 1, count * (size - 1))


def skewed_closed(size: int, count: int, group: int) -> Closed:
    """alltoallv as `ops` loads it. In step s a rank's block weighs (2 rank + s) % n + 1; each step waits for its
    heaviest, which is n, or n - 1 where n is even and the step odd.

    For odd n the path is an upper bound, a few percent high: who moves a step's heaviest block need not have waited
    for that of the step before.
    """
    weights = [size - (size % 2 == 0 and (size - 1 - s) % 2 != 0) for s in range(1, size)]
    sent = size * count - 2 * count / (size + 1)
    return Closed(size - 1, sent, size - 1, sum(weights) * 2 * count / (size + 1))
