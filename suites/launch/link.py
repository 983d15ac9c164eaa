"""One agent as its controller holds it: the process that leads to it, what was said to it and heard of it.

May import: protocol, trouble.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

from suites.launch.protocol import Frame, FrameReader, LineReader, Noise, pack
from suites.launch.trouble import Trouble

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
    of `argv` without a word of the agent means, on another host, whose processes cannot be reached from here."""

    host: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    first: Frame | None = None
    explain: Explain | None = None

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
    process: subprocess.Popen[bytes] | None = None
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
        return self.process is not None and self.hello is None and not self.over

    def open(self, on_frames: Callable[[], Any], on_words: Callable[[], Any]) -> None:
        """Start what leads to the agent. Raises OSError."""
        self.opened = self.heard = self.told = time.monotonic()
        process = subprocess.Popen(
            self.command.argv, env=dict(self.command.environment), start_new_session=True, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self.process = process
        os.set_blocking(process.stdin.fileno(), False)
        self.selector.register(process.stdout, selectors.EVENT_READ, on_frames)
        self.selector.register(process.stderr, selectors.EVENT_READ, on_words)
        if self.command.first:
            self.tell(self.command.first)

    def read_frames(self) -> Iterator[Frame]:
        """What the agent says; `closed` when it has closed its stdout. Raises BrokenFrame for what is no frame."""
        assert self.process
        assert self.process.stdout
        data = os.read(self.process.stdout.fileno(), _PIECE)
        if not data:
            self.selector.unregister(self.process.stdout)
            self.closed = True
        for frame in self._frames.feed(self._noise.feed(data)):
            self.heard = time.monotonic()
            yield frame

    def read_words(self) -> str:
        """What is printed, by whole lines; libraries do that."""
        assert self.process
        assert self.process.stderr
        data = os.read(self.process.stderr.fileno(), _PIECE)
        if not data:
            self._forget(self.process.stderr)
        return self._keep(self._lines.feed(data))

    def _keep(self, text: str) -> str:
        self.words = (self.words + text)[-_MOST_WORDS:]
        return text

    def last_words(self) -> str:
        """What is left to read of one that is over."""
        text = ""
        while self.process and any(key.fileobj is self.process.stderr for key, _ in self.selector.select(0)):
            text += self.read_words()
        return text + self._keep(self._lines.feed(b""))

    @property
    def noise(self) -> str:
        """What came on stdout before the agent did: a remote shell's own greetings."""
        return self._noise.text

    def exit_code(self, seconds: float) -> int | None:
        """Of the process here, as subprocess tells it; None where it has not ended by then."""
        assert self.process
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode

    def tell(self, frame: Frame) -> None:
        """Never waits: what the agent does not take now is sent when it does."""
        if self.process and self.process.stdin and not self.process.stdin.closed:
            self.told = time.monotonic()
            self._outbox += pack(frame)
            self._write()

    def _write(self) -> Sequence[Any]:
        assert self.process
        assert self.process.stdin
        stdin = self.process.stdin
        try:
            del self._outbox[: os.write(stdin.fileno(), self._outbox)]
        except BlockingIOError:
            pass
        except OSError:
            self._outbox.clear()  # it is gone, which its silence will tell
        waiting = stdin in self.selector.get_map()
        if self._outbox and not waiting:
            self.selector.register(stdin, selectors.EVENT_WRITE, self._write)
        elif waiting and not self._outbox:
            self.selector.unregister(stdin)
        return ()

    def stop(self) -> None:
        """Tell the agent, and cut its lifeline: the frame for one that reads, the cut for one that does not."""
        if self.process and self.process.stdin and not self.process.stdin.closed:
            if not self._outbox:
                self.tell({"type": "stop"})
            self._forget(self.process.stdin)
            self.process.stdin.close()

    def _forget(self, stream: IO[bytes]) -> None:
        """Its end may be found by who looks for last words, while its turn is still to come."""
        with contextlib.suppress(KeyError):
            self.selector.unregister(stream)

    def kill(self) -> None:
        """End the process here, which for a host that is this one is the agent itself."""
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def release(self, seconds: float) -> None:
        """Let go of an agent that is over, and take note of its end."""
        if self.process is None:
            return
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream and not stream.closed:
                self._forget(stream)
                with contextlib.suppress(OSError):
                    stream.close()
        self.exit_code(seconds)
