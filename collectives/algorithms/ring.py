"""Ring: every rank talks to its two neighbours only, and all links carry the same load at all times.

Allreduce on 4 ranks; chunk c travels, gathering contributions, until its owner c holds it whole (3 steps), then
travels on, overwriting (3 steps):

    step     rank 0      rank 1      rank 2      rank 3
      0    send 3 ->   send 0 ->   send 1 ->   send 2 ->      reduce: fold the arriving chunk into mine
      1    send 2 ->   send 3 ->   send 0 ->   send 1 ->
      2    send 1 ->   send 2 ->   send 3 ->   send 0 ->      now rank r holds chunk r complete
      3    send 0 ->   send 1 ->   send 2 ->   send 3 ->      gather: overwrite
      4    send 3 ->   send 0 ->   send 1 ->   send 2 ->
      5    send 2 ->   send 3 ->   send 0 ->   send 1 ->

Steps 2(n-1), bytes sent 2S(n-1)/n for allreduce; half of each for reduce_scatter and allgather. The least bytes of
any algorithm without help from the network, but latency grows with n.
Reference: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009.
May import: schedule.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    chunks,
    copy,
    plan,
    together,
)  # fmt: skip


def reduce_steps(
    me: int, peers: Sequence[int], sources: Sequence[Span], partials: Sequence[Span], into: Span
) -> list[Step]:
    """Reduce chunk i of all peers to peers[i]; `me` is this rank's index in `peers`.

    sources[i] is this rank's contribution to chunk i; partials[i] takes what it has gathered of chunk i, and may be
    the same memory as the source; its own chunk ends in `into`.
    """
    n = len(peers)
    rank, after, before = peers[me], peers[(me + 1) % n], peers[(me - 1) % n]
    steps = []
    for s in range(n - 1):
        sent, folded = (me - 1 - s) % n, (me - 2 - s) % n
        own, target = sources[folded], into if folded == me else partials[folded]
        operands = (Message(before), own) if before < rank else (own, Message(before))
        steps.append(
            Step(
                sends=(Send(after, (sources[sent] if s == 0 else partials[sent],)),),
                folds=(Fold(target, operands, last=folded == me),),
            )
        )
    return steps


def gather_steps(me: int, peers: Sequence[int], own: Span, blocks: Sequence[Span]) -> list[Step]:
    """Bring block i, which peers[i] holds in its blocks[i], to all; this rank's own is read from `own` first."""
    n = len(peers)
    after, before = peers[(me + 1) % n], peers[(me - 1) % n]
    return [
        Step(
            sends=(Send(after, (own if s == 0 else blocks[(me - s) % n],)),),
            receives=(Receive(before, (blocks[(me - 1 - s) % n],)),),
        )
        for s in range(n - 1)
    ]


def allreduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    peers = range(shape.size)
    sources, targets = chunks(shape.send, shape.size), chunks(shape.recv, shape.size)
    own = targets[shape.rank]
    return plan(
        [
            *reduce_steps(shape.rank, peers, sources, targets, own),
            *gather_steps(shape.rank, peers, own, targets),
        ]
    )


def reduce_scatter(shape: Shape) -> Plan:
    """Partial chunks live in two scratch blocks in turn: one is sent while the other is folded into."""
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    count = shape.recv.count
    sources = [shape.send_block(block) for block in range(shape.size)]
    places = [(shape.rank - 2 - block) % shape.size % 2 * count for block in range(shape.size)]
    partials = [Span("scratch", place, place + count) for place in places]
    steps = reduce_steps(shape.rank, range(shape.size), sources, partials, shape.recv)
    return plan(steps, scratch=2 * count)


def allgather(shape: Shape) -> Plan:
    blocks = [shape.recv_block(block) for block in range(shape.size)]
    own = copy(shape, shape.send, blocks[shape.rank])
    steps = gather_steps(shape.rank, range(shape.size), shape.send, blocks)
    return plan([together(own, *steps[:1]), *steps[1:]])


def allreduce_closed(size: int, count: int, group: int) -> Closed:
    steps, elements = 2 * (size - 1), 2 * count * (size - 1) / size
    return Closed(steps, elements, steps, elements)


def block_closed(size: int, count: int, group: int) -> Closed:
    """reduce_scatter and allgather with blocks of `count`."""
    return Closed(size - 1, count * (size - 1), size - 1, count * (size - 1))
