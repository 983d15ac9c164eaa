"""The ring in which a rank's engine records its calls: what lies where in it, its memory, and how it is looked at.

The memory outlives the process, since an agent holds it too, or it is a file. So what a rank was at can be read when it
was killed, is stopped, or holds the interpreter's lock. One rank writes, anybody reads at any time; all numbers are
little-endian.

    0        magic, u32: version, clock (0: CLOCK_MONOTONIC in ns, 1: the CPU's counter), rank, world size, process id,
             number of records
    32       a reading at the start: u64 ticks of that clock, ns of CLOCK_MONOTONIC, ns of CLOCK_REALTIME
    56       another one, taken every now and then
    128      u64: numbers given to calls so far; a few more than there were calls
    192      u64: bytes of names
    4096     the records, 2048 of 64 bytes. Call number n, from 1, is in record (n - 1) modulo 2048:
                 u64 turn (n; 0 while it is being written), entered, left (ticks; 0 while under way),
                     signature (collective, operator and dtype as bytes, then u32 root; indices of the tables), count
                 u32 group, sequence, program, step (under way, or the last), frame, outcome (an index of OUTCOMES)
             A record of a call under way is not written over: the call that would takes the next number. A thread that
             loses its core while it writes a record, while others go once around the ring, may leave two calls mixed.
    135168   names: up to 1 MiB of JSON lines; 0 where a name is meant is one that had no room
                 {"host"}
                 {"group": number, "name", "ranks": [of the world]}
                 {"program": number, "group": number, "collective", "algorithm", "dtype", "operator", "root", "count",
                  "bytes", "peer": of the world, "steps", "waits", "sends": [[ranks of the world], ..] a step}
                 {"frame": number, "file", "line", "function"}

A snapshot is the ring up to the last name, and behind it a mark and a reading of that moment. C writes records too:
native/src/record.h. May import: the standard library, errors, native's core.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from collectives import native
from collectives.errors import ResourceError

NAME = "opsdist-recorder"
"""Of the memory, in /proc."""
MAGIC = b"opsring\n"
VERSION = 1
MONOTONIC, COUNTER = 0, 1
"""Clocks."""
HEADER = Struct("<8s6I")
READING = Struct("<3Q")
NUMBER = Struct("<Q")
STARTED_AT, LATEST_AT, ENTERED_AT, NAMES_LENGTH_AT, RECORDS_AT = 32, 56, 128, 192, 4096
RECORD = Struct("<5Q6I")
RECORDS = 2048
NAMES_AT = RECORDS_AT + RECORDS * RECORD.size
NAMES = 1 << 20
LENGTH = NAMES_AT + NAMES
TRAILER = Struct("<8s3Q")
SNAPSHOT = b"opssnap\n"

OUTCOMES = ("under way", "done", "timed out", "mismatch", "lost", "interrupted")

_ADD_SEALS, _SHRINK, _GROW = 1033, 2, 4
"""F_ADD_SEALS and its flags, from <fcntl.h>: nobody can take pages away under a reader."""
_CLOCKS = Path("/sys/devices/system/clocksource/clocksource0/available_clocksource")


@dataclass(frozen=True, slots=True)
class Reading:
    """One moment on the ring's clock, and in nanoseconds on the host's."""

    ticks: int
    monotonic: int
    realtime: int


def memory() -> int | None:
    """Anonymous memory for a ring, as a descriptor; it can have two holders. None where the system refuses it."""
    try:
        descriptor = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError:
        return None
    try:
        os.ftruncate(descriptor, LENGTH)
        fcntl.fcntl(descriptor, _ADD_SEALS, _SHRINK | _GROW)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def file(folder: str, rank: int) -> int:
    """The ring of a rank as a file of a folder, whose room on the disk is taken now. Raises ResourceError."""
    path = Path(folder, f"rank-{rank}.ring")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            os.posix_fallocate(descriptor, 0, LENGTH)
        except OSError:
            os.close(descriptor)
            raise
    except OSError as error:
        raise ResourceError(f"cannot record to {path}: {error.strerror}") from None
    return descriptor


def mapped(descriptor: int | None) -> mmap.mmap:
    """A ring's memory, this process's own where there is no descriptor. Raises ResourceError."""
    try:
        return mmap.mmap(-1 if descriptor is None else descriptor, LENGTH)
    except OSError as error:
        raise ResourceError(f"cannot map {LENGTH >> 10} KiB to record calls in: {error.strerror}") from None


def best_clock() -> int:
    """The counter, where it can be read and the kernel goes by it or would."""
    if ticker(COUNTER) is None:
        return MONOTONIC
    try:
        # The kernel strikes out a counter that it has seen go wrong.
        known = _CLOCKS.read_text().split()
    except OSError:
        return COUNTER
    return COUNTER if {"tsc", "arch_sys_counter"} & set(known) else MONOTONIC


def ticker(clock: int) -> Callable[[], int] | None:
    """What reads a clock; None for one that cannot be read here."""
    if clock == MONOTONIC:
        return time.monotonic_ns
    core = native.core()
    ticks: Callable[[], int] | None = core.ticks if core and core.ticks() is not None else None
    return ticks


def read_clocks(ticks: Callable[[], int]) -> Reading:
    """This moment."""
    return Reading(ticks(), time.monotonic_ns(), time.time_ns())


def snapshot(descriptor: int) -> bytes:
    """A ring as it is now. Raises OSError."""
    header = os.pread(descriptor, RECORDS_AT, 0)
    (length,) = NUMBER.unpack_from(header, NAMES_LENGTH_AT)
    _, _, clock, *_ = HEADER.unpack_from(header)
    data = os.pread(descriptor, NAMES_AT + min(length, NAMES), 0)
    ticks = ticker(clock)
    if ticks is None:
        return data
    reading = read_clocks(ticks)
    return data + TRAILER.pack(SNAPSHOT, reading.ticks, reading.monotonic, reading.realtime)
