"""One shot: every rank sends its whole buffer to every other, and each folds all of them.

    rank 0 --S--> 1 2 3 ...      each rank: recv = own + n-1 messages, in the order of ranks

Steps 1, bytes sent S(n-1): n/2 times the least, but a single exchange of messages. Best for a few bytes.
Limits: in place, the result goes through scratch, since the buffer is still being sent.
May import: schedule.
"""

from __future__ import annotations

from collectives.schedule import Closed, Fold, Plan, Receive, Send, Shape, Span, Step, by_rank, copy, onwards, plan


def allreduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    others = onwards(shape.rank, shape.size)
    scratch = Span("scratch", 0, shape.recv.count)
    into = scratch if shape.in_place else shape.recv
    exchange = Step(
        sends=tuple(Send(peer, (shape.send,)) for peer in others),
        folds=(Fold(into, by_rank(shape.rank, shape.send, others), last=True),),
    )
    if not shape.in_place:
        return plan([exchange])
    back = Step(sends=(Send(shape.rank, (scratch,)),), receives=(Receive(shape.rank, (shape.recv,)),))
    return plan([exchange, back], scratch=scratch.count)


def allreduce_closed(size: int, count: int, group: int) -> Closed:
    return Closed(min(size - 1, 1), count * (size - 1), size - 1, count * (size - 1))
