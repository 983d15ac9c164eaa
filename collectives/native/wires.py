"""Connections to ranks of other hosts: one TCP connection for each group and each other member that a plan sends to.

The rank with the lower number connects and says who it is, with a proof that it has the run's token; it need not wait
for an answer, since the kernel of the other one takes both in. What strangers send is dropped. Nothing is said between
connecting and the first message, so a connection is made when a call first needs it.
May import: the standard library, address, errors, secrets.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import select
import socket
import struct
import threading
import time
from collections.abc import Collection, Sequence
from hashlib import blake2b

from collectives.errors import PeerLost, ResourceError, Unreached, UsageError
from collectives.secrets import key

_HELLO = struct.Struct("=8sQII")
"""Magic, group, from and to. In the byte order of the machine, and so is all that follows: who has another one does not
get in."""
_MAGIC = b"opsdist1"
_PROOF = 32
_LONGEST = _HELLO.size + _PROOF
_BACKLOG = 4096
_STRANGERS = 64
"""Connections that have not said who they are, at the most. The oldest of more is dropped."""
_TURN = 0.05
"""Seconds after which a thread that waits lets another one that does look."""


class Wires:
    """This rank's door, and the connections that came through it and nobody has asked for yet.

    `address` is one of this host. Raises ResourceError.
    """

    def __init__(self, rank: int, address: str, token: str) -> None:
        self._rank = rank
        self._secret = key(token, "wires")
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            self._door = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            raise ResourceError(f"no socket to listen on {address}: {error.strerror}") from None
        try:
            self._door.bind((address, 0))
            self._door.listen(_BACKLOG)
        except OSError as error:
            self._door.close()
            raise ResourceError(f"rank {rank} cannot listen on {address}: {error.strerror}") from None
        self._door.setblocking(False)
        self.port: int = self._door.getsockname()[1]
        self._doors: Sequence[tuple[str, int]] = ()
        self._lock = threading.Lock()
        """Held by the thread that looks at who is at the door."""
        self._strangers: dict[socket.socket, bytes] = {}
        self._waiting: dict[tuple[int, int], socket.socket] = {}
        """By group and rank."""
        self._closed = False

    def learn(self, doors: Sequence[tuple[str, int]]) -> None:
        """Where each rank listens, in the order of ranks."""
        self._doors = doors

    def reach(self, group: int, ranks: Collection[int], timeout: float) -> dict[int, socket.socket]:
        """A connection to each of these ranks of other hosts, for this group alone.

        Raises Unreached naming who did not come, PeerLost for who is gone, ResourceError; UsageError when it is
        closed meanwhile.
        """
        deadline = time.monotonic() + timeout
        found: dict[int, socket.socket] = {}
        try:
            for rank in sorted(ranks):
                if rank > self._rank:
                    found[rank] = self._connect(group, rank, deadline)
            while missing := [rank for rank in ranks if rank not in found]:
                with self._lock:
                    self._look(min(deadline, time.monotonic() + _TURN), [(group, rank) for rank in missing])
                    for rank in missing:
                        if connection := self._waiting.pop((group, rank), None):
                            found[rank] = connection
                if time.monotonic() > deadline:
                    break
        except BaseException:
            _close(found.values())
            raise
        if missing:
            _close(found.values())
            raise Unreached(
                f"rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))} did not connect to rank {self._rank} "
                f"within {timeout:g} s",
                tuple(missing),
            )
        return found

    def close(self) -> None:
        """Nobody comes in any more, and who waits for somebody need not wait any longer."""
        self._closed = True
        with self._lock:
            _close([self._door, *self._strangers, *self._waiting.values()])

    def _connect(self, group: int, rank: int, deadline: float) -> socket.socket:
        host, port = self._doors[rank]
        hello = _HELLO.pack(_MAGIC, group, self._rank, rank)
        connection = socket.socket(self._door.family, socket.SOCK_STREAM)
        try:
            connection.settimeout(max(deadline - time.monotonic(), _TURN))
            connection.connect((host, port))
            _prepare(connection)
            # It fits into the socket, so nobody waits for it to be read.
            connection.sendall(hello + self._proof(hello))
        except OSError as error:
            connection.close()
            if isinstance(error, TimeoutError) or error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
                raise Unreached(f"rank {self._rank} cannot connect to rank {rank} at {host}", (rank,)) from None
            if error.errno in (errno.EADDRNOTAVAIL, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                raise ResourceError(
                    f"rank {self._rank} has no socket or port for a connection to rank {rank}: {error.strerror}"
                ) from None
            why = f"rank {self._rank} cannot connect to rank {rank} at {host}: {error.strerror}"
            raise PeerLost(why, (rank,)) from None
        connection.setblocking(False)
        return connection

    def _look(self, deadline: float, wanted: Collection[tuple[int, int]]) -> None:
        """Let in who comes, until one of the wanted is there, or it is time."""
        while not any(name in self._waiting for name in wanted):
            if self._closed:
                raise UsageError("the communicator is closed")
            left = deadline - time.monotonic()
            if left <= 0:
                return
            poll = select.poll()
            there = {one.fileno(): one for one in (self._door, *self._strangers)}
            for descriptor in there:
                poll.register(descriptor, select.POLLIN)
            for descriptor, _ in poll.poll(left * 1000):
                one = there[descriptor]
                if one is self._door:
                    self._let_in()
                elif one in self._strangers:  # not dropped a moment ago
                    self._hear(one)

    def _let_in(self) -> None:
        try:
            stranger, _ = self._door.accept()
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno == errno.ECONNABORTED:
                return
            raise ResourceError(f"rank {self._rank} cannot take connections: {error.strerror}") from None
        stranger.setblocking(False)
        if len(self._strangers) >= _STRANGERS:
            oldest = next(iter(self._strangers))
            self._drop(oldest)
        self._strangers[stranger] = b""

    def _hear(self, stranger: socket.socket) -> None:
        said = self._strangers[stranger]
        try:
            more = stranger.recv(_LONGEST - len(said))  # and no byte of the first message
        except BlockingIOError:
            return
        except OSError:
            more = b""
        said += more
        if more and len(said) < _LONGEST:
            self._strangers[stranger] = said
            return
        name = self._name(said) if more else None
        if name is None or name in self._waiting:
            self._drop(stranger)
            return
        del self._strangers[stranger]
        _prepare(stranger)
        self._waiting[name] = stranger

    def _name(self, said: bytes) -> tuple[int, int] | None:
        """Group and rank of who says so, or None."""
        hello, proof = said[: _HELLO.size], said[_HELLO.size :]
        magic, group, rank, to = _HELLO.unpack(hello)
        known = magic == _MAGIC and rank < self._rank == to and hmac.compare_digest(proof, self._proof(hello))
        return (group, rank) if known else None

    def _proof(self, hello: bytes) -> bytes:
        return blake2b(hello, key=self._secret, digest_size=_PROOF).digest()

    def _drop(self, stranger: socket.socket) -> None:
        del self._strangers[stranger]
        stranger.close()


def _prepare(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _close(connections: Collection[socket.socket]) -> None:
    for connection in connections:
        with contextlib.suppress(OSError):
            connection.close()
