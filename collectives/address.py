"""Addresses by which hosts reach each other. May import: the standard library, errors."""

from __future__ import annotations

import re
import socket

from collectives.errors import RendezvousError


def any_port(address: str) -> str:
    """What a socket of ZeroMQ is bound to, to listen on an address of this host on a port that the system chooses."""
    return f"tcp://[{address}]:*" if ":" in address else f"tcp://{address}:*"


def towards(store: str) -> str:
    """This host's own address on the way to a store at `tcp://HOST:PORT`. Raises RendezvousError."""
    match = re.fullmatch(r"tcp://\[?(.+?)\]?:(\d+)", store)
    if not match:
        raise RendezvousError(f"ranks on several hosts cannot meet at {store}; give tcp://HOST:PORT")
    try:
        family, kind, _, _, target = socket.getaddrinfo(match[1], int(match[2]), type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as way:
            way.connect(target)  # sends nothing
            return str(way.getsockname()[0])
    except OSError as error:
        raise RendezvousError(f"no way to the store at {store}: {error.strerror}") from None
