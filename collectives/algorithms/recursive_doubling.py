"""Recursive doubling: in step k, ranks 2^k apart exchange all they have.

Allreduce on 4 ranks:

    step 0   0 <-> 1   2 <-> 3      each folds the other's buffer
    step 1   0 <-> 2   1 <-> 3      each folds the other's pair

Any size: the ranks from p, the largest power of two, upwards first hand their buffer to rank - p and get the result
back at the end. Both partners fold in the order of ranks, so all ranks get the same bits.

Steps log2 p (+2) for allreduce, bytes S in each: lg p (alpha + S beta + S gamma). Allgather takes log2 n steps and
sends the least bytes.
Limits: allgather serves powers of two only. A step may not fold into what it sends, so allreduce alternates between
two buffers, one of them scratch.
Reference: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
IJHPCA 2005.
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


def power_below(size: int) -> int:
    """The largest power of two that is not above `size`."""
    return 1 << (size.bit_length() - 1)


def pair(rank: int, own: Span, peer: int) -> tuple[Span | Message, ...]:
    """Two operands in the order of ranks."""
    return (own, Message(peer)) if rank < peer else (Message(peer), own)


def proxied(shape: Shape) -> Plan | None:
    """The plan of a rank beyond the largest power of two: hand over, then wait for the result."""
    power = power_below(shape.size)
    if shape.rank < power:
        return None
    proxy = shape.rank - power
    return plan([Step(sends=(Send(proxy, (shape.send,)),)), Step(receives=(Receive(proxy, (shape.recv,)),))])


def allreduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    if proxy_plan := proxied(shape):
        return proxy_plan
    power = power_below(shape.size)
    extra = shape.rank + power if shape.rank + power < shape.size else None
    peers = [shape.rank ^ (1 << k) for k in range(power.bit_length() - 1)]
    folds = len(peers) + (extra is not None)
    scratch = Span("scratch", 0, shape.recv.count)
    # Working back from the last fold, which is into recv: never into the place that was just sent.
    places = [shape.recv if (folds - i) % 2 else scratch for i in range(folds)]
    steps: list[Step] = []
    own = shape.send
    if shape.in_place and extra is None and places[0] == shape.recv:
        # The first exchange would fold into the very buffer it sends.
        steps.append(Step(sends=(Send(shape.rank, (own,)),), receives=(Receive(shape.rank, (scratch,)),)))
        own = scratch
    if extra is not None:
        steps.append(Step(folds=(Fold(places[0], pair(shape.rank, own, extra)),)))
        own = places.pop(0)
    for peer, place in zip(peers, places, strict=True):
        last = peer == peers[-1]
        steps.append(Step(sends=(Send(peer, (own,)),), folds=(Fold(place, pair(shape.rank, own, peer), last),)))
        own = place
    if extra is not None:
        steps.append(Step(sends=(Send(extra, (shape.recv,)),)))
    return plan(steps, scratch=scratch.count)


def allgather(shape: Shape) -> Plan:
    blocks = [shape.recv_block(block) for block in range(shape.size)]
    steps = [copy(shape, shape.send, blocks[shape.rank])]
    for k in range(shape.size.bit_length() - 1):
        peer = shape.rank ^ (1 << k)
        mine, theirs = (start >> k << k for start in (shape.rank, peer))
        held = Span("recv", blocks[mine].start, blocks[mine + (1 << k) - 1].stop)
        wanted = Span("recv", blocks[theirs].start, blocks[theirs + (1 << k) - 1].stop)
        exchange = Step(sends=(Send(peer, (held if k else shape.send,)),), receives=(Receive(peer, (wanted,)),))
        steps = [together(steps[0], exchange)] if k == 0 else [*steps, exchange]
    return plan(steps)


def allreduce_closed(size: int, count: int, group: int) -> Closed:
    rounds = power_below(size).bit_length() - 1
    extra = power_below(size) != size
    return Closed(rounds + 2 * extra, (rounds + extra) * count, rounds + 2 * extra, (rounds + 2 * extra) * count)


def allgather_closed(size: int, count: int, group: int) -> Closed:
    rounds = size.bit_length() - 1
    return Closed(rounds, count * (size - 1), rounds, count * (size - 1))
