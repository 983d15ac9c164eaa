"""An agent as a process, spoken to by hand, frame by frame."""

from __future__ import annotations

import os
import secrets
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from collectives.placement import Placement
from suites.launch.protocol import Frame, FrameReader, Noise, pack
from tests.leftovers import RunSpace

ROOT = Path(__file__).parents[3]
STRANGE = (sys.executable, "-m", "tests.suites.launch.strange_agent")
PATIENCE = 30.0


def job(name: str, ranks: int = 1, **arguments: object) -> Frame:
    """A job frame."""
    placements = [asdict(Placement(rank, ranks, rank, ranks, 0, 1)) for rank in range(ranks)]
    store = f"ipc://@opsdist-test-{secrets.token_hex(8)}"
    return {
        "type": "job", "job": name, "arguments": arguments, "placements": placements, "cpus": [None] * ranks,
        "token": "t", "store": store, "timeout": 5.0, "starter": "fork",
        "lifeline": None, "address": None, "record": False,
    }  # fmt: skip


@dataclass
class AgentProcess:
    """The other end of an agent's stdin and stdout."""

    process: subprocess.Popen[bytes]
    _noise: Noise = field(default_factory=Noise)
    _reader: FrameReader = field(default_factory=FrameReader)
    _seen: list[Frame] = field(default_factory=list)

    def send(self, frame: Frame) -> None:
        self.write(pack(frame))

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def go(self) -> None:
        """The ranks may meet, whatever the agent has said so far."""
        self.send({"type": "go", "store": ""})

    def hang_up(self) -> None:
        """Cut the lifeline."""
        assert self.process.stdin
        self.process.stdin.close()

    def frames(self) -> Iterator[Frame]:
        """Until the agent closes its stdout; fails when nothing comes for long."""
        assert self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                if selector.select(1.0):
                    data = os.read(self.process.stdout.fileno(), 1 << 16)
                    if not data:
                        return
                    for frame in self._reader.feed(self._noise.feed(data)):
                        if frame["type"] == "serving":  # all ranks are there, since there is no other host
                            self.send({"type": "go", "store": frame["store"]})
                        yield frame
        raise AssertionError(f"the agent neither ends nor says the awaited within {PATIENCE:g} s")

    def first(self, kind: str, where: Callable[[Frame], bool] = lambda frame: True) -> Frame:
        """The next frame of that type."""
        for frame in self.frames():
            if frame["type"] == kind and where(frame):
                return frame
        raise AssertionError(f"the agent ended without a frame '{kind}'")

    def stderr(self) -> str:
        assert self.process.stderr
        return self.process.stderr.read().decode()


@contextmanager
def agent_process(space: RunSpace, argv: tuple[str, ...] = STRANGE, **variables: str) -> Iterator[AgentProcess]:
    environment = space.environment(PYTHONPATH=str(ROOT), **variables)
    with subprocess.Popen(
        list(argv), env=environment, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield AgentProcess(process)
        finally:
            process.kill()
