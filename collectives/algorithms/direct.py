"""Direct: every rank exchanges with every other at once, in one step.

Allgather on 4 ranks: each sends its block to the three others, the next rank first, who store it where it belongs.

    rank 0 --0--> 1 2 3      rank 1 --1--> 2 3 0      rank 2 --2--> 3 0 1      rank 3 --3--> 0 1 2

Steps 1, but one message to each of n-1 peers; the least bytes. Best where messages are cheap (shared memory) and n is
small; on a network all pairs collide.
May import: schedule.
"""

from __future__ import annotations

from collections.abc import Sequence

from collectives.schedule import (
    NOTHING,
    Closed,
    Fold,
    Plan,
    Receive,
    Send,
    Shape,
    Span,
    Step,
    by_rank,
    copy,
    onwards,
    plan,
    together,
)  # fmt: skip


def reduce_step(me: int, peers: Sequence[int], sources: Sequence[Span], into: Span, *, last: bool) -> Step:
    """Reduce chunk i of all peers to peers[i]: each sends every peer its chunk and folds what it gets of its own."""
    others = onwards(me, len(peers))
    return Step(
        sends=tuple(Send(peers[i], (sources[i],)) for i in others),
        folds=(Fold(into, by_rank(peers[me], sources[me], [peers[i] for i in others]), last),),
    )


def gather_step(me: int, peers: Sequence[int], own: Span, blocks: Sequence[Span]) -> Step:
    """Bring block i, which peers[i] holds, to all; this rank's own is read from `own`."""
    others = onwards(me, len(peers))
    return Step(
        sends=tuple(Send(peers[i], (own,)) for i in others),
        receives=tuple(Receive(peers[i], (blocks[i],)) for i in others),
    )


def allgather(shape: Shape) -> Plan:
    blocks = [shape.recv_block(block) for block in range(shape.size)]
    own = copy(shape, shape.send, blocks[shape.rank])
    return plan([together(own, gather_step(shape.rank, range(shape.size), shape.send, blocks))])


def reduce_scatter(shape: Shape) -> Plan:
    """The first half of two_shot."""
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    sources = [shape.send_block(block) for block in range(shape.size)]
    return plan([reduce_step(shape.rank, range(shape.size), sources, shape.recv, last=True)])


def alltoall(shape: Shape) -> Plan:
    """Serves alltoallv too."""
    others = onwards(shape.rank, shape.size)
    own = copy(shape, shape.send_block(shape.rank), shape.recv_block(shape.rank))
    exchange = Step(
        sends=tuple(Send(peer, (shape.send_block(peer),)) for peer in others),
        receives=tuple(Receive(peer, (shape.recv_block(peer),)) for peer in others),
    )
    return plan([together(own, exchange)])


def sendrecv(shape: Shape) -> Plan:
    """The pattern itself: to the next rank, from the one before."""
    to, source = (shape.rank + 1) % shape.size, (shape.rank - 1) % shape.size
    return plan([Step(sends=(Send(to, (shape.send,)),), receives=(Receive(source, (shape.recv,)),))])


def block_closed(size: int, count: int, group: int) -> Closed:
    """allgather, reduce_scatter and alltoall with blocks of `count`."""
    return Closed(min(size - 1, 1), count * (size - 1), size - 1, count * (size - 1))


def skewed_closed(size: int, count: int, group: int) -> Closed:
    """alltoallv as `ops` loads it: all blocks but the lightest own one, which has weight 1.

    The path is what the busiest port has to move: a lower bound, since unequal messages cannot all be placed without
    one waiting for another.
    """
    elements = size * count - 2 * count / (size + 1)
    return Closed(min(size - 1, 1), elements, size - 1, elements)


def sendrecv_closed(size: int, count: int, group: int) -> Closed:
    return Closed(1, count, 1, count) if size > 1 else NOTHING
