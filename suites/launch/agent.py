"""The agent: one a host. Imports once, forks the ranks, watches them, and ends them when its lifeline is cut.

Started as `python -P -m suites.launch.agent`, with the job as the first frame on stdin. stdin then stays open: its end
means that the controller is gone, and the ranks with it. stdout carries frames only. One loop, no thread but the
store's, which starts after the fork. May import: protocol, rank, jobs, probes, collectives.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from importlib.metadata import version

from collectives.placement import Placement
from collectives.rendezvous import StoreServer
from probes import process
from probes.host import LocalHost
from suites.jobs import job_named
from suites.launch.protocol import Channel, Frame, FrameReader, pack
from suites.launch.rank import become_rank, run_job

_TERM_SECONDS = 2.0
_KILL_SECONDS = 5.0
_BEAT_SECONDS = 1.0
_BACKLOG = 16 << 20
"""Bytes waiting for a controller that does not read, from which on the output of ranks is no longer taken."""


@dataclass(slots=True)
class _Rank:
    """The agent's side of one rank."""

    rank: int
    pid: int
    socket: socket.socket
    outputs: dict[int, str]
    """The read ends that are still open, and which stream each is."""
    reader: FrameReader = field(default_factory=FrameReader)
    alive: bool = True


class Agent:
    """Serves one job from start to end."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        os.set_blocking(sink, False)
        self._reader = FrameReader()
        self._selector = selectors.DefaultSelector()
        self._outbox: deque[bytes] = deque()
        self._backlog = 0
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
        while any(rank.alive or rank.outputs for rank in self._ranks):
            self._turn()
            self._press()
        if self._store:
            self._store.close()
        self._send({"type": "ended"})
        deadline = time.monotonic() + _KILL_SECONDS
        while self._outbox and self._lifeline and time.monotonic() < deadline:
            self._turn()

    def _turn(self) -> None:
        self._write()
        for key, _ in self._selector.select(0.1 if self._stopping is None else 0.02):
            key.data(key.fd)
        if time.monotonic() >= self._next_beat:
            self._beat()

    def _on_controller(self, descriptor: int) -> None:
        data = os.read(descriptor, 1 << 16)
        if not data:
            self._lifeline = False
            self._selector.unregister(descriptor)
            self._stop()
            return
        for frame in self._reader.feed(data):
            if frame["type"] == "job":
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
            try:
                rank.socket.sendall(pack({"type": "go", "store": self._store.address}))
            except OSError:
                continue  # dead already: its end is reported like any other
        for rank in self._ranks:
            rank.socket.setblocking(False)

    def _fork(self, placement: Placement, cpus: list[int] | None, frame: Frame, job: object) -> None:
        ours, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            others = [d for rank in self._ranks for d in (rank.socket.fileno(), *rank.outputs)]
            close = [ours.fileno(), out_read, err_read, self._sink, *others]
            channel = Channel(theirs)
            become_rank(channel, (out_write, err_write), close, parent, cpus)
            run_job(channel, job, frame, placement)  # type: ignore[arg-type]
        theirs.close()
        os.close(out_write)
        os.close(err_write)
        rank = _Rank(placement.rank, pid, ours, {out_read: "stdout", err_read: "stderr"})
        self._ranks.append(rank)
        self._selector.register(ours, selectors.EVENT_READ, lambda _: self._on_rank(rank))
        for descriptor in rank.outputs:
            self._selector.register(descriptor, selectors.EVENT_READ, lambda fd: self._on_output(rank, fd))

    def _on_rank(self, rank: _Rank) -> None:
        try:
            data = rank.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        for content in rank.reader.feed(data):
            self._send({"type": "rank", "rank": rank.rank, "content": content})
        if not data:
            self._selector.unregister(rank.socket)
            rank.socket.close()
            self._reap(rank)

    def _reap(self, rank: _Rank) -> None:
        """The rank has closed its end: it is gone, or about to be."""
        deadline = time.monotonic() + _TERM_SECONDS
        while True:
            pid, status = os.waitpid(rank.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:  # closed its end and lives on: not a rank any more
                os.kill(rank.pid, signal.SIGKILL)
            time.sleep(0.001)
        rank.alive = False
        code = os.waitstatus_to_exitcode(status)
        ended = {"code": code if code >= 0 else None, "signal": -code if code < 0 else None}
        self._send({"type": "exit", "rank": rank.rank, "stopped": self._stopping is not None, **ended})
        # Its children, if it left any, are in its group.
        _signal_group(rank.pid, signal.SIGKILL)

    def _on_output(self, rank: _Rank, descriptor: int) -> None:
        if self._backlog > _BACKLOG:
            return
        data = os.read(descriptor, 1 << 14)
        if data:
            text = data.decode(errors="replace")
            self._send({"type": "output", "rank": rank.rank, "stream": rank.outputs[descriptor], "text": text})
            return
        self._selector.unregister(descriptor)
        os.close(descriptor)
        del rank.outputs[descriptor]

    def _beat(self) -> None:
        """Tell the controller that this agent lives, how its ranks are, and how much CPU they have used."""
        self._next_beat = time.monotonic() + _BEAT_SECONDS
        alive = [rank for rank in self._ranks if rank.alive]
        states = {str(rank.rank): process.state(self._host, rank.pid) for rank in alive}
        used = sum(process.cpu_seconds(self._host, rank.pid) or 0.0 for rank in alive)
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
        self._outbox.append(data)
        self._backlog += len(data)
        self._write()

    def _write(self) -> None:
        """As much as the controller takes now."""
        while self._outbox:
            try:
                written = os.write(self._sink, self._outbox[0])
            except BlockingIOError:
                return
            except OSError:
                self._outbox.clear()
                self._backlog = 0
                self._lifeline = False
                self._stop()
                return
            self._backlog -= written
            rest = self._outbox.popleft()[written:]
            if rest:
                self._outbox.appendleft(rest)


def _signal_group(pid: int, number: signal.Signals) -> None:
    """To a rank's own process group, or to the rank if it died before it made one."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def main() -> None:
    sink = os.dup(1)
    os.set_inheritable(sink, False)
    # From here on whatever prints to stdout ends in stderr, never between frames.
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the lifeline decides
    Agent(0, sink).serve()


if __name__ == "__main__":
    main()
