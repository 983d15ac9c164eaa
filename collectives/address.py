"""Addresses by which hosts reach each other. May import: the standard library, errors."""

from __future__ import annotations

import fcntl
import re
import socket
import struct
from pathlib import Path

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


_SIOCGIFADDR = 0x8915
_REQUEST = struct.Struct("16s2x2x4s16x")
"""struct ifreq with an address of IPv4: the interface's name, family and port, the address."""


def interface_of(address: str) -> str | None:
    """The interface of this host that has the address, or None where none shows it as its first one."""
    if ":" in address:
        wanted = socket.inet_pton(socket.AF_INET6, address).hex()
        rows = [line.split() for line in Path("/proc/net/if_inet6").read_text().splitlines()]
        return next((row[-1] for row in rows if row[0] == wanted), None)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asking, _SIOCGIFADDR, _REQUEST.pack(name.encode(), bytes(4)))
            except OSError:
                continue  # has none
            if socket.inet_ntoa(_REQUEST.unpack(answer)[1]) == address:
                return name
    return None
