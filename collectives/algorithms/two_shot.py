"""Two shot: rank r reduces chunk r of all ranks and pushes the result to all, in one step.

    shot 1   rank r <-- chunk r of every rank        fold, in the order of ranks
    shot 2   rank r --- reduced chunk r --> every rank

The second shot is sent `after` the fold, so an engine may do both in a single pass: read n chunks, write n copies.
Steps 1, bytes sent 2S(n-1)/n, the least there is; 2(n-1) messages a rank. Best wherever all pairs are equally near.
Reference: the two-shot allreduce of TensorRT-LLM and of Flux; MPICH's reduce_scatter + allgather with direct exchange.
May import: schedule, direct.
"""

from __future__ import annotations

from collectives.algorithms import direct
from collectives.schedule import Closed, Plan, Receive, Send, Shape, Step, chunks, copy, onwards, plan, together


def allreduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    sources, targets = chunks(shape.send, shape.size), chunks(shape.recv, shape.size)
    own = targets[shape.rank]
    others = onwards(shape.rank, shape.size)
    push = Step(
        sends=tuple(Send(peer, (own,), after=True) for peer in others),
        receives=tuple(Receive(peer, (targets[peer],)) for peer in others),
    )
    return plan([together(direct.reduce_step(shape.rank, range(shape.size), sources, own, last=True), push)])


def allreduce_closed(size: int, count: int, group: int) -> Closed:
    elements = 2 * count * (size - 1) / size
    return Closed(min(size - 1, 1), elements, 2 * (size - 1), elements)
