"""A path between hosts cut for this process alone: what comes from some addresses is dropped by the kernel before any
of its TCP sockets sees it, on connections as at doors. No privilege is needed, and nobody else notices.

May import: the standard library, launch.unanswered.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
import time
from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address

from suites.launch.unanswered import connections

_LOAD_WORD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
"""Of classic BPF, linux/bpf_common.h: into the accumulator, from an absolute place; compare with a constant; end."""
_NETWORK_HEADER = 0xFFF00000
"""SKF_NET_OFF, linux/filter.h: places are counted from the header of IP, where a TCP socket would begin after it."""
_SOURCE = {4: 12, 6: 8}
_WHOLE, _NOTHING = 0xFFFFFFFF, 0
_SO_ATTACH_FILTER = 26
_SENT_AND_UNACKNOWLEDGED = 0x5411
"""SIOCOUTQ, linux/sockios.h."""
_POLL_SECONDS = 0.001


def cut(addresses: Collection[str], patience: float) -> None:
    """From now on nothing that these send arrives. Waits, at most `patience` seconds, until all that was sent has."""
    deadline = time.monotonic() + patience
    for one in connections():
        with one, suppress(OSError):
            while struct.unpack("i", fcntl.ioctl(one, _SENT_AND_UNACKNOWLEDGED, bytes(4)))[0]:
                if time.monotonic() > deadline:
                    break
                time.sleep(_POLL_SECONDS)
    for one in connections():
        with one:
            _drop(one, addresses)


def _drop(one: socket.socket, addresses: Collection[str]) -> None:
    """Have it drop what comes from these."""
    version = 6 if one.family == socket.AF_INET6 else 4
    program = b""
    for address in map(ip_address, addresses):
        if address.version == version:
            words = struct.unpack(f">{len(address.packed) // 4}I", address.packed)
            for number, word in enumerate(words):
                program += _instruction(_LOAD_WORD, (_NETWORK_HEADER + _SOURCE[version] + 4 * number))
                # The two instructions of each word that is left, and the end, are jumped over when this one differs.
                program += _instruction(_IF_EQUAL, word, unequal=2 * (len(words) - 1 - number) + 1)
            program += _instruction(_RETURN, _NOTHING)
    program += _instruction(_RETURN, _WHOLE)
    buffer = ctypes.create_string_buffer(program)
    told = struct.pack("HL", len(program) // 8, ctypes.addressof(buffer))
    one.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, told)


def _instruction(code: int, value: int, unequal: int = 0) -> bytes:
    return struct.pack("HBBI", code, 0, unequal, value)
