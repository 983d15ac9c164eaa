"""What moves bytes between ranks: the words of the Transport interface and the header every message bears.

A Transport takes the messages of a step, moves them in segments and hands what arrives to sinks. It knows bytes and
peers, neither plans nor arithmetic. May import: the standard library, errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Protocol

VERSION = 1
DATA, CREDIT = 1, 2

Bytes = memoryview | bytes


@dataclass(frozen=True, slots=True)
class CallTag:
    """Which call a message belongs to. All ranks of a group must agree on all of it, call by call.

    `collective`, `operator` and `dtype` are indices into the literal tables; `count` is the elements the call was
    made with.
    """

    group: int
    sequence: int
    collective: int
    operator: int
    dtype: int
    root: int
    count: int

    @property
    def signature(self) -> tuple[int, int, int, int, int]:
        return self.collective, self.operator, self.dtype, self.root, self.count

    @property
    def word(self) -> int:
        """The signature without the count, as a number."""
        return self.collective | self.operator << 8 | self.dtype << 16 | self.root << 32

    @classmethod
    def of_word(cls, word: int, count: int, sequence: int) -> CallTag:
        """As a number tells it, which is without the group."""
        return cls(0, sequence, word & 0xFF, word >> 8 & 0xFF, word >> 16 & 0xFF, word >> 32, count)


HEADER = Struct("<BBBBBxxxIIIIQQQQQ")
"""version, kind, collective, operator, dtype, source, sequence, step, root, run, group, count, offset, length."""


@dataclass(slots=True)
class Header:
    """A message's header, taken apart. `run` is the run's secret, `step` the sender's; for a CREDIT, `length` is the
    bytes given back."""

    run: int
    kind: int
    source: int
    step: int
    call: CallTag
    offset: int = 0
    length: int = 0

    def pack(self) -> bytes:
        call = self.call
        return HEADER.pack(
            VERSION, self.kind, call.collective, call.operator, call.dtype, self.source, call.sequence, self.step,
            call.root, self.run, call.group, call.count, self.offset, self.length,
        )  # fmt: skip

    @classmethod
    def unpack(cls, data: Bytes) -> Header:
        """Raises ValueError for anything but a header of this version."""
        if len(data) < HEADER.size:
            raise ValueError(f"{len(data)} bytes are no header")
        fields = HEADER.unpack_from(data)
        version, kind, collective, operator, dtype, source, sequence, step, root, run, group, count, *place = fields
        if version != VERSION or kind not in (DATA, CREDIT):
            raise ValueError(f"version {version}, kind {kind}")
        call = CallTag(group, sequence, collective, operator, dtype, root, count)
        return cls(run, kind, source, step, call, *place)


class Payload:
    """The bytes of one message: views of a rank's buffers, one after the other."""

    __slots__ = ("_ends", "_views", "length")

    def __init__(self, views: Sequence[memoryview]) -> None:
        self._views = list(views)
        self._ends: list[int] = []
        self.length = 0
        for view in views:
            self.length += len(view)
            self._ends.append(self.length)

    def read(self, start: int, stop: int) -> Bytes:
        """Bytes [start, stop): a view where they lie in one piece."""
        if len(self._views) == 1:
            return self._views[0][start:stop]
        return b"".join(view[a:b] for view, a, b in self._parts(start, stop))

    def write(self, start: int, data: Bytes) -> None:
        """Overwrite the bytes from `start` on."""
        if len(self._views) == 1:
            self._views[0][start : start + len(data)] = data
            return
        data, position = memoryview(data), 0
        for view, a, b in self._parts(start, start + len(data)):
            view[a:b] = data[position : position + b - a]
            position += b - a

    def _parts(self, start: int, stop: int) -> Iterator[tuple[memoryview, int, int]]:
        base = 0
        for view, end in zip(self._views, self._ends, strict=True):
            if start < end and stop > base:
                yield view, max(start - base, 0), min(stop, end) - base
            base = end


class Sink(Protocol):
    """Takes what arrives for one expected message."""

    def take(self, offset: int, data: Bytes) -> int:
        """Take a segment; return how many bytes of its peer's window are free again (0 while it is held)."""


@dataclass(slots=True)
class Outgoing:
    """A message on its way out. Only the first `ready` bytes may be sent by now."""

    peer: int
    payload: Payload
    ready: int
    sent: int = 0
    done: bool = False


@dataclass(slots=True)
class Incoming:
    """A message expected."""

    peer: int
    length: int
    sink: Sink
    got: int = 0
    done: bool = False


@dataclass(slots=True)
class Pending:
    """The messages of one step of one call. Done when nothing is left."""

    call: CallTag
    step: int
    left: int
    outgoing: Sequence[Outgoing] = ()
    incoming: Sequence[Incoming] = ()


class Transport(Protocol):
    """Moves the messages of steps. One thread at a time may use it."""

    name: str
    """Of the wire."""
    rank: int
    size: int
    segment: int
    """Bytes that travel at once: all segments of a message but the last are this long."""

    def start(self, call: CallTag, step: int, sends: Sequence[Outgoing], receives: Sequence[Incoming]) -> Pending:
        """Take on the messages of a step; those to and from one peer and group keep their order."""

    def release(self, group: int, peer: int, length: int) -> None:
        """A sink has let go of bytes it held."""

    def progress(self, timeout: float) -> bool:
        """Move what can be moved, waiting at most `timeout` seconds for something to arrive; whether anything moved.

        Raises MismatchError when a peer is in another call than this rank."""

    def close(self, deliver: bool = True) -> None:
        """Let go of everything; what was handed over is still delivered, if so wanted and its receiver lives."""


class Wire(Protocol):
    """Carries single segments: what differs between transports."""

    name: str

    def post(self, peer: int, header: bytes, payload: Bytes) -> None:
        """Send a segment; the payload may be changed as soon as this returns. Never blocks."""

    def poll(self, timeout: float) -> Sequence[tuple[Bytes, Bytes]]:
        """Headers and payloads that have arrived; waits at most `timeout` seconds for the first."""

    def close(self, deliver: bool = True) -> None: ...
