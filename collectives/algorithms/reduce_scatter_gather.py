"""Reduce_scatter and gather: every rank reduces one chunk, and the root collects the chunks.

    step 0   rank r <-- chunk r of every rank        fold, in the order of ranks
    step 1   root   <-- reduced chunk r of every rank

Steps 2, bytes sent S at most by any rank. The work of folding is shared by all. Best for large S.
Limits: ranks other than the root need scratch for one chunk.
Reference: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
May import: schedule, direct.
"""

from __future__ import annotations

from collectives.algorithms import direct
from collectives.schedule import NOTHING, Closed, Plan, Receive, Send, Shape, Span, Step, chunks, copy, plan


def reduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    peers, sources = range(shape.size), chunks(shape.send, shape.size)
    if shape.rank == shape.root:
        targets = chunks(shape.recv, shape.size)
        collect = Step(receives=tuple(Receive(peer, (targets[peer],)) for peer in peers if peer != shape.root))
        return plan([direct.reduce_step(shape.rank, peers, sources, targets[shape.rank], last=True), collect])
    partial = Span("scratch", 0, sources[shape.rank].count)
    deliver = Step(sends=(Send(shape.root, (partial,)),))
    return plan([direct.reduce_step(shape.rank, peers, sources, partial, last=True), deliver], partial.count)


def reduce_closed(size: int, count: int, group: int) -> Closed:
    if size == 1:
        return NOTHING
    return Closed(2, count, 2 * (size - 1), 2 * count * (size - 1) / size)
