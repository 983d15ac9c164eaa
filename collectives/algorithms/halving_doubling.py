"""Halving and doubling (Rabenseifner): reduce_scatter by recursive halving, then allgather by recursive doubling.

Allreduce on 4 ranks, chunks a b c d:

    step 0   0 <-> 2   1 <-> 3      0, 1 keep a b;  2, 3 keep c d            fold half of the buffer
    step 1   0 <-> 1   2 <-> 3      0: a   1: b   2: c   3: d                fold a quarter
    step 2   0 <-> 1   2 <-> 3      0, 1: a b       2, 3: c d                overwrite
    step 3   0 <-> 2   1 <-> 3      all: a b c d

Steps 2 log2 p (+2), bytes sent 2S(p-1)/p (+S): what ring sends, in logarithmic steps.
Any size, by the proxies of recursive_doubling, p being the largest power of two.
Limits: the reduce_scatter half alone serves powers of two only.
Reference: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
May import: schedule, recursive_doubling.
"""

from __future__ import annotations

from collections.abc import Callable

from collectives.algorithms.recursive_doubling import pair, power_below, proxied
from collectives.schedule import Closed, Fold, Plan, Receive, Send, Shape, Span, Step, chunks, copy, plan


def _halve(
    rank: int, power: int, blocks: Callable[[int, int], Span], work: Callable[[int, int], Span], into: Span
) -> list[Step]:
    """Reduce block i of `power` ranks to rank i.

    blocks(low, high) is where this rank's own contribution to blocks [low, high) lies, work(low, high) where partial
    results go; the last fold goes to `into`.
    """
    steps = []
    low, high, held = 0, power, blocks
    distance = power // 2
    while distance:
        middle = (low + high) // 2
        keep, give = ((low, middle), (middle, high)) if not rank & distance else ((middle, high), (low, middle))
        last = distance == 1
        target = into if last else work(*keep)
        peer = rank ^ distance
        operands = pair(rank, held(*keep), peer)
        steps.append(Step(sends=(Send(peer, (held(*give),)),), folds=(Fold(target, operands, last),)))
        (low, high), held = keep, work
        distance //= 2
    return steps


def _joined(pieces: list[Span]) -> Callable[[int, int], Span]:
    return lambda low, high: Span(pieces[low].buffer, pieces[low].start, pieces[high - 1].stop)


def allreduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    if proxy_plan := proxied(shape):
        return proxy_plan
    power = power_below(shape.size)
    own, work = _joined(chunks(shape.send, power)), _joined(chunks(shape.recv, power))
    steps: list[Step] = []
    extra = shape.rank + power if shape.rank + power < shape.size else None
    if extra is not None:
        steps.append(Step(folds=(Fold(shape.recv, pair(shape.rank, shape.send, extra)),)))
        own = work
    steps += _halve(shape.rank, power, own, work, work(shape.rank, shape.rank + 1))
    distance = 1
    while distance < power:
        peer = shape.rank ^ distance
        mine, theirs = (start // distance * distance for start in (shape.rank, peer))
        steps.append(
            Step(
                sends=(Send(peer, (work(mine, mine + distance),)),),
                receives=(Receive(peer, (work(theirs, theirs + distance),)),),
            )
        )
        distance *= 2
    if extra is not None:
        steps.append(Step(sends=(Send(extra, (shape.recv,)),)))
    return plan(steps)


def reduce_scatter(shape: Shape) -> Plan:
    """Partial results live in scratch, half of the send buffer long."""
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    count, half = shape.recv.count, shape.size // 2
    own = _joined([shape.send_block(block) for block in range(shape.size)])
    # After the first halving only the kept half is worked on: block b lives at b modulo half.
    places = [Span("scratch", block % half * count, (block % half + 1) * count) for block in range(shape.size)]
    scratch = half * count if half > 1 else 0
    return plan(_halve(shape.rank, shape.size, own, _joined(places), shape.recv), scratch)


def allreduce_closed(size: int, count: int, group: int) -> Closed:
    power = power_below(size)
    rounds, extra = power.bit_length() - 1, power != size
    elements = 2 * count * (power - 1) / power
    steps = 2 * rounds + 2 * extra
    return Closed(steps, elements + extra * count, steps, elements + 2 * extra * count)


def reduce_scatter_closed(size: int, count: int, group: int) -> Closed:
    rounds = size.bit_length() - 1
    return Closed(rounds, count * (size - 1), rounds, count * (size - 1))
