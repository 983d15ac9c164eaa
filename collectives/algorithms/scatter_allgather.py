"""Scatter and allgather (van de Geijn): the root hands every other rank a chunk, and these pass the chunks round.

Broadcast on 4 ranks, root 0, chunks a b c:

    step 0   0 -a-> 1    0 -b-> 2    0 -c-> 3
    step 1   1 -a-> 2    2 -b-> 3    3 -c-> 1
    step 2   1 -c-> 2    2 -a-> 3    3 -b-> 1

Steps n-1, bytes sent S by the root, whatever n is, where a tree sends it log2 n times. Best for large S.
Reference: M. Barnett et al., "Interprocessor collective communication library (InterCom)", SHPCC 1994.
May import: schedule, ring.
"""

from __future__ import annotations

from collectives.algorithms import ring
from collectives.schedule import NOTHING, Closed, Plan, Receive, Send, Shape, Step, chunks, copy, plan, together


def broadcast(shape: Shape) -> Plan:
    others = [peer for peer in range(shape.size) if peer != shape.root]
    if shape.rank == shape.root:
        own = copy(shape, shape.send, shape.recv)
        parts = chunks(shape.send, len(others)) if others else []
        sends = tuple(Send(peer, (part,)) for peer, part in zip(others, parts, strict=True))
        return plan([together(own, Step(sends=sends))])
    me, parts = others.index(shape.rank), chunks(shape.recv, len(others))
    first = Step(receives=(Receive(shape.root, (parts[me],)),))
    return plan([first, *ring.gather_steps(me, others, parts[me], parts)])


def broadcast_closed(size: int, count: int, group: int) -> Closed:
    """The last chunk leaves the root after all others; from there the ring takes n-2 steps."""
    if size == 1:
        return NOTHING
    others = size - 1
    return Closed(others, count, others + others - 1, count + count * (others - 1) / others)
