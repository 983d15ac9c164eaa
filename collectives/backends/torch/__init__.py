"""The backends gloo, nccl and hccl: what torch.distributed moves data with.

Each communicator has a process group of its own over torch's store, not torch's default group: so several can be open
in one process, and a program's own use of torch.distributed is not touched. Ranks find torch's store through ours.
May import: everything in collectives; torch and torch_npu inside functions, in a rank only.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from collectives.address import interface_of, towards
from collectives.backends.torch.calls import exchange_batched, exchange_coalesced, exchange_singly
from collectives.backends.torch.communicator import TorchCommunicator, joined
from collectives.backends.torch.link import Link, first_sentence
from collectives.backends.torch.memory import (
    ASCEND,
    NVIDIA,
    Device,
    DeviceFiles,
    Memory,
    Mirrored,
    ModuleDevice,
    Shared,
)
from collectives.dtypes import DTYPES, OPERATORS
from collectives.errors import RendezvousError, ResourceError
from collectives.logbook import Logbook
from collectives.ops import COLLECTIVES
from collectives.placement import Placement
from collectives.recorder import Recorder
from collectives.rendezvous import Store
from collectives.world import meet


@dataclass(frozen=True, slots=True)
class TorchBackend:
    """A library that torch moves data with. What it lacks is that of torch 2.13 (torch_npu 2.x for hccl): the
    installed one says at the call what else it lacks."""

    name: str
    summary: str
    memory: Callable[[int], Memory]
    """Makes the memory of a local rank. Raises RendezvousError where it has no device."""
    connect: Callable[[Any, int, int, float, str], Any]
    """(store, rank, size, timeout in seconds, this host's address) -> process group."""
    describe: Callable[[], str]
    """What moves the data, with its version."""
    exchange: Callable[[Any, Any, int, Any, int], Sequence[Any]]
    reduce_spares_input: bool
    needs: Sequence[Callable[[], str | None]]
    """Each says why it is not met, as "reason; remedy"."""
    no_types: Mapping[str, frozenset[str]]
    """collective -> element types it cannot move."""
    no_operators: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """operator -> element types it cannot be applied to."""
    devices: DeviceFiles | None = None
    """What it is made for, where that is not the CPU."""
    plans: bool = False

    def unavailable(self) -> str | None:
        return next((reason for need in self.needs if (reason := need())), None)

    def claims(self) -> bool:
        return self.devices is not None and self.devices.missing() is None

    def caveat(self) -> str | None:
        return None

    def lacks(self, collective: str, dtype: str, operator: str) -> str | None:
        if dtype in self.no_types.get(collective, ()):
            return f"{self.name} in torch has no {collective} of {dtype}"
        if COLLECTIVES[collective].reduces and dtype in self.no_operators.get(operator, ()):
            return f"{self.name} in torch has no {operator} of {dtype}"
        return None

    def open(
        self,
        placement: Placement,
        store: Store,
        token: str,
        timeout: float,
        address: str | None = None,
        recorder: Recorder | None = None,
    ) -> TorchCommunicator:
        """Rank 0 serves torch's store and tells the others where; then all connect. Raises RendezvousError."""
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        memory = self.memory(placement.local_rank)
        here = (address or towards(store.address)) if placement.node_count > 1 else _HOST
        served, told = _serve(dist, timeout, here) if placement.rank == 0 else (None, {})
        world = meet(store, f"world.{self.name}", placement, timeout, **told)
        size, limit = placement.world_size, timedelta(seconds=timeout)
        try:
            host, port = world[0]["door"]
            common = served or dist.TCPStore(host, port, None, False, limit, wait_for_workers=False)
            # torch's store asks nobody who he is; a stranger would have to guess where the ranks write.
            prefixed = dist.PrefixStore(world[0]["prefix"], common)
            group = joined(self, dist, prefixed, placement.rank, size, timeout, here, memory)
        except RuntimeError as error:
            said = first_sentence(str(error))
            raise RendezvousError(f"{self.name}: rank {placement.rank} could not connect: {said}") from None
        pids = {rank: member["pid"] for rank, member in enumerate(world) if member["node"] == placement.node}
        link = Link(group, prefixed, placement.rank, range(size), pids, timeout, here, self.name)
        library = f"torch {torch.__version__}, {self.describe()}, {torch._C.__file__}"
        book = Logbook(f"{self.name} world", placement.rank, range(size), recorder)
        return TorchCommunicator(self, dist, link, memory, library, book)


_HOST = "127.0.0.1"


def _serve(dist: Any, timeout: float, host: str) -> tuple[Any, dict[str, Any]]:
    """torch's store, on a port that the system has chosen and that nobody can take meanwhile, at this address only.
    Raises ResourceError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
            listener.listen(socket.SOMAXCONN)
        except OSError as error:
            raise ResourceError(f"torch's store cannot listen on {host}: {error.strerror}") from None
        port = listener.getsockname()[1]
        store = dist.TCPStore(
            host, port, None, True, timedelta(seconds=timeout), wait_for_workers=False,
            master_listen_fd=os.dup(listener.fileno()),
        )  # fmt: skip
    return store, {"door": (host, port), "prefix": secrets.token_hex(16)}


def _shared(local_rank: int) -> Memory:
    import torch

    return Shared(torch)


def _on_cuda(local_rank: int) -> Memory:
    import torch

    return mirrored(torch, ModuleDevice(torch, "cuda"), local_rank)


def _on_npu(local_rank: int) -> Memory:
    import torch
    import torch_npu  # noqa: F401 (it adds torch.npu)

    return mirrored(torch, ModuleDevice(torch, "npu"), local_rank)


def mirrored(torch: Any, device: Device, local_rank: int) -> Memory:
    """Tensors on the device of this local rank. Raises RendezvousError where there is none for it: libraries refuse or
    hang with two ranks on one device."""
    if local_rank >= (count := device.count()):
        raise RendezvousError(f"local rank {local_rank} has no device of its own: {count} visible; use fewer ranks")
    return Mirrored(torch, device, local_rank)


def _gloo_group(store: Any, rank: int, size: int, timeout: float, address: str) -> Any:
    import torch.distributed as dist

    options = dist.ProcessGroupGloo._Options()
    options._timeout = timedelta(seconds=timeout)
    # torch would look this host's name up and take whatever interface that leads to.
    named = os.environ.get("GLOO_SOCKET_IFNAME", "")
    create = dist.ProcessGroupGloo.create_device
    options._devices = [create(interface=name) for name in named.split(",") if name] or [create(hostname=address)]
    return dist.ProcessGroupGloo(store, rank, size, options)


def _nccl_group(store: Any, rank: int, size: int, timeout: float, address: str) -> Any:
    import torch.distributed as dist

    if address != _HOST and (name := interface_of(address)):
        os.environ.setdefault("NCCL_SOCKET_IFNAME", f"={name}")
    options = dist.ProcessGroupNCCL.Options()
    # After it, torch's watchdog ends the process: a wait for a device cannot be broken off from here.
    options._timeout = timedelta(seconds=timeout)
    return dist.ProcessGroupNCCL(store, rank, size, options)


def _hccl_group(store: Any, rank: int, size: int, timeout: float, address: str) -> Any:
    from torch_npu._C._distributed_c10d import ProcessGroupHCCL

    if address != _HOST and "HCCL_SOCKET_IFNAME" not in os.environ:
        os.environ.setdefault("HCCL_IF_IP", address)
    options = ProcessGroupHCCL.Options()
    options._timeout = timedelta(seconds=timeout)
    return ProcessGroupHCCL(store, rank, size, options)


def _nccl_version() -> str:
    import torch

    number = ".".join(str(part) for part in torch.cuda.nccl.version())
    return f"nccl {number} on {torch.cuda.get_device_name()}"


def _hccl_version() -> str:
    import torch
    import torch_npu

    return f"hccl of torch_npu {torch_npu.__version__} on {torch.npu.get_device_name()}"


def _no_torch() -> str | None:
    return None if find_spec("torch") else "torch is not installed; pip install 'torch>=2.4'"


def _no_torch_npu() -> str | None:
    if find_spec("torch_npu"):
        return None
    return "torch_npu is not installed; pip install torch-npu, in the version that goes with your torch and CANN"


def _torch_for_cpus() -> str | None:
    try:
        installed = version("torch")
    except PackageNotFoundError:
        return None  # built from source: it will say itself
    if not installed.endswith("+cpu"):
        return None
    return f"torch {installed} was built without CUDA; install a build for your CUDA version from pytorch.org"


_INTEGERS = frozenset(name for name in DTYPES if "int" in name)
_NO_UNSIGNED = {name: frozenset({"uint32", "uint64"}) for name in COLLECTIVES}
_HCCL_REDUCES = frozenset({"int8", "int32", "int64", "float16", "bfloat16", "float32"})

GLOO = TorchBackend(
    "gloo",
    "torch.distributed's library for CPUs",
    memory=_shared,
    connect=_gloo_group,
    describe=lambda: "gloo built into it",
    exchange=exchange_singly,
    reduce_spares_input=False,
    needs=(_no_torch,),
    # Sending is of bytes; all else asks for the type.
    no_types={**_NO_UNSIGNED, "sendrecv": frozenset()},
    no_operators={"avg": _INTEGERS},
)
NCCL = TorchBackend(
    "nccl",
    "NVIDIA's library for its GPUs, by torch.distributed",
    memory=_on_cuda,
    connect=_nccl_group,
    describe=_nccl_version,
    exchange=exchange_coalesced,
    reduce_spares_input=True,
    needs=(_no_torch, NVIDIA.missing, _torch_for_cpus),
    devices=NVIDIA,
    no_types=_NO_UNSIGNED,
)
HCCL = TorchBackend(
    "hccl",
    "Huawei's library for Ascend NPUs, by torch_npu",
    memory=_on_npu,
    connect=_hccl_group,
    describe=_hccl_version,
    exchange=exchange_batched,
    reduce_spares_input=True,
    needs=(_no_torch, _no_torch_npu, ASCEND.missing),
    devices=ASCEND,
    no_types=_NO_UNSIGNED,
    no_operators={
        **{operator: frozenset(DTYPES) - _HCCL_REDUCES for operator in OPERATORS},
        "avg": frozenset(DTYPES),
    },
)
