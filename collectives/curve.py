"""Sockets of ZeroMQ between hosts: encrypted, and open only to who has the run's token.

CurveZMQ (https://rfc.zeromq.org/spec/26): a client must know the server's public key before it is heard at all. Here
that key is made of the token and goes over no wire, so it is as secret as the token itself. Inside a host sockets are
local, and nothing of this is needed. May import: zmq, errors, secrets.
"""

from __future__ import annotations

import errno
from typing import Any

import zmq
from zmq.utils import z85

from collectives.errors import RendezvousError, ResourceError
from collectives.secrets import key

_SCARCE = (errno.EADDRINUSE, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def listen(socket: zmq.Socket[Any], address: str, token: str) -> str:
    """Bind it to `address`; a tcp port of `*` is chosen by the system. Returns where it listens.

    Raises ResourceError where that cannot be had, RendezvousError for what is no address.
    """
    if _prepare(socket, address):
        _, socket.curve_secretkey = _keys(token)
        socket.curve_server = True
    try:
        socket.bind(address)
    except zmq.ZMQError as error:
        kind = ResourceError if error.errno in _SCARCE else RendezvousError
        raise kind(f"cannot listen on {address}: {error}") from None
    return socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")


def connect(socket: zmq.Socket[Any], address: str, token: str) -> None:
    """Before it is connected to `address`. Raises ResourceError."""
    if _prepare(socket, address):
        socket.curve_serverkey, _ = _keys(token)
        socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()


def _prepare(socket: zmq.Socket[Any], address: str) -> bool:
    """Whether the address is one between hosts."""
    if not address.startswith("tcp://"):
        return False
    if not zmq.has("curve"):
        raise ResourceError("this libzmq cannot encrypt; install pyzmq from PyPI, whose wheels can")
    socket.ipv6 = address.startswith("tcp://[")
    return True


def _keys(token: str) -> tuple[bytes, bytes]:
    """Public and secret key of whoever listens."""
    private = z85.encode(key(token, "curve"))
    return zmq.curve_public(private), private
