"""What each rank of a training job calls, in order: pipeline schedule, layers, micro-batches, optimizer step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tests.made_up.training import mesh
from tests.made_up.training.mesh import Mesh

Way = Literal["send", "recv"]


@dataclass(frozen=True)
class Collective:
    """A call of a group, as PyTorch names it."""

    group: str
    op: str
    count: int
    awaited: bool = True
    """What is computed after it needs what it gives. Else that is only so after an `Await`."""
    ahead: bool = False
    """It needs nothing of what is computed before it: its stream may run ahead."""
    handle: str = ""
    """By which an `Await` knows it."""
    lost: bool = False
    """The network loses some of it: it does not end for anybody."""
    last: bool = False
    """The device takes part in it, and does not come back: it ends for all others."""


@dataclass(frozen=True)
class Message:
    way: Way
    peer: int
    """Rank in the world."""


@dataclass(frozen=True)
class Messages:
    """Called together, and awaited together, or, with a handle, only by an `Await`. A batch is one launch; without it
    each is one, on the stream of its two ranks."""

    group: str
    messages: tuple[Message, ...]
    batched: bool
    handle: str = ""


@dataclass(frozen=True)
class Await:
    """What is computed from here on needs what that call gives."""

    handle: str


@dataclass(frozen=True)
class HostSync:
    """The host waits for all that was computed so far: a number is read from the device."""


@dataclass(frozen=True)
class Stop:
    """The host comes no further. Of a process that is killed, what its device had not done is lost too."""

    killed: bool = False
    silent: bool = False
    """Nothing of the process goes on that could write a dump; its device ends what it was given."""
    early: bool = False
    """Its dump is written now: how what is under way ends is not in it."""


@dataclass(frozen=True)
class Hang:
    """A kernel that does not end."""


@dataclass(frozen=True)
class Fail:
    """The device does nothing any more, and nobody notes what it did last: as many ends as that."""

    unnoted: int


Step = Collective | Messages | Await | HostSync | Stop | Hang | Fail


@dataclass(frozen=True)
class Plan:
    """How the job trains."""

    steps: int
    micro_batches: int
    layers: int
    """Of each stage."""
    experts: bool
    routed_by_host: bool
    """The host reads how many tokens go to each expert before it calls the exchange."""
    sharded: bool
    """Parameters are spread over replicas, and gathered for a layer while the one before it is computed."""
    batched: bool
    """Messages of one place in the schedule are handed over at once."""
    chunks: int = 1
    """Of the model that each stage has: with more of them the pipeline is interleaved, and messages are awaited only
    when they are needed."""
    saved: bool = False
    """Each step ends with an evaluation and a checkpoint."""


def program(of: Mesh, plan: Plan, rank: int) -> list[Step]:
    """Of one rank. Each of `plan.steps` is a pipeline that fills, goes forward and backward by turns and empties
    (1F1B), and a step of the optimizer."""
    return _Program(of, plan, rank).written()


class _Program:
    def __init__(self, of: Mesh, plan: Plan, rank: int) -> None:
        self._mesh, self._plan, self._rank = of, plan, rank
        self._groups = of.of(rank)
        self._stage, self._last = of.stage(rank), of.pipeline - 1
        self._steps: list[Step] = []
        self._sharded = plan.sharded and mesh.DATA in self._groups
        self._passes = 0
        self._handles: list[str] = []

    def written(self) -> list[Step]:
        self._collective(mesh.WORLD, "all_reduce", 1)  # the time of the start
        for _ in range(self._plan.steps):
            if self._plan.chunks > 1 and self._last:
                self._interleaved()
            else:
                self._pipeline()
            self._optimizer()
            if self._plan.saved:
                self._evaluation()
                self._checkpoint()
        return self._steps

    def _pipeline(self) -> None:
        micro = self._plan.micro_batches
        filling = min(self._last - self._stage, micro)
        for _ in range(filling):
            self._messages(("recv", -1))
            self._forward()
            self._messages(("send", 1))
        if filling < micro:
            self._messages(("recv", -1))
        for number in range(micro - filling):
            self._forward()
            self._messages(("send", 1), ("recv", 1))
            self._backward()
            last = number == micro - filling - 1
            self._messages(*(() if last else (("recv", -1),)), ("send", -1))
        for _ in range(filling):
            self._messages(("recv", 1))
            self._backward()
            self._messages(("send", -1))

    def _interleaved(self) -> None:
        """Each stage goes through all that is to be computed in one order, chunk by chunk for as many micro-batches as
        there are stages. What the last stage gives goes to the next chunk of the first."""
        stages, chunks = self._last + 1, self._plan.chunks
        total = stages * chunks * max(1, self._plan.micro_batches // stages)
        filling = min(total, 2 * (self._last - self._stage) + (chunks - 1) * stages)
        self._receive_forward(0)
        for number in range(filling):
            self._forward_of(number, total)
            if number == filling - 1 and filling < total:
                self._receive_backward(0)
        if filling == total:
            self._receive_backward(0)
        for number in range(total):
            if number + filling < total:
                self._forward_of(number + filling, total)
            self._await(f"backward {number}")
            self._backward()
            if not (self._stage == 0 and self._chunk(number, backward=True) == 0):
                self._message("send", -1, f"sent back {number}")
            if number + 1 < total:
                self._receive_backward(number + 1)
        self._steps += [Await(handle) for handle in self._handles]
        self._handles.clear()

    def _forward_of(self, number: int, total: int) -> None:
        self._await(f"forward {number}")
        self._forward()
        if not (self._stage == self._last and self._chunk(number) == self._plan.chunks - 1):
            self._message("send", 1, f"sent {number}")
        if number + 1 < total:
            self._receive_forward(number + 1)

    def _chunk(self, number: int, *, backward: bool = False) -> int:
        chunk = number // (self._last + 1) % self._plan.chunks
        return self._plan.chunks - 1 - chunk if backward else chunk

    def _receive_forward(self, number: int) -> None:
        if not (self._stage == 0 and self._chunk(number) == 0):
            self._message("recv", -1, f"forward {number}")

    def _receive_backward(self, number: int) -> None:
        if not (self._stage == self._last and self._chunk(number, backward=True) == self._plan.chunks - 1):
            self._message("recv", 1, f"backward {number}")

    def _message(self, way: Way, by: int, handle: str) -> None:
        """Around the end of the pipeline too."""
        group = self._groups[mesh.PIPELINE]
        peer = group.ranks[(self._stage + by) % len(group.ranks)]
        self._handles.append(handle)
        self._steps.append(Messages(self._way(way), (Message(way, peer),), False, handle))

    def _await(self, handle: str) -> None:
        if handle in self._handles:
            self._handles.remove(handle)
            self._steps.append(Await(handle))

    def _way(self, way: Way) -> str:
        """The group for it: of two stages what goes to the first one goes through that of all, as both ways shall not
        wait for each other."""
        through_all = self._last == 1 and (way == "send") == (self._stage == 1)
        return self._groups[mesh.WORLD if through_all else mesh.PIPELINE].name

    def _evaluation(self) -> None:
        """Forward only."""
        for _ in range(2):
            self._messages(("recv", -1))
            self._forward()
            self._messages(("send", 1))
        self._collective(mesh.DATA, "all_reduce", 2)

    def _checkpoint(self) -> None:
        self._steps.append(HostSync())
        self._collective(mesh.WORLD, "_all_gather_base", 64)
        self._steps.append(HostSync())
        self._collective(mesh.WORLD, "all_reduce_barrier", 1)
        self._steps.append(HostSync())

    def _forward(self) -> None:
        if self._stage == 0:
            self._collective(mesh.TENSOR, "broadcast", 8)  # the samples
        self._passes += 1
        self._gather(0)
        for layer in range(self._plan.layers):
            self._parameters(layer)
            self._collective(mesh.TENSOR, "_all_gather_base", 4096)
            self._experts(self._plan.routed_by_host)
            self._collective(mesh.TENSOR, "_reduce_scatter_base", 8192)

    def _backward(self) -> None:
        self._passes += 1
        self._gather(0)
        for layer in range(self._plan.layers):
            self._parameters(layer)
            self._collective(mesh.TENSOR, "_all_gather_base", 8192)
            self._experts(False)  # where tokens came from is known
            self._collective(mesh.TENSOR, "_reduce_scatter_base", 4096)

    def _experts(self, routed_by_host: bool) -> None:
        if self._plan.experts and mesh.EXPERT in self._groups:
            self._collective(mesh.TENSOR, "_all_gather_base", 16)
            if routed_by_host:
                self._steps.append(HostSync())
            # How many tokens each gives is its own: counts need not agree.
            self._collective(mesh.EXPERT, "all_to_all", 4096 + self._rank)
            self._collective(mesh.EXPERT, "all_to_all", 4032 + self._rank)
            self._collective(mesh.STAGE, "all_reduce", 120)  # how many tokens each expert had

    def _gather(self, layer: int) -> None:
        """Its parameters, which nothing that is computed gives."""
        if self._sharded and layer < self._plan.layers:
            handle = f"{self._passes} {layer}"
            self._collective(mesh.DATA, "_all_gather_base", 2048, awaited=False, ahead=True, handle=handle)

    def _parameters(self, layer: int) -> None:
        """Of this layer are awaited, while those of the next one come."""
        if self._sharded:
            self._gather(layer + 1)
            self._steps.append(Await(f"{self._passes} {layer}"))

    def _optimizer(self) -> None:
        reduced = [
            kind for kind in (mesh.DATA, *((mesh.EXPERT_DATA,) if self._plan.experts else ())) if kind in self._groups
        ]
        for kind in reduced:  # gradients of all replicas are on their way while the embeddings' are summed
            self._collective(kind, "_reduce_scatter_base", 98304, awaited=False, handle=kind)
        self._collective(mesh.EMBEDDING, "all_reduce", 5000)
        self._steps += [Await(kind) for kind in reduced]
        self._collective(mesh.MODEL, "all_reduce", 1)
        self._steps.append(HostSync())  # the norm of all gradients
        for kind in reduced:
            self._collective(kind, "_all_gather_base", 24576)
        self._collective(mesh.WORLD, "all_reduce", 2)

    def _collective(
        self, kind: str, op: str, count: int, *, awaited: bool = True, ahead: bool = False, handle: str = ""
    ) -> None:
        if group := self._groups.get(kind):
            self._steps.append(Collective(group.name, op, count, awaited, ahead, handle))

    def _messages(self, *wanted: tuple[Way, int]) -> None:
        """To and from stages so far away. What goes forward is first at both ends: where messages are not a batch, one
        sends while the other receives."""
        group = self._groups.get(mesh.PIPELINE)
        ends = [(way, self._stage + by) for way, by in wanted if 0 <= self._stage + by <= self._last]
        if group is not None and self._last == 1 and not self._plan.batched:
            for way, stage in ends:
                self._steps.append(Messages(self._way(way), (Message(way, group.ranks[stage]),), False))
        elif ends and group is not None:
            messages = tuple(Message(way, group.ranks[stage]) for way, stage in ends)
            self._steps.append(Messages(group.name, messages, self._plan.batched))
