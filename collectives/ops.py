"""COLLECTIVES: what each collective is, independent of how it is done.

A row says which blocks a rank holds, what its receive buffer must contain afterwards (the oracle, used by the proof
and by the check of real data), where in-place buffers coincide, and what bandwidth means for it.
May import: schedule, errors.

Conventions follow NCCL and nccl-tests: `size` is the total over all ranks for allgather, reduce_scatter, alltoall,
gather and scatter; bus factors are those of nccl-tests' doc/PERFORMANCE.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from collectives.errors import UsageError
from collectives.schedule import Shape

Counts = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of the oracle: elements [start, stop) of a receive buffer hold, from source index `source` on, the
    contributions of `ranks` (reduced, if there are several)."""

    start: int
    stop: int
    ranks: tuple[int, ...]
    source: int


@dataclass(frozen=True, slots=True)
class Collective:
    """One row. Functions of (rank, size, count, root) give blocks; `count` is the elements per rank and block."""

    name: str
    summary: str
    counts: Callable[[int, int, int, int], Counts]
    oracle: Callable[[Shape, int], list[Piece]]
    """The wanted receive buffer of a rank, for its shape and the count it was made from."""
    bus_factor: Callable[[int], float]
    """busbw = algbw * bus_factor(world size)."""
    blocks: Callable[[int], int]
    """How many counts make the size: size = count * blocks(world size) * item size."""
    traffic: Callable[[int], tuple[float, float]]
    """(read, written) by all ranks together in memory, at the least and out of place, as multiples of the size."""
    across: Callable[[int, int], float]
    """What each of so many hosts, with so many ranks in all, must send or receive at the least, as a multiple of the
    size; more where hosts hold unequally many ranks."""
    alias: Callable[[Shape], int | None] | None = None
    """In place, send element i is receive element i + alias; None for a rank without one of the two buffers. No
    function: the collective has no in-place form."""
    at_rest: Callable[[int], tuple[float, float]] = lambda size: (0, 0)
    """(reads, writes) of `traffic` that in place are none: what already lies where it belongs."""
    reduces: bool = False
    rooted: bool = False

    def least_traffic(self, size: int, *, in_place: bool) -> tuple[float, float]:
        """(read, written) by all ranks together in memory, at the least, as multiples of the size."""
        read, written = self.traffic(size)
        if not in_place:
            return read, written
        if size == 1:
            return 0, 0
        reads, writes = self.at_rest(size)
        return read - reads, written - writes

    def folds_over(self, *, in_place: bool) -> bool:
        """Whether results are written over operands."""
        return in_place and self.reduces

    def footprint(self, size: int, *, in_place: bool) -> float:
        """Memory that all ranks together read or write, at the least, as a multiple of the size."""
        traffic = self.least_traffic(size, in_place=in_place)
        return max(traffic) if self.folds_over(in_place=in_place) else sum(traffic)

    def elements(self, nbytes: int, size: int, itemsize: int) -> int:
        """The count that makes a call of `nbytes` bytes among `size` ranks, rounded down, but never to nothing."""
        return max(nbytes // (self.blocks(size) * itemsize), 1) if nbytes else 0

    def shape(
        self,
        rank: int,
        size: int,
        count: int,
        *,
        root: int = 0,
        groups: tuple[tuple[int, ...], ...] = (),
        in_place: bool = False,
    ) -> Shape:
        """The shape of a call with `count` elements. Raises UsageError."""
        if in_place and self.alias is None:
            raise UsageError(f"{self.name} has no in-place form")
        if not 0 <= root < size:
            raise UsageError(f"root {root} is not a rank of a world of {size}")
        send_counts, recv_counts = self.counts(rank, size, count, root)
        return Shape(rank, size, send_counts, recv_counts, root, groups, in_place)


def _skewed(rank: int, size: int, count: int) -> tuple[int, ...]:
    """alltoallv's load: size * count elements, the block for peer p in proportion to (rank + p) % size + 1.

    Symmetric in rank and peer, so what a rank sends to a peer is what it receives from it.
    """
    weights = [(rank + peer) % size + 1 for peer in range(size)]
    return tuple(2 * count * weight // (size + 1) for weight in weights)


def _everything(shape: Shape, count: int) -> list[Piece]:
    return [Piece(0, shape.recv.count, tuple(range(shape.size)), 0)]


def _from_peers(source: Callable[[Shape, int, int], int]) -> Callable[[Shape, int], list[Piece]]:
    """Receive block p comes from rank p, where it starts at `source(shape, p, count)`."""

    def oracle(shape: Shape, count: int) -> list[Piece]:
        blocks = [shape.recv_block(peer) for peer in range(len(shape.recv_counts))]
        return [Piece(b.start, b.stop, (peer,), source(shape, peer, count)) for peer, b in enumerate(blocks)]

    return oracle


def _bus_all_but_own(size: int) -> float:
    return (size - 1) / size


def _across_all_but_own(hosts: int, size: int) -> float:
    return (hosts - 1) / hosts


def _across_pairs(hosts: int, size: int) -> float:
    """Each of size/hosts ranks sends a block to all that are elsewhere."""
    return size / hosts * (hosts - 1) / hosts


def _across_one(hosts: int, size: int) -> float:
    return 1.0


def _bus_one(size: int) -> float:
    return 1.0


def _single(size: int) -> int:
    return 1


def _per_rank(size: int) -> int:
    return size


COLLECTIVES: dict[str, Collective] = {
    row.name: row
    for row in (
        Collective(
            "allreduce",
            "every rank gets the reduction of all",
            counts=lambda rank, size, count, root: ((count,), (count,)),
            oracle=_everything,
            bus_factor=lambda size: 2 * (size - 1) / size,
            blocks=_single,
            traffic=lambda size: (size, size),
            across=lambda hosts, size: 2 * (hosts - 1) / hosts,
            alias=lambda shape: 0,
            reduces=True,
        ),
        Collective(
            "allgather",
            "every rank gets the blocks of all",
            counts=lambda rank, size, count, root: ((count,), (count,) * size),
            oracle=_from_peers(lambda shape, peer, count: 0),
            bus_factor=_bus_all_but_own,
            blocks=_per_rank,
            traffic=lambda size: (1, size),
            across=_across_all_but_own,
            alias=lambda shape: shape.rank * shape.send_counts[0],
            at_rest=lambda size: (0, 1),
        ),
        Collective(
            "reduce_scatter",
            "every rank gets its block of the reduction of all",
            counts=lambda rank, size, count, root: ((count,) * size, (count,)),
            oracle=lambda shape, count: [
                Piece(0, shape.recv.count, tuple(range(shape.size)), shape.rank * shape.recv_counts[0])
            ],
            bus_factor=_bus_all_but_own,
            blocks=_per_rank,
            traffic=lambda size: (size, 1),
            across=_across_all_but_own,
            alias=lambda shape: -shape.rank * shape.recv_counts[0],
            reduces=True,
        ),
        Collective(
            "alltoall",
            "every rank sends a block to each and gets one from each",
            counts=lambda rank, size, count, root: ((count,) * size, (count,) * size),
            oracle=_from_peers(lambda shape, peer, count: shape.rank * count),
            bus_factor=_bus_all_but_own,
            blocks=_per_rank,
            traffic=lambda size: (size, size),
            across=_across_pairs,
        ),
        Collective(
            "alltoallv",
            "alltoall with blocks of unequal size",
            counts=lambda rank, size, count, root: (_skewed(rank, size, count), _skewed(rank, size, count)),
            oracle=_from_peers(lambda shape, peer, count: sum(_skewed(peer, shape.size, count)[: shape.rank])),
            bus_factor=_bus_all_but_own,
            blocks=_per_rank,
            traffic=lambda size: (size, size),
            across=_across_pairs,
        ),
        Collective(
            "broadcast",
            "every rank gets the root's buffer",
            counts=lambda rank, size, count, root: ((count,) if rank == root else (), (count,)),
            oracle=lambda shape, count: [Piece(0, shape.recv.count, (shape.root,), 0)],
            bus_factor=_bus_one,
            blocks=_single,
            traffic=lambda size: (1, size),
            across=_across_one,
            alias=lambda shape: 0 if shape.rank == shape.root else None,
            at_rest=lambda size: (0, 1),
            rooted=True,
        ),
        Collective(
            "reduce",
            "the root gets the reduction of all",
            counts=lambda rank, size, count, root: ((count,), (count,) if rank == root else ()),
            oracle=_everything,
            bus_factor=_bus_one,
            blocks=_single,
            traffic=lambda size: (size, 1),
            across=_across_one,
            alias=lambda shape: 0 if shape.rank == shape.root else None,
            reduces=True,
            rooted=True,
        ),
        Collective(
            "gather",
            "the root gets the blocks of all",
            counts=lambda rank, size, count, root: ((count,), (count,) * size if rank == root else ()),
            oracle=_from_peers(lambda shape, peer, count: 0),
            bus_factor=_bus_all_but_own,
            blocks=_per_rank,
            traffic=lambda size: (1, 1),
            across=_across_all_but_own,
            alias=lambda shape: shape.root * shape.send_counts[0] if shape.rank == shape.root else None,
            at_rest=lambda size: (1 / size, 1 / size),
            rooted=True,
        ),
        Collective(
            "scatter",
            "every rank gets its block of the root's buffer",
            counts=lambda rank, size, count, root: ((count,) * size if rank == root else (), (count,)),
            oracle=lambda shape, count: [Piece(0, shape.recv.count, (shape.root,), shape.rank * shape.recv_counts[0])],
            bus_factor=_bus_all_but_own,
            blocks=_per_rank,
            traffic=lambda size: (1, 1),
            across=_across_all_but_own,
            alias=lambda shape: -shape.root * shape.recv_counts[0] if shape.rank == shape.root else None,
            at_rest=lambda size: (1 / size, 1 / size),
            rooted=True,
        ),
        Collective(
            "sendrecv",
            "every rank sends to the next and gets from the one before",
            counts=lambda rank, size, count, root: ((count,), (count,)),
            oracle=lambda shape, count: [Piece(0, shape.recv.count, ((shape.rank - 1) % shape.size,), 0)],
            bus_factor=_bus_one,
            blocks=_single,
            traffic=lambda size: (size, size),
            across=_across_one,
        ),
        Collective(
            "barrier",
            "no rank leaves before all have entered",
            counts=lambda rank, size, count, root: ((), ()),
            oracle=lambda shape, count: [],
            bus_factor=lambda size: 0.0,
            blocks=_single,
            traffic=lambda size: (0, 0),
            across=lambda hosts, size: 0,
        ),
    )
}
