"""Whom this process has sent something over TCP that nobody takes note of: asked of the kernel, when a rank waits in
vain.

A peer that is stopped or busy has a kernel that acknowledges for it; where nothing comes back from that, the path to
its host is cut, or the host is gone. May import: the standard library.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

_INFO = struct.Struct("=8B4I4I")
"""The first fields of struct tcp_info, linux/tcp.h: what is numbered below, and times."""
_RETRANSMITS, _UNACKNOWLEDGED = 2, 12
_TIMES = 2
"""How often in a row the same was sent again: once happens on any network."""


def unanswered() -> list[str]:
    """Addresses of hosts to which something is under way that they have not acknowledged, though it was repeated."""
    found = set()
    for connection in connections():
        with connection, suppress(OSError):
            info = _INFO.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size))
            if info[_UNACKNOWLEDGED] and info[_RETRANSMITS] >= _TIMES:
                found.add(connection.getpeername()[0].partition("%")[0])
    return sorted(found)


def connections() -> Iterator[socket.socket]:
    """Every TCP socket of this process, by a descriptor of its own, whichever library has opened it."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                one = socket.socket(fileno=os.dup(int(name)))
                if one.family in (socket.AF_INET, socket.AF_INET6) and one.type == socket.SOCK_STREAM:
                    yield one
                else:
                    one.close()
