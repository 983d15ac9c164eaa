"""Frames between controller, agents and ranks: a length and one JSON object each.

A frame is a dict with a `type`:

    controller -> agent   look {name, wanted} (at its host, as info does), clock (what time it is),
                          listen {address, secret}, knock {address, port, secret, seconds} (the door of another agent),
                          job {job, arguments, placements, cpus, token, timeout, store (null: not here), starter,
                          lifeline, record}, go {store} (all ranks of all hosts are there), alive,
                          record (tell what ranks have recorded), stop
    agent -> controller   hello {host, pid, version, python, facts, interfaces}, looked {facts, findings, texts},
                          asking {line} (of a tool), clocked {nanoseconds}, listening {port},
                          knocked {why (null: it was opened)}, started {rank, pid}, serving {store},
                          rank {rank, content}, output {rank (null: of what starts ranks), stream, text},
                          exit {rank, code, signal, stopped}, alive {states, cpu_seconds},
                          helpers {pids} (processes beside itself and the ranks),
                          waiting {address, token} (for ranks that others have started to dial),
                          recorded {rank, data} (the ring until now, zlib and base64),
                          broken {error, message} (it cannot go on), unheard {seconds} (of the controller: so the
                          ranks were ended), ended
    controller -> far     environment {variables}, to what becomes the agent of another host
    agent -> rank         job {.., placement, cpu} to a rank that was not forked from it, go {store}
    rank -> agent         ring {descriptor} (the agent's own: where a rank that was not forked from it records);
                          anything its job reports; `failure` and `finished` are the launcher's own

What must stand in each is in frames.py. An agent's first frame comes after MARK: what leads to it, a login shell for
one, may print before.
May import: the standard library.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any

Frame = dict[str, Any]

MARK = b"\0opsdist agent\0"
_MOST_NOISE = 1 << 20
_LENGTH = struct.Struct(">I")
LARGEST = 64 << 20
_ENVELOPE = 4096
"""What an agent may add around what a rank reports."""
_LONGEST_LINE = 64 << 10
_PIECE = 1 << 18


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

    @property
    def missing(self) -> int:
        """Bytes up to the end of the frame that has begun, or of its length."""
        if len(self._buffer) < _LENGTH.size:
            return _LENGTH.size - len(self._buffer)
        (length,) = _LENGTH.unpack_from(self._buffer)
        return _LENGTH.size + int(length) - len(self._buffer)

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


class Noise:
    """What comes before the mark, kept apart from what follows it."""

    def __init__(self) -> None:
        self._before = b""
        self._marked = False

    @property
    def text(self) -> str:
        return self._before.decode(errors="replace")

    def feed(self, data: bytes) -> bytes:
        """What follows the mark. Raises BrokenFrame when none comes for too long."""
        if self._marked:
            return data
        self._before, mark, after = (self._before + data).partition(MARK)
        self._marked = bool(mark)
        if len(self._before) > _MOST_NOISE:
            raise BrokenFrame(f"{len(self._before)} bytes, and no greeting among them")
        return after


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


def read_frame(descriptor: int) -> Frame:
    """One frame and not a byte more, so that whoever reads on finds the next. Raises EOFError, BrokenFrame."""
    reader = FrameReader()
    wanted = _LENGTH.size
    while True:
        data = os.read(descriptor, min(wanted, _PIECE))  # memory is taken for what comes, not for what is announced
        if not data:
            raise EOFError
        for frame in reader.feed(data):
            return frame
        wanted = reader.missing


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
