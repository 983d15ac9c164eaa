"""Frames between controller, agents and ranks: a length and one JSON object each.

A frame is a dict with a `type`:

    controller -> agent   job {job, arguments, placements, cpus, token, timeout, store, starter}, stop
    agent -> controller   hello {host, pid, version, python}, started {rank, pid}, rank {rank, content},
                          output {rank (null: of what starts ranks), stream, text}, exit {rank, code, signal, stopped},
                          alive {states, cpu_seconds}, helpers {pids} (processes beside itself and the ranks),
                          broken {message} (it cannot go on), ended
    agent -> rank         job {.., placement, cpu} to a rank that was not forked from it, go {store}
    rank -> agent         anything its job reports; `failure` and `finished` are the launcher's own

May import: the standard library.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

Frame = dict[str, Any]

_LENGTH = struct.Struct(">I")
LARGEST = 64 << 20
_ENVELOPE = 4096
"""What an agent may add around what a rank reports."""
_LONGEST_LINE = 64 << 10


class BrokenFrame(Exception):
    """What arrived, or was to be sent, is not a frame of this protocol."""


def pack(frame: Frame, largest: int = LARGEST) -> bytes:
    """The bytes of a frame. Raises BrokenFrame when no reader would take it."""
    data = json.dumps(frame, separators=(",", ":")).encode()
    if len(data) > largest:
        raise BrokenFrame(f"a frame '{frame['type']}' of {len(data)} bytes; {largest} is the most")
    return _LENGTH.pack(len(data)) + data


class FrameReader:
    """Takes bytes as they come and gives whole frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Raises BrokenFrame for what is too long or not JSON."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > LARGEST:
                raise BrokenFrame(f"a frame of {length} bytes")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            try:
                frame = json.loads(body)
            except (ValueError, RecursionError) as error:
                raise BrokenFrame(f"not JSON: {error}") from None
            if not isinstance(frame, dict) or "type" not in frame:
                raise BrokenFrame("a frame without a type")
            yield frame


class LineReader:
    """Takes output as it comes and gives text that ends at line ends, so that neither lines nor characters are torn.

    A line longer than 64 KiB comes in pieces.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> str:
        """What is complete now; no data means the end, which completes everything."""
        whole = self._rest + data
        end = whole.rfind(b"\n") + 1
        if not data or (not end and len(whole) >= _LONGEST_LINE):
            end = len(whole)
        self._rest = whole[end:]
        return whole[:end].decode(errors="replace")


class Channel:
    """A blocking end: what a rank talks to its agent with."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._reader = FrameReader()

    def send(self, frame: Frame) -> None:
        """Raises BrokenFrame when it is too long."""
        self._socket.sendall(pack(frame, LARGEST - _ENVELOPE))

    def receive(self) -> Frame:
        """The next frame. Raises EOFError when the other end is gone."""
        while True:
            for frame in self._reader.feed(b""):
                return frame
            data = self._socket.recv(1 << 16)
            if not data:
                raise EOFError
            for frame in self._reader.feed(data):
                return frame
