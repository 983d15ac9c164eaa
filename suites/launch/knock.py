"""Whether hosts reach each other: an agent listens at its address, and the one before it in the ring knocks.

Both show that they know the run's secret, so that what answers is the agent and not whatever else has that address.
Nothing here waits: all of it lives in the agent's selector. May import: collectives' errors.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import os
import selectors
import socket
import time
from collections.abc import Callable

from collectives.errors import ResourceError

_LONGEST = 64
_LISTENING = 16


def _digest(secret: str, who: bytes) -> bytes:
    return hmac.digest(secret.encode(), who, "sha256")


class Door:
    """Listens on a port of its own, and answers whoever knows the secret; hangs up on everybody else."""

    def __init__(self, selector: selectors.BaseSelector, address: str, secret: str) -> None:
        """Raises ResourceError where no port is left, or the address is not this host's."""
        self._selector, self._secret = selector, secret
        self._visitors: dict[int, socket.socket] = {}
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            self._listener = socket.create_server((address, 0), family=family, backlog=_LISTENING)
        except OSError as error:
            raise ResourceError(f"cannot listen at {address}: {error.strerror}") from None
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        selector.register(self._listener, selectors.EVENT_READ, self._on_visitor)

    def close(self) -> None:
        self._selector.unregister(self._listener)
        self._listener.close()
        for visitor in list(self._visitors.values()):
            self._hang_up(visitor)

    def _on_visitor(self, _: int) -> None:
        with contextlib.suppress(OSError):
            visitor, _address = self._listener.accept()
            visitor.setblocking(False)
            self._visitors[visitor.fileno()] = visitor
            self._selector.register(visitor, selectors.EVENT_READ, self._on_knock)

    def _on_knock(self, descriptor: int) -> None:
        visitor = self._visitors[descriptor]
        with contextlib.suppress(OSError):
            if hmac.compare_digest(visitor.recv(_LONGEST), _digest(self._secret, b"knock")):
                visitor.send(_digest(self._secret, b"open"))
        self._hang_up(visitor)

    def _hang_up(self, visitor: socket.socket) -> None:
        del self._visitors[visitor.fileno()]
        self._selector.unregister(visitor)
        visitor.close()


class Knock:
    """One attempt to reach a door. `done` is told why it failed, or None."""

    def __init__(
        self, selector: selectors.BaseSelector, address: str, port: int, secret: str, seconds: float,
        done: Callable[[str | None], None],
    ) -> None:  # fmt: skip
        self._selector, self._secret, self._done = selector, secret, done
        self._deadline = time.monotonic() + seconds
        self._seconds = seconds
        self._socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        self._socket.setblocking(False)
        self._over = False
        code = self._socket.connect_ex((address, port))
        self._refused = None if code in (0, errno.EINPROGRESS) else os.strerror(code)
        selector.register(self._socket, selectors.EVENT_WRITE, self._on_connected)

    def turn(self) -> None:
        """Called every now and then: the deadline."""
        if self._over:
            return
        if self._refused:
            self._end(self._refused)
        elif time.monotonic() > self._deadline:
            self._end(f"no answer within {self._seconds:g} s")

    def _on_connected(self, _: int) -> None:
        if self._refused:
            return  # its turn tells
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self._end(os.strerror(error))
            return
        self._selector.modify(self._socket, selectors.EVENT_READ, self._on_answer)
        with contextlib.suppress(OSError):
            self._socket.send(_digest(self._secret, b"knock"))

    def _on_answer(self, _: int) -> None:
        try:
            answer = self._socket.recv(_LONGEST)
        except OSError as error:
            self._end(error.strerror or str(error))
            return
        right = hmac.compare_digest(answer, _digest(self._secret, b"open"))
        self._end(None if right else "something else answers there")

    def _end(self, why: str | None) -> None:
        self._over = True
        self._selector.unregister(self._socket)
        self._socket.close()
        self._done(why)
