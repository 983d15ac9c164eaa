"""Frames between controller, agents and ranks: a length and one JSON object each.

A frame is a dict with a `type`:

    controller -> agent   job {job, arguments, placements, cpus, token, timeout, backend_env}, stop
    agent -> controller   hello {host, pid, version, python}, started {rank, pid}, rank {rank, content},
                          output {rank, stream, text}, exit {rank, code, signal}, alive {states, cpu_seconds}, ended
    agent -> rank         go {store}
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


class BrokenFrame(Exception):
    """What arrived is not a frame of this protocol."""


def pack(frame: Frame) -> bytes:
    data = json.dumps(frame, separators=(",", ":")).encode()
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
            except ValueError as error:
                raise BrokenFrame(f"not JSON: {error}") from None
            if not isinstance(frame, dict) or "type" not in frame:
                raise BrokenFrame("a frame without a type")
            yield frame


class Channel:
    """A blocking end: what a rank talks to its agent with."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._reader = FrameReader()

    def send(self, frame: Frame) -> None:
        self._socket.sendall(pack(frame))

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
