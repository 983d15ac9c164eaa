"""How torch makes each collective: CALLS, name -> a function that binds it to tensors.

The calls are those of a process group, as torch.distributed's functions make them, without the Python in front.
Binding does all the looking up; what it returns issues the call and gives the works to wait for. Where torch reduces or
broadcasts in place only, a caller who wants to keep the input copies first; that copy is part of the call, since every
user of torch pays for it. In place there is none. May import: schedule's shape; torch.distributed is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from collectives.schedule import Shape

Issue = Callable[[], Sequence[Any]]
"""Begin, and say what to wait for."""


class HasGroup(Protocol):
    """Looked into at every call, so that a call on a group that is gone says so."""

    group: Any


@dataclass(frozen=True, slots=True)
class Parts:
    """What a call is made of. Tensors are None where the rank has no such buffer."""

    dist: Any
    link: HasGroup
    shape: Shape
    operator: Any
    send: Any
    recv: Any
    scratch: Callable[[Any], Any]
    reduce_spares_input: bool
    """Whether the library's reduce leaves the tensors of ranks that are not the root as they are."""
    exchange: Callable[[Any, Any, int, Any, int], Sequence[Any]]
    """(group, send, to, recv, source) -> works of a send and a receive at once."""
    devices: Sequence[int]

    @property
    def at_root(self) -> bool:
        return self.shape.rank == self.shape.root


def _after_copy(source: Any, into: Any, call: Issue) -> Issue:
    def issue() -> Sequence[Any]:
        into.copy_(source)
        return call()

    return issue


def _nothing_to_wait_for() -> Sequence[Any]:
    return ()


def _blocks(tensor: Any, size: int) -> list[Any]:
    """Equal parts, views of the tensor; empty ones too, which torch's own split leaves out."""
    count = len(tensor) // size
    return [tensor[rank * count : (rank + 1) * count] for rank in range(size)]


def _allreduce(parts: Parts) -> Issue:
    options, link, tensors = parts.dist.AllreduceOptions(), parts.link, [parts.recv]
    options.reduceOp = parts.operator

    def issue() -> Sequence[Any]:
        return (link.group.allreduce(tensors, options),)

    return issue if parts.shape.in_place else _after_copy(parts.send, parts.recv, issue)


def _allgather(parts: Parts) -> Issue:
    link, send, recv = parts.link, parts.send, parts.recv
    return lambda: (link.group._allgather_base(recv, send),)


def _reduce_scatter(parts: Parts) -> Issue:
    options, link, send, recv = parts.dist.ReduceScatterOptions(), parts.link, parts.send, parts.recv
    options.reduceOp = parts.operator
    return lambda: (link.group._reduce_scatter_base(recv, send, options),)


def _alltoall(parts: Parts) -> Issue:
    link, send, recv = parts.link, parts.send, parts.recv
    return lambda: (link.group.alltoall_base(recv, send, [], []),)


def _alltoallv(parts: Parts) -> Issue:
    link, send, recv = parts.link, parts.send, parts.recv
    counts = list(parts.shape.recv_counts), list(parts.shape.send_counts)
    return lambda: (link.group.alltoall_base(recv, send, *counts),)


def _broadcast(parts: Parts) -> Issue:
    options, link, tensors = parts.dist.BroadcastOptions(), parts.link, [parts.recv]
    options.rootRank = parts.shape.root

    def issue() -> Sequence[Any]:
        return (link.group.broadcast(tensors, options),)

    copies = parts.at_root and not parts.shape.in_place
    return _after_copy(parts.send, parts.recv, issue) if copies else issue


def _reduce(parts: Parts) -> Issue:
    """The root reduces into its receive buffer. Others lend their input, or where the library would use it as scratch
    memory, a copy: who calls reduce wants to keep it."""
    options, link, send = parts.dist.ReduceOptions(), parts.link, parts.send
    options.reduceOp, options.rootRank = parts.operator, parts.shape.root
    lends = not parts.at_root and parts.reduce_spares_input
    used = parts.recv if parts.at_root else send if lends else parts.scratch(send)
    tensors = [used]

    def issue() -> Sequence[Any]:
        return (link.group.reduce(tensors, options),)

    return issue if lends or parts.shape.in_place else _after_copy(send, used, issue)


def _gather(parts: Parts) -> Issue:
    options, link, tensors = parts.dist.GatherOptions(), parts.link, [parts.send]
    options.rootRank = parts.shape.root
    blocks = [_blocks(parts.recv, parts.shape.size)] if parts.at_root else []
    return lambda: (link.group.gather(blocks, tensors, options),)


def _scatter(parts: Parts) -> Issue:
    options, link, tensors = parts.dist.ScatterOptions(), parts.link, [parts.recv]
    options.rootRank = parts.shape.root
    blocks = [_blocks(parts.send, parts.shape.size)] if parts.at_root else []
    return lambda: (link.group.scatter(tensors, blocks, options),)


def _sendrecv(parts: Parts) -> Issue:
    link, exchange, send, recv = parts.link, parts.exchange, parts.send, parts.recv
    rank, size = parts.shape.rank, parts.shape.size
    if size == 1:  # torch has no message to oneself
        return _after_copy(send, recv, _nothing_to_wait_for)
    after, before = (rank + 1) % size, (rank - 1) % size
    return lambda: exchange(link.group, send, after, recv, before)


def _barrier(parts: Parts) -> Issue:
    options, link = parts.dist.BarrierOptions(), parts.link
    options.device_ids = list(parts.devices)
    return lambda: (link.group.barrier(options),)


CALLS: Mapping[str, Callable[[Parts], Issue]] = {
    "allreduce": _allreduce,
    "allgather": _allgather,
    "reduce_scatter": _reduce_scatter,
    "alltoall": _alltoall,
    "alltoallv": _alltoallv,
    "broadcast": _broadcast,
    "reduce": _reduce,
    "gather": _gather,
    "scatter": _scatter,
    "sendrecv": _sendrecv,
    "barrier": _barrier,
}


def exchange_singly(group: Any, send: Any, to: int, recv: Any, source: int) -> Sequence[Any]:
    """Two calls, both under way before either is waited for."""
    return group.send([send], to, 0), group.recv([recv], source, 0)


def exchange_coalesced(group: Any, send: Any, to: int, recv: Any, source: int) -> Sequence[Any]:
    """As NCCL wants it: one group of calls, or each would wait for the other."""
    group._start_coalescing()
    group.send([send], to, 0)
    group.recv([recv], source, 0)
    return (group._end_coalescing(),)


def exchange_batched(group: Any, send: Any, to: int, recv: Any, source: int) -> Sequence[Any]:
    """As torch_npu's group takes them: in one call."""
    return (group.batch_isend_irecv(["isend", "irecv"], [send, recv], [to, source]),)
