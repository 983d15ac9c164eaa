"""Messages over a wire: segments, credits and matching. What all transports of the portable engine share.

Between two ranks every group has a stream of its own, so calls on different groups never block each other. A sender
starts no segment while `window` bytes are under way in a stream; the receiver gives credit back as sinks consume them,
so memory stays bounded whatever the message size, and a peer that runs ahead is stopped. Headers count, or it could run
ahead for ever with messages that have little else.

Credits are returned in halves of a window: one small message for each half, none for messages below that.
May import: base, errors, faults.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from collectives.errors import MismatchError
from collectives.faults import describe, different_calls, different_messages
from collectives.transport.base import (
    CREDIT,
    DATA,
    HEADER,
    Bytes,
    CallTag,
    Header,
    Incoming,
    Outgoing,
    Pending,
    Wire,
)  # fmt: skip

IN_FLIGHT = 8 << 20
"""Bytes under way towards a rank from all its peers together, at the most, per group."""
LARGEST_WINDOW = 4 << 20
SMALLEST_WINDOW = 64 << 10


class _Stream:
    """What is between this rank and one peer in one group."""

    __slots__ = ("allowance", "arrived", "expected", "outgoing", "owed")

    def __init__(self, window: int) -> None:
        self.allowance = window
        self.owed = 0
        self.outgoing: deque[tuple[Outgoing, Pending]] = deque()
        self.expected: deque[tuple[Incoming, Pending]] = deque()
        self.arrived: deque[tuple[Header, Bytes]] = deque()


class Streams:
    """A Transport over a Wire."""

    def __init__(self, rank: int, size: int, wire: Wire, run: int = 0) -> None:
        self.rank, self.size, self.name = rank, size, wire.name
        self._wire, self._run = wire, run
        share = IN_FLIGHT // max(size - 1, 1) // SMALLEST_WINDOW * SMALLEST_WINDOW
        self._window = min(max(share, SMALLEST_WINDOW), LARGEST_WINDOW)
        self.segment = self._window // 4
        self._streams: dict[tuple[int, int], _Stream] = {}
        self._sending: dict[tuple[int, int], _Stream] = {}
        self._calls: dict[int, CallTag] = {}
        """The call each group is in."""
        self.strangers = 0
        """Messages dropped because they do not bear this run's secret."""

    def start(self, call: CallTag, step: int, sends: Sequence[Outgoing], receives: Sequence[Incoming]) -> Pending:
        pending = Pending(call, step, len(sends) + len(receives), sends, receives)
        if self._calls.get(call.group) != call:
            self._enter(call)
        for incoming in receives:
            self._stream(incoming.peer, call.group).expected.append((incoming, pending))
        for outgoing in sends:
            key = (outgoing.peer, call.group)
            stream = self._stream(*key)
            stream.outgoing.append((outgoing, pending))
            self._sending[key] = stream
        self._pump()
        for peer in {incoming.peer for incoming in receives}:
            self._match(peer, call.group)
        return pending

    def release(self, group: int, peer: int, length: int) -> None:
        stream = self._stream(peer, group)
        stream.owed += length
        if stream.owed >= self._window // 2:
            credit = Header(self._run, CREDIT, self.rank, 0, CallTag(group, 0, 0, 0, 0, 0, 0), length=stream.owed)
            stream.owed = 0
            self._wire.post(peer, credit.pack(), b"")

    def progress(self, timeout: float) -> bool:
        moved = self._pump()
        for packed, payload in self._wire.poll(0 if moved else timeout):
            moved = self._dispatch(packed, payload) or moved
        if moved:
            self._pump()
        return moved

    def close(self, deliver: bool = True) -> None:
        self._wire.close(deliver)

    def _stream(self, peer: int, group: int) -> _Stream:
        stream = self._streams.get((peer, group))
        if stream is None:
            stream = self._streams[peer, group] = _Stream(self._window)
        return stream

    def _pump(self) -> bool:
        """Send what credits and folds allow, a segment per stream in turn, so that no peer starves another."""
        moved, again = False, True
        while again and self._sending:
            again = False
            for key, stream in list(self._sending.items()):
                if self._send_segment(key, stream):
                    moved = again = True
                if not stream.outgoing:
                    del self._sending[key]
        return moved

    def _send_segment(self, key: tuple[int, int], stream: _Stream) -> bool:
        outgoing, pending = stream.outgoing[0]
        length = min(self.segment, outgoing.payload.length - outgoing.sent)
        if outgoing.ready - outgoing.sent < length or stream.allowance <= 0:
            return False
        start, stop = outgoing.sent, outgoing.sent + length
        header = Header(self._run, DATA, self.rank, pending.step, pending.call, start, outgoing.payload.length)
        self._wire.post(outgoing.peer, header.pack(), outgoing.payload.read(start, stop) if length else b"")
        stream.allowance -= HEADER.size + length
        outgoing.sent = stop
        if stop == outgoing.payload.length:
            stream.outgoing.popleft()
            outgoing.done = True
            pending.left -= 1
        return True

    def _dispatch(self, packed: Bytes, payload: Bytes) -> bool:
        try:
            header = Header.unpack(packed)
        except ValueError:
            self.strangers += 1
            return False
        if header.run != self._run or not 0 <= header.source < self.size:
            self.strangers += 1
            return False
        group = header.call.group
        stream = self._stream(header.source, group)
        if header.kind == CREDIT:
            stream.allowance += header.length
            return True
        current = self._calls.get(group)
        if current and current.sequence == header.call.sequence:
            self._check_signature(current, header)
        stream.arrived.append((header, payload))
        self._match(header.source, group)
        return True

    def _match(self, peer: int, group: int) -> None:
        """Hand what has arrived to what is expected, first in, first out."""
        stream = self._streams[peer, group]
        while stream.arrived and stream.expected:
            header, payload = stream.arrived[0]
            incoming, pending = stream.expected[0]
            self._check_match(pending, incoming, header)
            stream.arrived.popleft()
            length = len(payload)
            incoming.got += length
            if incoming.got == incoming.length:
                stream.expected.popleft()
                incoming.done = True
                pending.left -= 1
            freed = incoming.sink.take(header.offset, payload)
            self.release(group, peer, HEADER.size + freed)

    def _enter(self, call: CallTag) -> None:
        """A group goes on to its next call: what peers that are ahead have sent for it must be of the same kind."""
        self._calls[call.group] = call
        for (_, group), stream in self._streams.items():
            if group == call.group and stream.arrived:
                header = stream.arrived[0][0]
                if header.call.sequence == call.sequence:
                    self._check_signature(call, header)
                elif header.call.sequence < call.sequence:
                    raise MismatchError(
                        f"rank {header.source} sent data for call {header.call.sequence} ({describe(header.call)}) "
                        f"which rank {self.rank} did not expect in that call",
                        header.source,
                    )

    def _check_signature(self, mine: CallTag, header: Header) -> None:
        if header.call.signature != mine.signature:
            raise different_calls(self.rank, mine, header.source, header.call)

    def _check_match(self, pending: Pending, incoming: Incoming, header: Header) -> None:
        mine, theirs = pending.call, header.call
        if theirs.sequence == mine.sequence:
            self._check_signature(mine, header)
        if (theirs.sequence, header.length) != (mine.sequence, incoming.length):
            raise different_messages(
                self.rank, mine, pending.step, incoming.length, header.source, theirs, header.step, header.length
            )
