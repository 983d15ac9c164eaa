"""One agent as its controller holds it: the process that leads to it, what was said to it and heard of it.

May import: deadlines, protocol, trouble, way.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from suites.launch import deadlines
from suites.launch.protocol import Frame, FrameReader, LineReader, Noise, pack
from suites.launch.trouble import Trouble
from suites.launch.way import ProcessWay, SocketWay, Way

_PIECE = 1 << 18
_MOST_WORDS = 16 << 10
"""Characters."""


def raise_descriptors() -> None:
    """As many open files as this process may have at all: agents and ranks take some pipes each."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Explain(Protocol):
    def __call__(self, words: str, code: int | None, host: str, *, greeted: bool) -> Trouble: ...


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """How the agent of one host is started. `first` is said to what comes before the agent; `explain` tells what an end
    of `argv` without a word of the agent means, on another host, whose processes cannot be reached from here.
    Where `connection` is given, it leads to an agent that was started there already, as `argv` says."""

    host: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    first: Frame | None = None
    explain: Explain | None = None
    connection: socket.socket | None = None

    @property
    def far(self) -> bool:
        """On another host."""
        return self.explain is not None


@dataclass(slots=True)
class Link:
    """One agent. `ranks` are those that it is to start."""

    command: AgentCommand
    selector: selectors.BaseSelector
    ranks: Sequence[int] = ()
    hello: Frame | None = None
    answer: Frame | None = None
    """To what was asked last."""
    helpers: list[int] = field(default_factory=list)
    """Processes beside the agent and the ranks."""
    way: Way | None = None
    """Once it was opened."""
    opened: float = 0.0
    heard: float = 0.0
    told: float = 0.0
    closed: bool = False
    over: bool = False
    """Nothing more is waited for from the agent."""
    ended: bool = False
    """It has said so itself."""
    told_why: bool = False
    """It has said what it failed of."""
    words: str = ""
    """The last that was printed to stderr: the reason, should the agent end without one."""
    _outbox: bytearray = field(default_factory=bytearray)
    _noise: Noise = field(default_factory=Noise)
    _frames: FrameReader = field(default_factory=FrameReader)
    _lines: LineReader = field(default_factory=LineReader)

    @property
    def host(self) -> str:
        return self.command.host

    @property
    def connecting(self) -> bool:
        """Started, and not greeted yet."""
        return self.way is not None and self.hello is None and not self.over

    def open(self, on_frames: Callable[[], Any], on_words: Callable[[], Any]) -> None:
        """Start what leads to the agent. Raises OSError."""
        self.opened = self.heard = self.told = time.monotonic()
        command = self.command
        way: Way = (
            SocketWay(command.connection) if command.connection else ProcessWay(command.argv, command.environment)
        )
        self.way = way
        self.selector.register(way.source, selectors.EVENT_READ, on_frames)
        if way.words is not None:
            self.selector.register(way.words, selectors.EVENT_READ, on_words)
        if self.command.first:
            self.tell(self.command.first)

    def read_frames(self) -> Iterator[Frame]:
        """What the agent says; `closed` when it has closed its stdout. Raises BrokenFrame for what is no frame."""
        assert self.way
        data = self._read(self.way.source)
        if data is None:
            return
        if not data:
            self.selector.unregister(self.way.source)
            self.closed = True
        for frame in self._frames.feed(self._noise.feed(data)):
            self.heard = time.monotonic()
            yield frame

    def deafen(self) -> None:
        """Take nothing more of what it says: it would only be piled up."""
        assert self.way
        self._forget(self.way.source)

    def read_words(self) -> str:
        """What is printed, by whole lines; libraries do that."""
        assert self.way
        assert self.way.words is not None
        data = self._read(self.way.words) or b""
        if not data:
            self._forget(self.way.words)
        return self._keep(self._lines.feed(data))

    @staticmethod
    def _read(descriptor: int) -> bytes | None:
        """A connection that is broken has ended like any other; None where there is nothing to read after all."""
        try:
            return os.read(descriptor, _PIECE)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _keep(self, text: str) -> str:
        self.words = (self.words + text)[-_MOST_WORDS:]
        return text

    def last_words(self) -> str:
        """What is left to read of one that is over."""
        text = ""
        while self.way and any(key.fd == self.way.words for key, _ in self.selector.select(0)):
            text += self.read_words()
        return text + self._keep(self._lines.feed(b""))

    @property
    def noise(self) -> str:
        """What came on stdout before the agent did: a remote shell's own greetings."""
        return self._noise.text

    def exit_code(self, seconds: float) -> int | None:
        """Of the process here, as subprocess tells it; None where it has not ended by then."""
        assert self.way
        return self.way.exit_code(seconds)

    def tell(self, frame: Frame) -> None:
        """Never waits: what the agent does not take now is sent when it does."""
        if self.way and self.way.sink is not None:
            self.told = time.monotonic()
            self._outbox += pack(frame)
            self._write()

    def beat(self) -> None:
        """Tell the agent that somebody is there, unless it was told something a moment ago."""
        if self.hello and not self.over and time.monotonic() - self.told > deadlines.BEAT_SECONDS:
            self.tell({"type": "alive"})

    def _write(self) -> Sequence[Any]:
        assert self.way
        sink = self.way.sink
        if sink is None:
            return ()
        try:
            del self._outbox[: os.write(sink, self._outbox)]
        except BlockingIOError:
            pass
        except OSError:
            self._outbox.clear()  # it is gone, which its silence will tell
        waiting = sink in self.selector.get_map()
        if self._outbox and not waiting:
            self.selector.register(sink, selectors.EVENT_WRITE, self._write)
        elif waiting and not self._outbox:
            self.selector.unregister(sink)
        return ()

    def stop(self) -> None:
        """Tell the agent, and cut its lifeline: the frame for one that reads, the cut for one that does not."""
        if self.way and self.way.sink is not None:
            if not self._outbox:
                self.tell({"type": "stop"})
            self._forget(self.way.sink)
            self.way.hang_up()

    def _forget(self, descriptor: int | None) -> None:
        """Its end may be found by who looks for last words, while its turn is still to come."""
        with contextlib.suppress(KeyError, ValueError):
            if descriptor is not None:
                self.selector.unregister(descriptor)

    def kill(self) -> None:
        """End the process here, which for a host that is this one is the agent itself."""
        if self.way:
            self.way.kill()

    def release(self, seconds: float) -> None:
        """Let go of an agent that is over, and take note of its end."""
        if self.way is None:
            return
        for descriptor in (self.way.sink, self.way.source, self.way.words):
            self._forget(descriptor)
        self.way.close()
        self.exit_code(seconds)
