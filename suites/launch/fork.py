"""Starter fork: the agent imports once and forks its ranks, so 64 of them start in about the time of one.

May import: protocol, rank, starters, jobs, collectives.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import traceback
from collections.abc import Callable

from collectives import ring
from collectives.placement import Placement
from suites.jobs import job_named
from suites.launch.protocol import Channel, Frame
from suites.launch.rank import RankContext, become_rank, pin, run_job
from suites.launch.starters import Host, Member, Stream, signal_group


class ForkStarter:
    """Ranks as children of the agent."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._members: dict[int, Member] = {}
        """By process id, those that have not ended."""

    def start(self, job: Frame) -> None:
        function = job_named(job["job"])
        # What exists before the fork is shared by all ranks and must not be moved about by the collector.
        gc.collect()
        gc.freeze()
        gc.disable()
        placements = [Placement(**placement) for placement in job["placements"]]
        for placement, cpus in zip(placements, job["cpus"], strict=True):
            member = self._fork(placement, cpus, job, function)
            self._members[member.pid] = member
        gc.enable()
        self._host.on_started(list(self._members.values()))

    def turn(self) -> None:
        pass

    def reaped(self, pid: int, code: int) -> None:
        if member := self._members.pop(pid, None):
            self._host.on_ended(member, code)

    def terminate(self, member: Member) -> None:
        # A stopped process takes SIGTERM only when it goes on.
        signal_group(member.pid, signal.SIGTERM, signal.SIGCONT)

    def leave(self) -> bool:
        return True

    def kill(self) -> None:
        pass

    def _fork(
        self, placement: Placement, cpus: list[int] | None, job: Frame, function: Callable[[RankContext], None]
    ) -> Member:
        ours, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        record = ring.memory()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                others = [descriptor for member in self._members.values() for descriptor in _descriptors(member)]
                close = [ours.fileno(), out_read, err_read, *self._host.private(), *others]
                become_rank((out_write, err_write), close, parent)
                pin(cpus)
                run_job(Channel(theirs), function, job, placement, record)
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
        outputs = {out_read: Stream("stdout"), err_read: Stream("stderr")}
        return Member(placement.rank, pid, ours, outputs, record)


def _descriptors(member: Member) -> list[int]:
    return [member.socket.fileno(), *member.outputs, *([] if member.ring is None else [member.ring])]
