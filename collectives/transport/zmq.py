"""A wire of ZeroMQ sockets between processes: one PULL a rank, one PUSH to each peer it ever sends to.

On one host the addresses are abstract Unix sockets, so nothing stays in the file system; `tcp://` serves several.
Queues are unbounded here because streams bound what is under way. A connection that breaks has lost messages and its
peer is gone, so it is not made again: what is still meant for that peer is dropped, and holds nobody up.
May import: zmq, curve, base, errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import zmq

from collectives import curve
from collectives.errors import CollectiveError
from collectives.transport.base import HEADER, Bytes

_SMALL = 4096
"""Up to here header and payload travel as one part: one part fewer saves more than the copy costs."""
_BATCH = 64
_LARGEST = 4 << 20
_LINGER_MS = 5000
_BACKLOG = 4096
"""Ranks that may connect at once; one that is refused would not try again."""


class ZmqWire:
    """One rank's end. `bind` is an address this rank listens on; a tcp port of `*` is chosen by the system, and between
    hosts only who has the token gets in. Raises what curve.listen does."""

    name = "zmq"

    def __init__(self, bind: str, token: str = "") -> None:
        self._token = token
        self._context = zmq.Context()
        self._pull = self._context.socket(zmq.PULL)
        self._pull.setsockopt(zmq.RCVHWM, 0)
        self._pull.setsockopt(zmq.MAXMSGSIZE, _LARGEST)
        self._pull.setsockopt(zmq.BACKLOG, _BACKLOG)
        try:
            self.address = curve.listen(self._pull, bind, token)
        except CollectiveError:
            self._context.destroy(linger=0)
            raise
        self._patience = 0.0
        self._peers: dict[int, zmq.Socket[bytes]] = {}
        self._addresses: Sequence[str] = ()

    def connect(self, addresses: Sequence[str]) -> None:
        """Learn where every rank listens; connections are made when first used."""
        self._addresses = addresses

    def post(self, peer: int, header: bytes, payload: Bytes) -> None:
        socket = self._peers.get(peer) or self._open(peer)
        with contextlib.suppress(zmq.Again):  # no connection any more
            if len(payload) <= _SMALL:
                socket.send(header + bytes(payload), zmq.NOBLOCK)
            else:
                socket.send(header, zmq.NOBLOCK | zmq.SNDMORE)
                socket.send(payload, zmq.NOBLOCK)

    def poll(self, timeout: float) -> Sequence[tuple[Bytes, Bytes]]:
        arrived: list[tuple[Bytes, Bytes]] = []
        # A bounded batch, so that sending goes on while much is arriving.
        while len(arrived) < _BATCH and (first := self._next(0 if arrived else timeout)) is not None:
            if self._pull.getsockopt(zmq.RCVMORE):
                arrived.append((first, self._pull.recv(copy=False).buffer))
                while self._pull.getsockopt(zmq.RCVMORE):  # not ours: drop the rest of it
                    self._pull.recv(copy=False)
            else:
                arrived.append((first, memoryview(first)[HEADER.size :]))
        return arrived

    def _next(self, timeout: float) -> bytes | None:
        """The first part of the next message. A blocking receive with a timeout costs far less than a poller."""
        try:
            return self._pull.recv(zmq.NOBLOCK)
        except zmq.Again:
            if timeout <= 0:
                return None
        if timeout != self._patience:
            self._pull.setsockopt(zmq.RCVTIMEO, max(int(timeout * 1000), 1))
            self._patience = timeout
        try:
            return self._pull.recv()
        except zmq.Again:
            return None

    def close(self, deliver: bool = True) -> None:
        self._context.destroy(linger=_LINGER_MS if deliver else 0)

    def _open(self, peer: int) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.PUSH)
        socket.setsockopt(zmq.SNDHWM, 0)
        socket.setsockopt(zmq.RECONNECT_IVL, -1)
        curve.connect(socket, self._addresses[peer], self._token)
        socket.connect(self._addresses[peer])
        self._peers[peer] = socket
        return socket
