"""A process with two TCP connections to itself, over 127.0.0.1 and 127.0.0.2, what comes from the latter being cut off.
Prints whom it has not heard from once both have been sent something, or, as `unread`, once nobody has read for long.
"""

from __future__ import annotations

import socket
import struct
import sys
from contextlib import suppress

from suites.jobs.cut import cut
from suites.launch.unanswered import unanswered
from tests.leftovers import until

_RETRANSMITS, _BACKOFF = 2, 4


def pair(address: str) -> tuple[socket.socket, socket.socket]:
    door = socket.create_server((address, 0))
    near = socket.create_connection(door.getsockname(), source_address=(address, 0))
    return near, door.accept()[0]


def told(one: socket.socket) -> tuple[int, ...]:
    return struct.unpack("5B", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 5))


def fill(one: socket.socket) -> None:
    one.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            one.send(bytes(1 << 16))


def main() -> None:
    well, _far = pair("127.0.0.1")
    severed, end = pair("127.0.0.2")
    if sys.argv[1] == "unread":
        fill(well)
        until(lambda: told(well)[_BACKOFF] > 1, 20.0, "probes of a full window")
    else:
        cut({"127.0.0.2"}, 1.0)
        for one in (well, severed, end):
            one.send(b"x")
        until(lambda: told(severed)[_RETRANSMITS] > 1, 20.0, "what is sent again")
    print(*unanswered())


if __name__ == "__main__":
    main()
