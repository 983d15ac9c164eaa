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
    """Called together, and awaited together. A batch is one launch; without it each is one, on the stream of its two
    ranks."""

    group: str
    messages: tuple[Message, ...]
    batched: bool


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


@dataclass(frozen=True)
class Hang:
    """A kernel that does not end."""


Step = Collective | Messages | Await | HostSync | Stop | Hang


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

    def written(self) -> list[Step]:
        for _ in range(self._plan.steps):
            self._pipeline()
            self._optimizer()
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
        if ends and group is not None:
            messages = tuple(Message(way, group.ranks[stage]) for way, stage in ends)
            self._steps.append(Messages(group.name, messages, self._plan.batched))
