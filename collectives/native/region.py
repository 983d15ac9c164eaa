"""A rank's region: anonymous shared memory that holds its inboxes and registered buffers.

It has no name, so nothing is left of it when its last process ends, however it ends, and the size of /dev/shm does not
matter. Its length is address space only; memory is taken page by page as it is used, and given back when a buffer is
no longer referenced. May import: numpy, errors.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import resource
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from collectives.dtypes import Array
from collectives.errors import ResourceError
from collectives.native import core

if TYPE_CHECKING:
    from collectives.native import _core
else:
    _core = core()  # None where it was not built; then nobody makes a region

PAGE = 4096
HUGE = 2 << 20
_ADD_SEALS, _SHRINK, _GROW = 1033, 2, 4
"""F_ADD_SEALS and its flags, from <fcntl.h>: nobody can take pages away under a reader."""
_POPULATE_WRITE = 23
"""MADV_POPULATE_WRITE, from Linux 5.14 on: take the pages now, and say so if there are none."""
_PUNCH_HOLE_KEEP_SIZE = 3


_MOST_SPACE = 64 << 40
"""Address space for all regions together: half of what a process has with 47 bits."""


def reach(ranks: int) -> int:
    """How long a region can be: the machine's memory, or this rank's share of the address space where that is less."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    space = _MOST_SPACE if limit == resource.RLIM_INFINITY else limit // 2
    return max(min(memory, space // ranks) // HUGE * HUGE, HUGE)


class Mapping:
    """A region as mapped into this process."""

    def __init__(self, descriptor: int, length: int) -> None:
        try:
            self.memory = mmap.mmap(descriptor, length, mmap.MAP_SHARED)
        except OSError as error:
            raise ResourceError(
                f"cannot map {length >> 20} MiB of address space for shared memory: {error.strerror}; raise `ulimit -v`"
            ) from None
        with contextlib.suppress(OSError):  # a core file does not need the buffers of all ranks
            self.memory.madvise(mmap.MADV_DONTDUMP)
        self.address: int = np.frombuffer(self.memory, np.uint8).__array_interface__["data"][0]
        self.length = length


class Region:
    """This rank's own. Raises ResourceError where the system refuses."""

    def __init__(self, length: int) -> None:
        try:
            self.descriptor = os.memfd_create("opsdist", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            raise ResourceError(
                f"no anonymous shared memory: memfd_create is refused ({error.strerror}); where a sandbox or container "
                "forbids it, allow that system call; where descriptors are used up, raise `ulimit -n`"
            ) from None
        try:
            os.ftruncate(self.descriptor, length)
            fcntl.fcntl(self.descriptor, _ADD_SEALS, _SHRINK | _GROW)
            self._mapping = Mapping(self.descriptor, length)
        except OSError as error:
            os.close(self.descriptor)
            what = f"shared memory of up to {length >> 20} MiB is refused: {error.strerror}"
            raise ResourceError(f"{what}; raise `ulimit -f`" if error.errno == errno.EFBIG else what) from None
        except ResourceError:
            os.close(self.descriptor)
            raise
        self._free = [(0, length)]
        """(start, stop), rising."""
        self._lock = threading.RLock()
        """Taken again by the end of an array that the collector finds while it is held."""
        self.handed_out = 0
        """Bytes of the arrays that are referred to. All their pages are there, unlike those of inboxes."""

    @property
    def address(self) -> int:
        return self._mapping.address

    @property
    def length(self) -> int:
        return self._mapping.length

    @property
    def taken(self) -> int:
        """Bytes in use."""
        return self.length - sum(stop - start for start, stop in self._free)

    def take(self, nbytes: int) -> int:
        """The offset of zeroed memory, on a page; large ones on a huge page. Pages come when they are touched.

        Raises ResourceError.
        """
        length = _up(max(nbytes, 1), PAGE)
        align = HUGE if length >= HUGE else PAGE
        with self._lock:
            for index, (start, stop) in enumerate(self._free):
                at = _up(start, align)
                if at + length <= stop:
                    self._free[index : index + 1] = [
                        part for part in ((start, at), (at + length, stop)) if part[0] < part[1]
                    ]
                    break
            else:
                left = sum(stop - start for start, stop in self._free)
                raise ResourceError(
                    f"no room for {length >> 20} MiB of registered memory: {left >> 20} of {self.length >> 20} MiB are "
                    "left, which is what the machine has"
                )
        return at

    def reserve_directory(self) -> None:
        """The beginning belongs to the core. Before anything else is taken."""
        self.take(_core.REGION)

    def give_back(self, at: int, nbytes: int) -> None:
        """What was taken; its pages go back to the system."""
        length = _up(max(nbytes, 1), PAGE)
        _fallocate(self.descriptor, _PUNCH_HOLE_KEEP_SIZE, at, length)
        with self._lock:
            parts = sorted([*self._free, (at, at + length)])
            merged = parts[:1]
            for start, stop in parts[1:]:
                if start == merged[-1][1]:
                    merged[-1] = (merged[-1][0], stop)
                else:
                    merged.append((start, stop))
            self._free = merged

    def allocate(self, count: int, dtype: np.dtype[Any]) -> Array:
        """A zeroed array of registered memory, which goes back when nothing refers to it any more.

        Its pages are there, so that what the system refuses is refused here. Raises ResourceError.
        """
        nbytes = count * dtype.itemsize
        at = self.take(nbytes)
        try:
            self._populate(at, _up(max(nbytes, 1), PAGE))
        except ResourceError:
            self.give_back(at, nbytes)
            raise
        owner = (ctypes.c_char * max(nbytes, 1)).from_buffer(self._mapping.memory, at)
        # At the end of the process the system takes everything back; then there is nothing to do here.
        weakref.finalize(owner, self._take_back, at, nbytes).atexit = False
        with self._lock:
            self.handed_out += _up(max(nbytes, 1), PAGE)
        array: Array = np.frombuffer(memoryview(owner), dtype, count)
        return array

    def _take_back(self, at: int, nbytes: int) -> None:
        self.give_back(at, nbytes)
        with self._lock:
            self.handed_out -= _up(max(nbytes, 1), PAGE)

    def _populate(self, at: int, length: int) -> None:
        memory = self._mapping.memory
        if length >= HUGE:
            with contextlib.suppress(OSError):  # not offered here: small pages will do
                memory.madvise(mmap.MADV_HUGEPAGE, at, length)
        try:
            memory.madvise(_POPULATE_WRITE, at, length)
        except OSError as error:
            if error.errno != errno.EINVAL:  # an older kernel gives pages when they are touched
                raise ResourceError(f"{length >> 20} MiB of shared memory are refused: {error.strerror}") from None

    def close(self) -> None:
        """Let go of the descriptor. The memory stays while arrays refer to it."""
        os.close(self.descriptor)
        self.descriptor = -1


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _fallocate(descriptor: int, mode: int, start: int, length: int) -> None:
    if descriptor >= 0:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.fallocate(descriptor, mode, ctypes.c_int64(start), ctypes.c_int64(length))
