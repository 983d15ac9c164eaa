"""Hierarchical: reduce inside every group, exchange across groups, spread inside; every local rank carries a share.

Allreduce on 2 groups of 2 (0 1 | 2 3), chunks a b:

    step 0   0 <-> 1      2 <-> 3         0: a of 0,1    1: b of 0,1    2: a of 2,3    3: b of 2,3
    steps    0 <-> 2      1 <-> 3         rings across groups, one per local rank, each on its own chunk
    last     0 <-> 1      2 <-> 3         0 and 1 exchange a and b, as do 2 and 3

Steps 2 + 2(m-1) for m groups of g ranks, bytes sent 2S(g-1)/g inside and 2S(m-1)/(mg) across. So 2S(m-1)/m leave a
group, shared by its g ranks, where a flat ring of all n ranks sends 2S(n-1)/n over the border, all from one rank.
Limits: groups of equal size that cover all ranks.
May import: schedule, direct, ring.
"""

from __future__ import annotations

from collectives.algorithms import direct, ring
from collectives.schedule import Closed, Plan, Shape, chunks, copy, plan


def unmet(shape: Shape) -> str | None:
    """Why this shape cannot be served, or None."""
    if not shape.groups:
        return "needs groups of ranks (hosts or NUMA nodes, or --group-size)"
    sizes = sorted({len(group) for group in shape.groups}, reverse=True)
    if len(sizes) > 1:
        return f"needs groups of equal size, not of {', '.join(map(str, sizes))}"
    if sorted(rank for group in shape.groups for rank in group) != list(range(shape.size)):
        return f"needs groups that hold each of the {shape.size} ranks once"
    return None


def allreduce(shape: Shape) -> Plan:
    if shape.size == 1:
        return plan([copy(shape, shape.send, shape.recv)])
    group = next(index for index, ranks in enumerate(shape.groups) if shape.rank in ranks)
    inside = shape.groups[group]
    me = inside.index(shape.rank)
    across = [ranks[me] for ranks in shape.groups]
    sources, targets = chunks(shape.send, len(inside)), chunks(shape.recv, len(inside))
    alone = len(across) == 1
    steps = []
    if len(inside) > 1:
        steps.append(direct.reduce_step(me, inside, sources, targets[me], last=alone))
        sources = targets
    if not alone:
        parts = chunks(targets[me], len(across))
        steps += ring.reduce_steps(group, across, chunks(sources[me], len(across)), parts, parts[group])
        steps += ring.gather_steps(group, across, parts[group], parts)
    if len(inside) > 1:
        steps.append(direct.gather_step(me, inside, targets[me], targets))
    return plan(steps)


def allreduce_closed(size: int, count: int, group: int) -> Closed:
    """`group` ranks in each group."""
    m = size // group
    inside = 2 * count * (group - 1) / group
    across = 2 * count / group * (m - 1) / m
    steps = 2 * min(group - 1, 1) + 2 * (m - 1)
    return Closed(steps, inside + across, 2 * (group - 1) + 2 * (m - 1), inside + across)
