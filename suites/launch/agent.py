"""The agent: one a host. Imports once, forks the ranks, watches them, and ends them when its lifeline is cut.

Started as `python -P -m suites.launch.agent`, with the job as the first frame on stdin. stdin then stays open: its end
means that the controller is gone, and the ranks with it. stdout carries frames only. One loop, no thread but the
store's, which starts after the fork. May import: protocol, rank, jobs, probes, collectives.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version

from collectives.placement import Placement
from collectives.rendezvous import StoreServer
from probes import process
from probes.host import LocalHost
from suites.jobs import job_named
from suites.launch.protocol import Channel, Frame, FrameReader, LineReader, pack
from suites.launch.rank import RankContext, become_rank, run_job

_TERM_SECONDS = 2.0
_KILL_SECONDS = 5.0
_BEAT_SECONDS = 1.0
_TURN_SECONDS = 0.1
_BACKLOG = 16 << 20
"""Bytes waiting for a controller that does not read, from which on the output of ranks is no longer taken."""


@dataclass(slots=True)
class _Output:
    """One stream that a rank prints to."""

    name: str
    lines: LineReader = field(default_factory=LineReader)


@dataclass(slots=True)
class _Rank:
    """The agent's side of one rank."""

    rank: int
    pid: int
    socket: socket.socket
    outputs: dict[int, _Output]
    """By read end, those that are still open."""
    reader: FrameReader = field(default_factory=FrameReader)
    alive: bool = True
    left: float | None = None
    """When it closed its end: it is gone, or about to be."""


