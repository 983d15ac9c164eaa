"""The agent: one a host. Has the ranks started, watches them, and ends them when its lifeline is cut.

Started as `python -P -m suites.launch.agent`, or from far.py, with the job as the first frame on stdin. stdin then
stays open: its end means that the controller is gone, and the ranks with it. So does silence, where the controller is
on another host: a wire that is cut has no end. stdout carries frames only. One loop, no thread but the
store's, which starts after the fork. How ranks are started is a starter's (see starters.py).
May import: protocol, frames, link's limit, knock, snapshots, starters, world's look at a host, probes, collectives.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version

from collectives.rendezvous import StoreServer
from probes import network, process
from probes.host import LocalHost
from suites import world
from suites.launch.frames import FROM_CONTROLLERS, check
from suites.launch.knock import Door, Knock
from suites.launch.link import raise_descriptors
from suites.launch.looking import Looking
from suites.launch.protocol import MARK, BrokenFrame, Frame, FrameReader, pack
from suites.launch.snapshots import reach, recorded
from suites.launch.starters import Member, Starter, signal_group, starter_named

_TERM_SECONDS = 2.0
_KILL_SECONDS = 5.0
_BEAT_SECONDS = 1.0
_TURN_SECONDS = 0.1
_BACKLOG = 16 << 20
"""Bytes waiting for a controller that does not read, from which on the output of ranks is no longer taken."""


class Agent:
    """Serves one job from start to end."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        os.set_blocking(sink, False)
        self._reader = FrameReader()
        self._epoll = selectors.EpollSelector()
        self.selector: selectors.BaseSelector = self._epoll
        self._outbox: deque[memoryview] = deque()
        self._backlog = 0
        self._full = False
        """The controller takes nothing at the moment."""
        self._deaf = False
        """Ranks' output is left where it is."""
        self._ranks: Sequence[Member] = ()
        self._job: Frame = {}
        self._starter: Starter | None = None
        self._door: Door | None = None
        self._knock: Knock | None = None
        self._looking: Looking | None = None
        self._store: StoreServer | None = None
        self._stopping: float | None = None
        """When the ranks were told to end; None while the job runs."""
        self._killed = False
        self._lifeline = True
        self._given_up = False
        """Only the end of what the controller says is still listened for."""
        self._host = LocalHost()
        self._next_beat = 0.0
        self._heard = time.monotonic()
        self._patience = math.inf
        """How long the controller may say nothing."""

    def serve(self) -> None:
        """Until every rank is gone and the controller knows it, or cannot be told."""
        # First of all, since what follows may fail, and then that is told.
        self._outbox.append(memoryview(MARK))
        hello = {"host": socket.gethostname(), "pid": os.getpid(), "version": version("opsdist")}
        interfaces = [asdict(interface) for interface in network.read(self._host).interfaces or ()]
        found = {"facts": asdict(world.look(self._host)), "interfaces": interfaces}
        self._send({"type": "hello", "python": sys.version.split()[0], **found, **hello})
        self.selector.register(self._source, selectors.EVENT_READ, self._on_controller)
        while self._lifeline and not self._ranks and self._stopping is None:
            self._turn()
        while any(rank.alive for rank in self._ranks):
            self._turn()
            self._press()
        self._hear_out()
        self._dismiss()
        if self._store:
            self._store.close()
        self._send({"type": "ended"})
        self._next_beat = math.inf
        self._say_all()

    def give_up(self, error: Exception) -> None:
        """Tell the controller why this agent cannot go on, and take the ranks along."""
        self._given_up = True
        self._kill()
        trace = traceback.format_exception(error)
        message = f"{type(error).__name__}: {error}"
        self._send({"type": "broken", "error": type(error).__name__, "message": message, "traceback": trace})
        self._dismiss()
        self._say_all()

    def _hear_out(self) -> None:
        """What ranks have printed; a child that a rank left behind may hold its output open for ever."""
        deadline = time.monotonic() + _TERM_SECONDS
        while any(rank.outputs for rank in self._ranks) and time.monotonic() < deadline:
            self._turn()
            if self._deaf and self._lifeline:
                deadline = time.monotonic() + _TERM_SECONDS

    def _dismiss(self) -> None:
        """Nobody is left but what started the ranks: it has a while to end by itself."""
        deadline = time.monotonic() + _TERM_SECONDS
        while self._starter and not self._starter.leave() and time.monotonic() < deadline + _TERM_SECONDS:
            if time.monotonic() > deadline:
                self._starter.kill()
            self._turn()

    def _kill(self) -> None:
        for rank in self._ranks:
            if rank.alive:
                signal_group(rank.pid, signal.SIGKILL)
        if self._starter:
            self._starter.kill()

    def _say_all(self) -> None:
        """A controller that lives may take its time; one that has cut the lifeline gets a bounded while."""
        while self._outbox and self._lifeline:
            self._turn()
        deadline = time.monotonic() + _KILL_SECONDS
        while self._outbox and time.monotonic() < deadline:
            self._turn()

    def _turn(self) -> None:
        hurry = self._stopping is not None or any(rank.alive and rank.left for rank in self._ranks)
        for key, _ in self.selector.select(_TURN_SECONDS / 20 if hurry else _TURN_SECONDS):
            key.data(key.fd)
        self._reap()
        if self._starter:
            self._starter.turn()
        if self._knock:
            self._knock.turn()
        if self._looking:
            self._looking.turn()
        self._listen()
        if self._lifeline and time.monotonic() - self._heard > self._patience:
            self._send({"type": "unheard", "seconds": self._patience})  # should it hear again
            self._cut()
        if time.monotonic() >= self._next_beat and not self._full:
            self._beat()

    def _on_controller(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return
        except OSError:  # a connection that is broken
            data = b""
        self._heard = time.monotonic()
        if not data:
            self._cut()
            return
        if self._given_up:
            return
        for frame in self._reader.feed(data):
            check(frame, FROM_CONTROLLERS)
            match frame["type"]:
                case "job" if self._starter is None:
                    self._shut()
                    raise_descriptors()
                    self._job, self._patience = frame, frame["lifeline"] or math.inf
                    self._starter = starter_named(frame["starter"])(self)
                    self._starter.start(frame)
                case "job":
                    raise BrokenFrame("a second job")
                case "listen":
                    self._door = Door(self.selector, frame["address"], frame["secret"])
                    self._send({"type": "listening", "port": self._door.port})
                case "knock":
                    self._knock = Knock(
                        self.selector, frame["address"], frame["port"], frame["secret"], frame["seconds"],
                        lambda why: self._send({"type": "knocked", "why": why}),
                    )  # fmt: skip
                case "clock":
                    self._send({"type": "clocked", "nanoseconds": time.time_ns()})
                case "look":
                    self._looking = Looking(frame, self._send)
                case "go":
                    self._go(frame)
                case "record":
                    self._tell_recorded(self._ranks)
                case "stop":
                    self._stop()

    def _cut(self) -> None:
        """The controller is gone, or cannot be heard."""
        self._lifeline = False
        if self._looking:
            self._looking.stop()
        self.selector.unregister(self._source)
        self._stop()

    def _shut(self) -> None:
        """All hosts have reached each other: nobody else has to knock here, and no rank need inherit the door."""
        if self._door:
            self._door.close()
            self._door = None

    def _go(self, frame: Frame) -> None:
        for rank in self._ranks:
            # One that is dead already is reported like any other.
            with contextlib.suppress(OSError):
                rank.socket.sendall(pack(frame))

    def private(self) -> list[int]:
        return [self._sink, self._epoll.fileno()]

    def on_started(self, members: Sequence[Member]) -> None:
        self._ranks = members
        for rank in members:
            self.selector.register(rank.socket, selectors.EVENT_READ, self._hearer(rank))
            for descriptor in rank.outputs:
                self._hear(rank, descriptor)
        for rank in members:
            rank.socket.setblocking(False)
            self._send({"type": "started", "rank": rank.rank, "pid": rank.pid})
        if self._job["store"]:
            self._store = StoreServer(self._job["store"], self._job["token"])
            self._send({"type": "serving", "store": self._store.address})

    def on_helpers(self, pids: Sequence[int]) -> None:
        self._send({"type": "helpers", "pids": list(pids)})

    def on_waiting(self, address: str, token: str) -> None:
        self._send({"type": "waiting", "address": address, "token": token})

    def on_words(self, text: str) -> None:
        self._send({"type": "output", "rank": None, "stream": "stderr", "text": text})

    def _hearer(self, rank: Member) -> Callable[[int], bool]:
        return lambda _: self._on_rank(rank)

    def _on_rank(self, rank: Member) -> bool:
        """Hand on what the rank reports; whether there was anything."""
        try:
            data = rank.socket.recv(1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        for content in rank.reader.feed(data):
            if content["type"] == "ring":
                reach(rank, content)
                continue
            rank.finished |= content["type"] == "finished"
            self._send({"type": "rank", "rank": rank.rank, "content": content})
        if not data:
            self.selector.unregister(rank.socket)
            rank.socket.close()
            rank.left = time.monotonic()
        return bool(data)

    def _reap(self) -> None:
        """Take note of children that have ended."""
        with contextlib.suppress(ChildProcessError):
            while self._starter:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                self._starter.reaped(pid, os.waitstatus_to_exitcode(status))
        for rank in self._ranks:
            if rank.alive and rank.left and time.monotonic() - rank.left > _TERM_SECONDS:
                signal_group(rank.pid, signal.SIGKILL)  # closed its end and lives on: not a rank any more

    def on_ended(self, rank: Member, code: int) -> None:
        """A rank has ended, which is told after all it had to say."""
        while rank.left is None and self._on_rank(rank):
            pass
        if rank.left is None:  # a child of it holds the other end
            self.selector.unregister(rank.socket)
            rank.socket.close()
        rank.alive = False
        # Should it be the last of its host, nobody could ask later.
        if self._stopping is None and (self._job["record"] or not rank.finished):
            self._tell_recorded([rank])
        ended = {"code": code if code >= 0 else None, "signal": -code if code < 0 else None}
        self._send({"type": "exit", "rank": rank.rank, "stopped": self._stopping is not None, **ended})
        # Its children, if it left any, are in its group.
        signal_group(rank.pid, signal.SIGKILL)

    def _tell_recorded(self, ranks: Sequence[Member]) -> None:
        for frame in recorded(ranks):
            self._send(frame)

    def _hear(self, rank: Member, descriptor: int) -> None:
        self.selector.register(descriptor, selectors.EVENT_READ, lambda _: self._on_output(rank, descriptor))

    def _listen(self) -> None:
        """Take output only while the controller keeps up: who prints without end then waits, and nobody else."""
        deaf = self._backlog > (_BACKLOG // 2 if self._deaf else _BACKLOG)
        if deaf != self._deaf:
            self._deaf = deaf
            for rank in self._ranks:
                for descriptor in rank.outputs:
                    if deaf:
                        self.selector.unregister(descriptor)
                    else:
                        self._hear(rank, descriptor)

    def _on_output(self, rank: Member, descriptor: int) -> None:
        data = os.read(descriptor, 1 << 14)
        output = rank.outputs[descriptor]
        if text := output.lines.feed(data):
            self._send({"type": "output", "rank": rank.rank, "stream": output.name, "text": text})
        if not data:
            self.selector.unregister(descriptor)
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
            for rank in self._ranks:
                if rank.alive and self._starter:
                    self._starter.terminate(rank)

    def _press(self) -> None:
        """What did not end when asked is killed."""
        if self._stopping is not None and not self._killed and time.monotonic() - self._stopping > _TERM_SECONDS:
            self._killed = True
            for rank in self._ranks:
                if rank.alive:
                    signal_group(rank.pid, signal.SIGKILL)

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
            self.selector.register(self._sink, selectors.EVENT_WRITE, lambda _: self._write())
        elif self._full and not full:
            self.selector.unregister(self._sink)
        self._full = full


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
