"""ALGORITHMS: how each collective can be done. To add one: a file with a plan function, and a row here.

The tests prove every row for many world sizes and counts, and hold its closed forms against the simulated plans.
May import: schedule, ops, errors, and the algorithm files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from collectives.algorithms import (
    bruck,
    direct,
    dissemination,
    halving_doubling,
    hierarchical,
    linear,
    one_shot,
    pairwise,
    recursive_doubling,
    reduce_scatter_gather,
    ring,
    scatter_allgather,
    tree,
    two_shot,
)
from collectives.errors import UsageError, unknown
from collectives.ops import COLLECTIVES
from collectives.schedule import Closed, Plan, Shape


def _any_shape(shape: Shape) -> str | None:
    return None


def _power_of_two(shape: Shape) -> str | None:
    if shape.size & (shape.size - 1):
        return f"needs a power of two ranks, not {shape.size}"
    return None


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One row. `unmet` says why a shape cannot be served; `closed(size, count, group)` is the cost in closed form,
    where `group` is the number of ranks in each group."""

    collective: str
    name: str
    plan: Callable[[Shape], Plan]
    closed: Callable[[int, int, int], Closed]
    summary: str
    unmet: Callable[[Shape], str | None] = _any_shape


_ROWS = (
    Algorithm("allreduce", "linear", linear.allreduce, linear.allreduce_closed, "gather at rank 0, fold, send to all"),
    Algorithm("allreduce", "ring", ring.allreduce, ring.allreduce_closed, "chunks travel round twice"),
    Algorithm("allreduce", "one_shot", one_shot.allreduce, one_shot.allreduce_closed, "all send all, all fold"),
    Algorithm("allreduce", "two_shot", two_shot.allreduce, two_shot.allreduce_closed, "fold own chunk, push it to all"),
    Algorithm(
        "allreduce", "recursive_doubling", recursive_doubling.allreduce, recursive_doubling.allreduce_closed,
        "exchange whole buffers over doubling distances",
    ),
    Algorithm(
        "allreduce", "halving_doubling", halving_doubling.allreduce, halving_doubling.allreduce_closed,
        "reduce_scatter by halving, allgather by doubling",
    ),
    Algorithm("allreduce", "tree", tree.allreduce, tree.allreduce_closed, "reduce up, broadcast down a binomial tree"),
    Algorithm(
        "allreduce", "hierarchical", hierarchical.allreduce, hierarchical.allreduce_closed,
        "inside groups, across groups, inside groups", hierarchical.unmet,
    ),
    Algorithm("reduce_scatter", "ring", ring.reduce_scatter, ring.block_closed, "chunks travel round once"),
    Algorithm("reduce_scatter", "direct", direct.reduce_scatter, direct.block_closed, "fold own chunk of all"),
    Algorithm(
        "reduce_scatter", "halving", halving_doubling.reduce_scatter, halving_doubling.reduce_scatter_closed,
        "exchange halves over halving distances", _power_of_two,
    ),
    Algorithm("allgather", "ring", ring.allgather, ring.block_closed, "blocks travel round once"),
    Algorithm("allgather", "direct", direct.allgather, direct.block_closed, "all send to all"),
    Algorithm(
        "allgather", "recursive_doubling", recursive_doubling.allgather, recursive_doubling.allgather_closed,
        "exchange all blocks held over doubling distances", _power_of_two,
    ),
    Algorithm("allgather", "bruck", bruck.allgather, bruck.allgather_closed, "doubling for any number of ranks"),
    Algorithm("alltoall", "direct", direct.alltoall, direct.block_closed, "all send to all at once"),
    Algorithm("alltoall", "pairwise", pairwise.alltoall, pairwise.block_closed, "one partner at a time"),
    Algorithm("alltoall", "bruck", bruck.alltoall, bruck.alltoall_closed, "blocks hop by the digits of their distance"),
    Algorithm("alltoallv", "direct", direct.alltoall, direct.skewed_closed, "all send to all at once"),
    Algorithm("alltoallv", "pairwise", pairwise.alltoall, pairwise.skewed_closed, "one partner at a time"),
    Algorithm("broadcast", "linear", linear.broadcast, linear.closed, "the root sends to all"),
    Algorithm("broadcast", "tree", tree.broadcast, tree.broadcast_closed, "binomial tree"),
    Algorithm(
        "broadcast", "scatter_allgather", scatter_allgather.broadcast, scatter_allgather.broadcast_closed,
        "a chunk to each, then round the ring",
    ),
    Algorithm("reduce", "linear", linear.reduce, linear.inward_closed, "the root folds all"),
    Algorithm("reduce", "tree", tree.reduce, tree.reduce_closed, "binomial tree"),
    Algorithm(
        "reduce", "reduce_scatter_gather", reduce_scatter_gather.reduce, reduce_scatter_gather.reduce_closed,
        "all fold a chunk, the root collects",
    ),
    Algorithm("gather", "linear", linear.gather, linear.inward_closed, "all send to the root"),
    Algorithm("gather", "tree", tree.gather, tree.gather_closed, "binomial tree"),
    Algorithm("scatter", "linear", linear.scatter, linear.closed, "the root sends to all"),
    Algorithm("scatter", "tree", tree.scatter, tree.scatter_closed, "binomial tree"),
    Algorithm("sendrecv", "direct", direct.sendrecv, direct.sendrecv_closed, "to the next, from the one before"),
    Algorithm("barrier", "dissemination", dissemination.barrier, dissemination.barrier_closed, "doubling distances"),
    Algorithm("barrier", "linear", linear.barrier, linear.barrier_closed, "report to rank 0, be released"),
)  # fmt: skip

ALGORITHMS: dict[str, dict[str, Algorithm]] = {
    collective: {row.name: row for row in _ROWS if row.collective == collective} for collective in COLLECTIVES
}
"""collective -> name -> row, in the order above."""


def algorithm_named(collective: str, name: str) -> Algorithm:
    """The row. Raises UsageError with the nearest known name."""
    rows = ALGORITHMS[collective]
    if name not in rows:
        raise UsageError(unknown(f"{collective} algorithm", name, rows))
    return rows[name]
