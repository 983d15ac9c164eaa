"""Stand-ins for devices that this machine has not: for the device only, never for a result.

Tensors of a stub device are CPU tensors apart from the caller's memory; below them is a real gloo group between real
processes, so what a rank reads in the end was really sent and reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from collectives.backends.torch import GLOO, HCCL, NCCL, TorchBackend, mirrored
from collectives.backends.torch.memory import Memory


@dataclass
class StubDevice:
    """Counts how often it was waited for."""

    devices: int = 8
    chosen: list[int] = field(default_factory=list)
    waits: int = 0

    def count(self) -> int:
        return self.devices

    def set_device(self, index: int) -> None:
        self.chosen.append(index)

    def synchronize(self) -> None:
        self.waits += 1

    def name(self, index: int) -> str:
        return f"stub {index}"

    def empty(self, count: int, dtype: str) -> Any:
        import torch

        tensor = torch.empty(count, dtype=getattr(torch, dtype))
        tensor.view(torch.uint8).fill_(0xA5)
        return tensor


class AllOf:
    """One work for several, as a library that groups calls returns it."""

    def __init__(self, works: Sequence[Any]) -> None:
        self._works = works

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def wait(self) -> None:
        for work in self._works:
            work.wait()


class Idle:
    """A group that claims to gather and moves nothing."""

    def _allgather_base(self, *_: Any) -> AllOf:
        return AllOf([])


class Grouped:
    """A gloo group with the ways in which NCCL's and HCCL's take several messages at once; else it is gloo's."""

    def __init__(self, group: Any) -> None:
        self._group = group
        self._collected: list[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._group, name)

    def _start_coalescing(self) -> None:
        self._collected = []

    def _end_coalescing(self) -> AllOf:
        works, self._collected = self._collected, None
        assert works
        return AllOf(works)

    def send(self, tensors: list[Any], peer: int, tag: int) -> Any:
        return self._kept(self._group.send(tensors, peer, tag))

    def recv(self, tensors: list[Any], peer: int, tag: int) -> Any:
        return self._kept(self._group.recv(tensors, peer, tag))

    def _kept(self, work: Any) -> Any:
        if self._collected is not None:
            self._collected.append(work)
        return work

    def batch_isend_irecv(self, kinds: list[str], tensors: list[Any], peers: list[int]) -> AllOf:
        calls = {"isend": self._group.send, "irecv": self._group.recv}
        return AllOf([calls[k]([t], peer, 0) for k, t, peer in zip(kinds, tensors, peers, strict=True)])


def on_stub(library: TorchBackend, device: StubDevice) -> TorchBackend:
    """The library's own way through the backend, with gloo's limits, over a stub device."""

    def memory(local_rank: int) -> Memory:
        import torch

        return mirrored(torch, device, local_rank)

    return replace(
        library, memory=memory, describe=lambda: f"gloo for {library.name} on {device.name(0)}",
        connect=lambda *world: Grouped(GLOO.connect(*world)), reduce_spares_input=False, no_types=GLOO.no_types,
        no_operators=GLOO.no_operators,
    )  # fmt: skip


DEVICE = StubDevice()
"""This rank's."""

LIBRARIES = {"gloo": GLOO, "nccl": on_stub(NCCL, DEVICE), "hccl": on_stub(HCCL, DEVICE)}
"""What the tests' ranks open: gloo as it is, the others over the stub device."""
