"""Linear: the root exchanges with every other rank directly.

Reduce on 4 ranks, root 0, where all are folded in the order of ranks:

    1 --S--> 0      2 --S--> 0      3 --S--> 0

Steps 1, and 2 for allreduce and barrier; bytes S(n-1) through the one port of the root, which is the bottleneck. The
simplest there is: the baseline that the others must beat.
May import: schedule.
"""

from __future__ import annotations

from collectives.schedule import (
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
    plan,
    together,
)  # fmt: skip


def _others(shape: Shape) -> list[int]:
    return [peer for peer in range(shape.size) if peer != shape.root]


def _spread(shape: Shape, source: Span, target: Span) -> Step:
    """From `source` at the root to `target` elsewhere."""
    if shape.rank == shape.root:
        return Step(sends=tuple(Send(peer, (source,)) for peer in _others(shape)))
    return Step(receives=(Receive(shape.root, (target,)),))


def _reduce(shape: Shape) -> Step:
    if shape.rank == shape.root:
        operands = by_rank(shape.rank, shape.send, _others(shape))
        return Step(folds=(Fold(shape.recv, operands, last=True),))
    return Step(sends=(Send(shape.root, (shape.send,)),))


def allreduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    return plan([_reduce(shape), _spread(shape, shape.recv, shape.recv)])


def reduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    return plan([_reduce(shape)])


def broadcast(shape: Shape) -> Plan:
    own = copy(shape, shape.send, shape.recv) if shape.rank == shape.root else Step()
    return plan([together(own, _spread(shape, shape.send, shape.recv))])


def gather(shape: Shape) -> Plan:
    if shape.rank != shape.root:
        return plan([Step(sends=(Send(shape.root, (shape.send,)),))])
    receives = tuple(Receive(peer, (shape.recv_block(peer),)) for peer in _others(shape))
    return plan([together(copy(shape, shape.send, shape.recv_block(shape.root)), Step(receives=receives))])


def scatter(shape: Shape) -> Plan:
    if shape.rank != shape.root:
        return plan([Step(receives=(Receive(shape.root, (shape.recv,)),))])
    sends = tuple(Send(peer, (shape.send_block(peer),)) for peer in _others(shape))
    return plan([together(copy(shape, shape.send_block(shape.root), shape.recv), Step(sends=sends))])


def barrier(shape: Shape) -> Plan:
    """All report to rank 0, which then releases all."""
    if shape.rank:
        return plan([Step(sends=(Send(0, ()),)), Step(receives=(Receive(0, ()),))])
    others = range(1, shape.size)
    return plan(
        [
            Step(receives=tuple(Receive(peer, ()) for peer in others)),
            Step(sends=tuple(Send(peer, ()) for peer in others)),
        ]
    )


def closed(size: int, count: int, group: int) -> Closed:
    """broadcast and scatter: the root sends everything."""
    return Closed(min(size - 1, 1), count * (size - 1), size - 1, count * (size - 1))


def inward_closed(size: int, count: int, group: int) -> Closed:
    """reduce and gather: no rank sends more than its own buffer, but the root receives all."""
    return Closed(min(size - 1, 1), count * min(size - 1, 1), size - 1, count * (size - 1))


def allreduce_closed(size: int, count: int, group: int) -> Closed:
    return Closed(2 * min(size - 1, 1), count * (size - 1), 2 * (size - 1), 2 * count * (size - 1))


def barrier_closed(size: int, count: int, group: int) -> Closed:
    return Closed(2 * min(size - 1, 1), 0, 2 * (size - 1), 0)