class Agent:
    """Serves one job from start to end."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        os.set_blocking(sink, False)
        self._reader = FrameReader()
        self._selector = selectors.EpollSelector()
        self._outbox: deque[memoryview] = deque()
        self._backlog = 0
        self._full = False
        """The controller takes nothing at the moment."""
        self._deaf = False
        """Ranks' output is left where it is."""
        self._ranks: list[_Rank] = []
        self._store: StoreServer | None = None
        self._stopping: float | None = None
        """When the ranks were told to end; None while the job runs."""
        self._killed = False
        self._lifeline = True
        self._host = LocalHost()
        self._next_beat = 0.0

    def serve(self) -> None:
        """Until every rank is gone and the controller knows it, or cannot be told."""
        hello = {"host": socket.gethostname(), "pid": os.getpid(), "version": version("opsdist")}
        self._send({"type": "hello", "python": sys.version.split()[0], **hello})
        self._selector.register(self._source, selectors.EVENT_READ, self._on_controller)
        while self._lifeline and not self._ranks and self._stopping is None:
            self._turn()
        while any(rank.alive for rank in self._ranks):
            self._turn()
            self._press()
        self._hear_out()
        if self._store:
            self._store.close()
        self._send({"type": "ended"})
        self._next_beat = math.inf
        self._say_all()

    def give_up(self, error: Exception) -> None:
        """Tell the controller why this agent cannot go on, and take the ranks along."""
        self._signal(signal.SIGKILL)
        trace = traceback.format_exception(error)
        self._send({"type": "broken", "message": f"{type(error).__name__}: {error}", "traceback": trace})
        self._say_all()

    def _hear_out(self) -> None:
        """What ranks have printed; a child that a rank left behind may hold its output open for ever."""
        deadline = time.monotonic() + _TERM_SECONDS
        while any(rank.outputs for rank in self._ranks) and time.monotonic() < deadline:
            self._turn()
            if self._deaf and self._lifeline:
                deadline = time.monotonic() + _TERM_SECONDS

    def _say_all(self) -> None:
        """A controller that lives may take its time; one that has cut the lifeline gets a bounded while."""
        while self._outbox and self._lifeline:
            self._turn()
        deadline = time.monotonic() + _KILL_SECONDS
        while self._outbox and time.monotonic() < deadline:
            self._turn()

    def _turn(self) -> None:
        hurry = self._stopping is not None or any(rank.alive and rank.left for rank in self._ranks)
        for key, _ in self._selector.select(_TURN_SECONDS / 20 if hurry else _TURN_SECONDS):
            key.data(key.fd)
        self._reap()
        self._listen()
        if time.monotonic() >= self._next_beat and not self._full:
            self._beat()

    def _on_controller(self, descriptor: int) -> None:
        data = os.read(descriptor, 1 << 16)
        if not data:
            self._lifeline = False
            self._selector.unregister(descriptor)
            self._stop()
            return
        for frame in self._reader.feed(data):
            if frame["type"] == "job" and not self._ranks:
                self._launch(frame)
            elif frame["type"] == "stop":
                self._stop()

    def _launch(self, frame: Frame) -> None:
        job = job_named(frame["job"])
        # What exists before the fork is shared by all ranks and must not be moved about by the collector.
        gc.collect()
        gc.freeze()
        gc.disable()
        placements = [Placement(**placement) for placement in frame["placements"]]
        for placement, cpus in zip(placements, frame["cpus"], strict=True):
            self._fork(placement, cpus, frame, job)
        gc.enable()
        self._store = StoreServer(frame["store"], frame["token"])
        for rank in self._ranks:
            self._send({"type": "started", "rank": rank.rank, "pid": rank.pid})
            # One that is dead already is reported like any other.
            with contextlib.suppress(OSError):
                rank.socket.sendall(pack({"type": "go", "store": self._store.address}))
        for rank in self._ranks:
            rank.socket.setblocking(False)

    def _fork(
        self, placement: Placement, cpus: list[int] | None, frame: Frame, job: Callable[[RankContext], None]
    ) -> None:
        ours, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                others = [d for rank in self._ranks for d in (rank.socket.fileno(), *rank.outputs)]
                close = [ours.fileno(), out_read, err_read, self._sink, self._selector.fileno(), *others]
                channel = Channel(theirs)
                become_rank(channel, (out_write, err_write), close, parent, cpus)
                run_job(channel, job, frame, placement)
            except BaseException:
                traceback.print_exc()
            finally:
                # Whatever happens, a rank never goes on as a second agent.
                os._exit(1)
        theirs.close()
        os.close(out_write)
        os.close(err_write)
        # The rank does it too; whoever comes first, its group exists before anybody signals it.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        rank = _Rank(placement.rank, pid, ours, {out_read: _Output("stdout"), err_read: _Output("stderr")})
        self._ranks.append(rank)
        self._selector.register(ours, selectors.EVENT_READ, lambda _: self._on_rank(rank))
        for descriptor in rank.outputs:
            self._hear(rank, descriptor)

    def _on_rank(self, rank: _Rank) -> bool:
        """Hand on what the rank reports; whether there was anything."""
        try:
            data = rank.socket.recv(1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        for content in rank.reader.feed(data):
            self._send({"type": "rank", "rank": rank.rank, "content": content})
        if not data:
            self._selector.unregister(rank.socket)
            rank.socket.close()
            rank.left = time.monotonic()
        return bool(data)

    def _reap(self) -> None:
        """Take note of ranks that have ended, after all they had to say."""
        alive = {rank.pid: rank for rank in self._ranks if rank.alive}
        while alive:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            if rank := alive.pop(pid, None):
                self._on_end(rank, os.waitstatus_to_exitcode(status))
        for rank in alive.values():
            if rank.left and time.monotonic() - rank.left > _TERM_SECONDS:
                _signal_group(rank.pid, signal.SIGKILL)  # closed its end and lives on: not a rank any more

    def _on_end(self, rank: _Rank, code: int) -> None:
        while rank.left is None and self._on_rank(rank):
            pass
        if rank.left is None:  # a child of it holds the other end
            self._selector.unregister(rank.socket)
            rank.socket.close()
        rank.alive = False
        ended = {"code": code if code >= 0 else None, "signal": -code if code < 0 else None}
        self._send({"type": "exit", "rank": rank.rank, "stopped": self._stopping is not None, **ended})
        # Its children, if it left any, are in its group.
        _signal_group(rank.pid, signal.SIGKILL)

    def _hear(self, rank: _Rank, descriptor: int) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ, lambda _: self._on_output(rank, descriptor))

    def _listen(self) -> None:
        """Take output only while the controller keeps up: who prints without end then waits, and nobody else."""
        deaf = self._backlog > (_BACKLOG // 2 if self._deaf else _BACKLOG)
        if deaf != self._deaf:
            self._deaf = deaf
            for rank in self._ranks:
                for descriptor in rank.outputs:
                    if deaf:
                        self._selector.unregister(descriptor)
                    else:
                        self._hear(rank, descriptor)

    def _on_output(self, rank: _Rank, descriptor: int) -> None:
        data = os.read(descriptor, 1 << 14)
        output = rank.outputs[descriptor]
        if text := output.lines.feed(data):
            self._send({"type": "output", "rank": rank.rank, "stream": output.name, "text": text})
        if not data:
            self._selector.unregister(descriptor)
            os.close(descriptor)
            del rank.outputs[descriptor]

    def _beat(self) -> None:
        """Tell the controller that this agent lives, how its ranks are, and how much CPU each has used."""
        self._next_beat = time.monotonic() + _BEAT_SECONDS
        alive = [rank for rank in self._ranks if rank.alive]
        states = {str(rank.rank): process.state(self._host, rank.pid) for rank in alive}
        used = {str(rank.rank): process.cpu_seconds(self._host, rank.pid) or 0.0 for rank in alive}
        self._send({"type": "alive", "states": states, "cpu_seconds": used})

    def _stop(self) -> None:
        if self._stopping is None:
            self._stopping = time.monotonic()
            self._beat()
            self._signal(signal.SIGTERM)
            # A stopped process takes SIGTERM only when it goes on.
            self._signal(signal.SIGCONT)

    def _press(self) -> None:
        """What did not end when asked is killed."""
        if self._stopping is not None and not self._killed and time.monotonic() - self._stopping > _TERM_SECONDS:
            self._killed = True
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        for rank in self._ranks:
            if rank.alive:
                _signal_group(rank.pid, number)

    def _send(self, frame: Frame) -> None:
        data = pack(frame)
        self._outbox.append(memoryview(data))
        self._backlog += len(data)
        if not self._full:
            self._write()

    def _write(self) -> None:
        """As much as the controller takes now; the rest when it takes more."""
        full = False
        while self._outbox and not full:
            try:
                written = os.write(self._sink, self._outbox[0])
            except BlockingIOError:
                full = True
            except OSError:
                self._outbox.clear()
                self._backlog = 0
                self._lifeline = False
                self._stop()
            else:
                self._backlog -= written
                rest = self._outbox.popleft()[written:]
                if rest:
                    self._outbox.appendleft(rest)
        if full and not self._full:
            self._selector.register(self._sink, selectors.EVENT_WRITE, lambda _: self._write())
        elif self._full and not full:
            self._selector.unregister(self._sink)
        self._full = full


def _signal_group(pid: int, number: signal.Signals) -> None:
    """To a rank's own process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def main() -> None:
    sink = os.dup(1)
    os.set_inheritable(sink, False)
    # From here on whatever prints to stdout ends in stderr, never between frames.
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the lifeline decides
    agent = Agent(0, sink)
    try:
        agent.serve()
    except Exception as error:
        agent.give_up(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
