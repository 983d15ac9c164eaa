"""Faults that strike a rank of the exercise at a call: before it, inside it, or in its result.

What only changes which call is made is in altered.py. May import: numpy, collectives, exercise, strikes, launch.rank's
context, and from this package.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

import numpy as np

from collectives.communicator import Communicator
from collectives.dtypes import Array
from suites.exercise import Scheduled
from suites.jobs.cut import cut
from suites.jobs.inject import FAULTS
from suites.launch.rank import RankContext
from suites.strikes import RENDEZVOUS_NUMBER, Strike

_LATE_CALLS = 6
"""How often `slow` strikes: twice as often as it takes to be told from chance."""
_LATE_SECONDS, _LATE_PART = 0.3, 0.1
"""By so much, or by this part of the deadline, whatever is more."""
_SETTLED_SECONDS = 0.1
_POLL_SECONDS = 0.01
_ELSEWHERE_SECONDS = 1.0
"""For a rank of another host to be stopped, whose state cannot be seen from here."""
_RANK = struct.Struct("=qq48s")
"""An address of IPv6 has 39 characters."""


@dataclass(frozen=True, slots=True)
class _Other:
    """A rank, as strikes need to know it."""

    pid: int
    node: int
    address: str
    """Of its host; empty where there is but one."""

    def packed(self) -> bytes:
        return _RANK.pack(self.pid, self.node, self.address.encode())

    @classmethod
    def of(cls, data: bytes) -> _Other:
        pid, node, address = _RANK.unpack(data)
        return cls(pid, node, address.rstrip(b"\0").decode())


class Saboteur:
    """The strikes of a run, as one rank sees them."""

    def __init__(self, context: RankContext, strikes: Sequence[Strike]) -> None:
        self._context, self._all, self._rank = context, strikes, context.placement.rank
        self._mine = [strike for strike in strikes if strike.rank == self._rank]
        self._late = 0
        self._cut: list[Strike] = []
        """Those of link-down that have struck."""
        self._others: Sequence[_Other] = ()
        """All ranks, where a strike needs to know of them."""

    def at_rendezvous(self) -> None:
        self._act(RENDEZVOUS_NUMBER)

    def meet(self, comm: Communicator) -> None:
        """Learn what is needed of the others; in a group of its own, so that nobody's calls are counted otherwise."""
        if any(strike.inside or strike.fault == "link-down" for strike in self._all):
            everyone = comm.group(range(comm.size))
            own = _Other(os.getpid(), self._context.placement.node, self._context.address or "").packed()
            send, recv = comm.allocate(len(own), "uint8"), comm.allocate(len(own) * comm.size, "uint8")
            send[:] = np.frombuffer(own, np.uint8)
            everyone.bind("allgather", send, recv).run()
            told = recv.tobytes()
            self._others = [_Other.of(told[start : start + len(own)]) for start in range(0, len(told), len(own))]

    def before(self, call: Scheduled, comms: Mapping[str, Communicator]) -> None:
        """Do what is due at this call."""
        self._act(call.number, call.describe())
        for strike in self._all:
            if strike.fault == "cycle" and strike.number == call.number:
                self._receive_first(comms[call.group.name], call)
            elif strike.inside and strike.number == call.number:
                self._stop_inside(strike)
            elif strike.fault == "link-down" and call.number >= strike.number:
                self._cut_off(strike)
        slow = any(strike.fault == "slow" and call.number >= strike.number for strike in self._mine)
        if slow and len(call.members) > 1 and self._late < _LATE_CALLS:
            self._late += 1
            time.sleep(max(_LATE_SECONDS, _LATE_PART * self._context.timeout))

    def after(self, call: Scheduled, received: Array) -> None:
        """Spoil the result where that is the fault."""
        if any(strike.fault == "corrupt" and strike.number == call.number for strike in self._mine):
            received[len(received) // 2 :][:1].view(np.uint8)[:1] ^= 0xFF

    def _act(self, number: int, call: str = "the meeting") -> None:
        for strike in self._mine:
            if strike.number == number and not strike.inside:
                if strike.fault == "missing":
                    self._idle(call)
                elif action := FAULTS[strike.fault].act:
                    action()

    def _idle(self, call: str) -> None:
        """Be done with it, as it were, and alive until it is ended."""
        self._context.phase(f"idle instead of {call}")
        while True:
            signal.pause()

    def _receive_first(self, comm: Communicator, call: Scheduled) -> None:
        """What all ranks of the group do, each waiting for the one before it, and the first for the last."""
        before, after = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        ranks = call.group.ranks
        self._context.phase(f"call {call.number} ({call.group.name} #{call.seq}: recv from rank {ranks[before]})")
        word = comm.allocate(1, "int64")
        comm.recv(word, before)
        comm.send(word, after)

    def _stop_inside(self, strike: Strike) -> None:
        """The rank enters alone and is stopped; the others enter once it is."""
        if strike.rank == self._rank:
            threading.Thread(target=_stop_when_inside, args=(threading.get_ident(),), daemon=True).start()
            return
        struck = self._others[strike.rank]
        if struck.node != self._context.placement.node:
            time.sleep(_ELSEWHERE_SECONDS)
            return
        while _state(struck.pid) != "T":
            time.sleep(_POLL_SECONDS)

    def _cut_off(self, strike: Strike) -> None:
        """Nothing comes through any more between the host of the rank and others; each end sees to it by itself."""
        if strike not in self._cut:
            self._cut.append(strike)
            here, struck = self._context.placement.node, self._others[strike.rank].node
            gone = {one.address for one in self._others if (one.node == struck) != (here == struck)}
            cut(gone, self._context.timeout)


def _stop_when_inside(thread: int) -> None:
    """Stop the process once that thread stays in one call of `collectives`, which does not end."""
    before: FrameType | None = None
    while True:
        frame: FrameType | None = sys._current_frames()[thread]
        outermost: FrameType | None = None
        while frame is not None:
            if "/collectives/" in frame.f_code.co_filename:
                outermost = frame
            frame = frame.f_back
        if outermost is not None and outermost is before:
            os.kill(os.getpid(), signal.SIGSTOP)
        before = outermost
        time.sleep(_SETTLED_SECONDS)


def _state(pid: int) -> str:
    """As /proc has it; "T" too where it has ended, which is nobody to wait for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "T"
