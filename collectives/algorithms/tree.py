"""Binomial tree: the ranks that have the data double with every step.

Broadcast on 5 ranks, root 0 (numbers are relative to the root); gather and reduce are the same tree upside down:

    step 0    0 -> 4
    step 1    0 -> 2
    step 2    0 -> 1   2 -> 3

A rank's parent is the rank without its lowest set bit, so a subtree is a contiguous range of ranks, and gather and
scatter can move it as one message.
Steps ceil(log2 n) on the longest path, twice that for allreduce. Broadcast and reduce move S bytes on every edge;
gather and scatter move each block once per level.
Limits: interior ranks need scratch: S for reduce, their subtree's blocks for gather and scatter.
May import: schedule.
"""

from __future__ import annotations

from collectives.schedule import (
    Closed,
    Fold,
    Message,
    Plan,
    Receive,
    Send,
    Shape,
    Span,
    Step,
    copy,
    plan,
    together,
)  # fmt: skip


def _depth(size: int) -> int:
    return (size - 1).bit_length()


def _position(shape: Shape) -> int:
    """This rank's number relative to the root."""
    return (shape.rank - shape.root) % shape.size


def _rank(shape: Shape, position: int) -> int:
    return (position + shape.root) % shape.size


def _parent(position: int) -> int:
    return position & (position - 1)


def _children(position: int, size: int) -> list[tuple[int, int]]:
    """(position, end of its subtree) of the children, smallest subtree first."""
    reach = (position & -position) or 1 << _depth(size)
    masks = [1 << k for k in range(reach.bit_length() - 1)]
    return [(position + mask, min(position + 2 * mask, size)) for mask in masks if position + mask < size]


def _reduce_steps(shape: Shape, partial: Span) -> list[Step]:
    """Reduce to the root. `partial` is where this rank gathers: recv at the root."""
    position = _position(shape)
    children = [_rank(shape, child) for child, _ in _children(position, shape.size)]
    steps, own = [], shape.send
    for child in children:
        operands = (own, Message(child)) if shape.rank < child else (Message(child), own)
        steps.append(Step(folds=(Fold(partial, operands, last=position == 0 and child == children[-1]),)))
        own = partial
    if position:
        steps.append(Step(sends=(Send(_rank(shape, _parent(position)), (own,)),)))
    return steps


def _broadcast_steps(shape: Shape, source: Span) -> list[Step]:
    """From `source` at the root, through recv everywhere else, to the largest subtree first."""
    position = _position(shape)
    steps = []
    if position:
        steps.append(Step(receives=(Receive(_rank(shape, _parent(position)), (shape.recv,)),)))
    held = shape.recv if position else source
    for child, _ in reversed(_children(position, shape.size)):
        steps.append(Step(sends=(Send(_rank(shape, child), (held,)),)))
    return steps


def allreduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    return plan([*_reduce_steps(shape, shape.recv), *_broadcast_steps(shape, shape.recv)])


def reduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    if shape.rank == shape.root:
        return plan(_reduce_steps(shape, shape.recv))
    scratch = shape.send.count if _children(_position(shape), shape.size) else 0
    return plan(_reduce_steps(shape, Span("scratch", 0, scratch)), scratch)


def broadcast(shape: Shape) -> Plan:
    steps = _broadcast_steps(shape, shape.send if shape.rank == shape.root else shape.recv)
    if shape.rank == shape.root:
        own = copy(shape, shape.send, shape.recv)
        steps = [together(own, *steps[:1]), *steps[1:]]
    return plan(steps)


def _at_root(shape: Shape, whole: Span, count: int, start: int, stop: int) -> tuple[Span, ...]:
    """Where the root keeps the blocks of positions [start, stop): one span, or two around the end of the buffer."""
    first, last = _rank(shape, start), _rank(shape, stop - 1)
    if first <= last:
        return (whole.within(first * count, (last + 1) * count),)
    return (whole.within(first * count, shape.size * count), whole.within(0, (last + 1) * count))


def _below(position: int, count: int, start: int, stop: int) -> tuple[Span, ...]:
    """Where an interior rank keeps the blocks of its subtree's positions [start, stop), its own left out."""
    return (Span("scratch", (start - position - 1) * count, (stop - position - 1) * count),)


def _subtree(position: int, size: int) -> int:
    """The end of the subtree under `position`."""
    return max((stop for _, stop in _children(position, size)), default=position + 1)


def gather(shape: Shape) -> Plan:
    position, count = _position(shape), shape.send.count
    children = _children(position, shape.size)
    if position == 0:
        steps = [
            Step(receives=(Receive(_rank(shape, child), _at_root(shape, shape.recv, count, child, stop)),))
            for child, stop in children
        ]
        own = copy(shape, shape.send, shape.recv_block(shape.root))
        return plan([together(own, *steps[:1]), *steps[1:]])
    steps = [
        Step(receives=(Receive(_rank(shape, child), _below(position, count, child, stop)),)) for child, stop in children
    ]
    end = _subtree(position, shape.size)
    held = _below(position, count, position + 1, end) if children else ()
    steps.append(Step(sends=(Send(_rank(shape, _parent(position)), (shape.send, *held)),)))
    return plan(steps, scratch=(end - position - 1) * count)


def scatter(shape: Shape) -> Plan:
    position, count = _position(shape), shape.recv.count
    children = list(reversed(_children(position, shape.size)))
    if position == 0:
        steps = [
            Step(sends=(Send(_rank(shape, child), _at_root(shape, shape.send, count, child, stop)),))
            for child, stop in children
        ]
        own = copy(shape, shape.send_block(shape.root), shape.recv)
        return plan([together(own, *steps[:1]), *steps[1:]])
    end = _subtree(position, shape.size)
    held = _below(position, count, position + 1, end) if children else ()
    steps = [Step(receives=(Receive(_rank(shape, _parent(position)), (shape.recv, *held)),))]
    steps += [
        Step(sends=(Send(_rank(shape, child), _below(position, count, child, stop)),)) for child, stop in children
    ]
    return plan(steps, scratch=(end - position - 1) * count)


def reduce_closed(size: int, count: int, group: int) -> Closed:
    return Closed(_depth(size), count * min(size - 1, 1), _depth(size), count * _depth(size))


def broadcast_closed(size: int, count: int, group: int) -> Closed:
    return Closed(_depth(size), count * _depth(size), _depth(size), count * _depth(size))


def allreduce_closed(size: int, count: int, group: int) -> Closed:
    return Closed(2 * _depth(size), count * _depth(size), 2 * _depth(size), 2 * count * _depth(size))


def gather_closed(size: int, count: int, group: int) -> Closed:
    """The largest subtree below the root: the upper half, or for odd shapes the lower one."""
    depth = _depth(size)
    heaviest = max([0] + [stop - child for child, stop in _children(0, size)])
    return Closed(depth, count * heaviest, depth, count * (size - 1))


def scatter_closed(size: int, count: int, group: int) -> Closed:
    return Closed(_depth(size), count * (size - 1), _depth(size), count * (size - 1))
