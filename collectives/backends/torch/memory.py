"""Where tensors live: in the caller's own memory, or on a device with a copy in the caller's memory.

A communicator hands out and takes numpy arrays of host memory, whatever it runs on. `Shared` makes tensors of that very
memory. `Mirrored` keeps tensors on a device and moves the data up before and down after a run, never inside a timed
loop; so what a check reads is what the device really has. Which devices are there is told by files, without torch.
May import: numpy, collectives.dtypes; torch is handed in.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from collectives.communicator import nothing
from collectives.dtypes import Array, dtype_named, name_of

Tensor = Any


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """How the devices of a vendor show before anything of theirs is loaded."""

    vendor: str
    pattern: str
    variable: str
    """With it, users hide devices from a program."""
    remedy: str

    def missing(self, folder: Path = Path("/dev"), environ: Mapping[str, str] = os.environ) -> str | None:
        """Why none is visible, naming what was looked at, as "reason; remedy"; None when there is one."""
        if not any(folder.glob(self.pattern)):
            return f"no {self.vendor} device is visible to torch (looked for {folder / self.pattern}); {self.remedy}"
        visible = environ.get(self.variable)
        if visible is not None and visible.strip() in ("", "-1"):
            hidden = f"no {self.vendor} device is visible to torch ({self.variable}='{visible}' hides all)"
            return f"{hidden}; unset {self.variable}, or name devices in it"
        return None


NVIDIA = DeviceFiles(
    "NVIDIA", "nvidia[0-9]*", "CUDA_VISIBLE_DEVICES", "install the NVIDIA driver, or pass the devices to this container"
)
ASCEND = DeviceFiles(
    "Ascend", "davinci[0-9]*", "ASCEND_RT_VISIBLE_DEVICES",
    "install the Ascend driver, or pass the devices to this container",
)  # fmt: skip


class Device(Protocol):
    """The devices of one kind: what is asked of them, and no more."""

    def count(self) -> int:
        """How many are visible."""

    def set_device(self, index: int) -> None:
        """Use this one from here on."""

    def synchronize(self) -> None:
        """Until the device has done all that it was given."""

    def name(self, index: int) -> str: ...

    def empty(self, count: int, dtype: str) -> Tensor:
        """A tensor on the device that was set, with anything in it."""


class ModuleDevice:
    """The devices that torch reaches by a module of its own, as torch.cuda or torch.npu."""

    def __init__(self, torch: Any, kind: str) -> None:
        self._torch, self._kind, self._module = torch, kind, getattr(torch, kind)

    def count(self) -> int:
        return int(self._module.device_count())

    def set_device(self, index: int) -> None:
        self._module.set_device(index)

    def synchronize(self) -> None:
        self._module.synchronize()

    def name(self, index: int) -> str:
        return str(self._module.get_device_name(index))

    def empty(self, count: int, dtype: str) -> Tensor:
        # Without an index it is the device that was set.
        return self._torch.empty(count, dtype=getattr(self._torch, dtype), device=self._kind)


@dataclass(frozen=True, slots=True)
class Buffers:
    """The tensors of a call, and the copies between them and the caller's arrays, as (into, from)."""

    send: Tensor | None
    recv: Tensor | None
    ups: Sequence[tuple[Tensor, Tensor]] = ()
    downs: Sequence[tuple[Tensor, Tensor]] = ()

    def upload(self) -> None:
        """What the caller has, to where the library works: also what is to be overwritten, so that what a run leaves
        out cannot pass for its result."""
        for into, source in self.ups:
            into.copy_(source)

    def download(self) -> None:
        """The result, to where the caller looks."""
        for into, source in self.downs:
            into.copy_(source)


class Memory(Protocol):
    """Makes tensors for arrays."""

    devices: Sequence[int]
    """The device in use, for the calls that want to be told."""
    synchronize: Callable[[], None]

    def allocate(self, count: int, dtype: str) -> Array: ...

    def buffers(self, send: Array | None, recv: Array | None) -> Buffers: ...

    def scratch(self, like: Tensor) -> Tensor:
        """A tensor of the same kind and length."""


class Shared:
    """Tensors over the caller's own memory: nothing has to be moved, and calls have ended when they return."""

    devices: Sequence[int] = ()
    synchronize = staticmethod(nothing)

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def allocate(self, count: int, dtype: str) -> Array:
        return np.empty(count, dtype_named(dtype)[1])

    def buffers(self, send: Array | None, recv: Array | None) -> Buffers:
        tensors = [None if array is None else tensor_of(self._torch, array) for array in (send, recv)]
        return Buffers(tensors[0], tensors[1])

    def scratch(self, like: Tensor) -> Tensor:
        return self._torch.empty_like(like)


class Mirrored:
    """Tensors on a device, for arrays in host memory."""

    def __init__(self, torch: Any, device: Device, index: int) -> None:
        """Raises what the device says where it cannot be used."""
        device.set_device(index)
        self._torch, self._device = torch, device
        self.devices: Sequence[int] = (index,)
        self.synchronize = device.synchronize

    def allocate(self, count: int, dtype: str) -> Array:
        return np.empty(count, dtype_named(dtype)[1])

    def buffers(self, send: Array | None, recv: Array | None) -> Buffers:
        arrays = [array for array in (send, recv) if array is not None]
        whole = max(arrays, key=len, default=None)
        if whole is None:
            return Buffers(None, None)
        if send is None or recv is None or not np.may_share_memory(send, recv):
            tensors = [None if array is None else self._device.empty(len(array), name_of(array.dtype))
                       for array in (send, recv)]  # fmt: skip
            ups = [(tensor, tensor_of(self._torch, array))
                   for tensor, array in zip(tensors, (send, recv), strict=True) if array is not None]  # fmt: skip
        else:
            # In place, one lies within the other; on the device they must, too.
            memory = self._device.empty(len(whole), name_of(whole.dtype))
            tensors = [_within(memory, whole, array) for array in arrays]
            ups = [(memory, tensor_of(self._torch, whole))]
        downs = [] if recv is None else [(tensor_of(self._torch, recv), tensors[1])]
        return Buffers(tensors[0], tensors[1], ups, downs)

    def scratch(self, like: Tensor) -> Tensor:
        return self._torch.empty_like(like)


def _within(memory: Tensor, whole: Array, part: Array) -> Tensor:
    """The part of a mirror of `whole` that mirrors `part`."""
    start = (part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // whole.itemsize
    return memory[start : start + len(part)]


def tensor_of(torch: Any, array: Array) -> Tensor:
    """A tensor over the array's memory."""
    name = name_of(array.dtype)
    # torch does not know numpy's bfloat16, which is ml_dtypes'; the bits are the same.
    bits = array.view(np.int16) if name == "bfloat16" else array
    with warnings.catch_warnings():
        # Send buffers may be read-only, and are only read. torch cannot say so of a tensor, and warns.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        tensor = torch.from_numpy(bits)
    return tensor.view(getattr(torch, name))
