"""The parent of a rank that no agent forks: forks it, dials the agent, reports the rank's end, ends with the agent.

Started as `python -P -m suites.launch.dial`, by mpiexec or by what another launcher has started as that rank. It
imports little and sleeps until something happens, so it takes no time from the ranks. It holds MPI's descriptors open
until all ranks have ended: mpiexec then sees no rank leave, and it is the agent alone that judges.
May import: the standard library, protocol, dialin's names, segments; more only in the rank.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Mapping

from collectives.segments import remove, segments
from suites.launch.dialin import ADDRESS, LONGEST, ORPHANED, RANK, TERMINATE, TOKEN
from suites.launch.protocol import Channel
from suites.launch.starters import signal_group

_ORPHANED = signal.SIGHUP
_PR_SET_PDEATHSIG = 1
_RANKS = (RANK, "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
"""Where a process is told its rank, by opsdist or by launchers of MPI."""


class Dial:
    """One rank, seen by its parent."""

    def __init__(self, environ: Mapping[str, str], address: str, token: str) -> None:
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.connect(f"\0{address}")
        self._woken, wake = os.pipe()
        for descriptor in (self._woken, wake):
            os.set_blocking(descriptor, False)
        for number in (signal.SIGCHLD, _ORPHANED):
            signal.signal(number, lambda number, frame: None)
        self._parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _ORPHANED)
        signal.set_wakeup_fd(wake)
        self._segments: set[str] = set()
        """What the rank has mapped: one that is ended cannot remove it."""
        self._ended = False
        self._pid = self._fork(rank_of(environ), token, wake)

    def _fork(self, rank: int, token: str, wake: int) -> int:
        ours, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                for number in (signal.SIGCHLD, _ORPHANED):
                    signal.signal(number, signal.SIG_DFL)
                close = [ours.fileno(), out_read, err_read, self._control.fileno(), self._woken, wake]
                _run_rank(Channel(theirs), (out_write, err_write), close, parent)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        hello = {"token": token, "rank": rank, "pid": pid, "dial": parent, "parent": self._parent}
        socket.send_fds(self._control, [json.dumps(hello).encode()], [ours.fileno(), out_read, err_read])
        ours.close()
        theirs.close()
        for descriptor in (out_read, out_write, err_read, err_write):
            os.close(descriptor)
        return pid

    def serve(self) -> None:
        """Until the agent hangs up, or is gone."""
        while True:
            ready, _, _ = select.select([self._control.fileno(), self._woken], [], [])
            if self._woken in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 64)
                self._reap(os.WNOHANG)
                self._look_up()
            if self._control.fileno() in ready:
                word = self._hear()
                if word == TERMINATE and not self._ended:
                    self._segments |= segments(self._pid)
                    signal_group(self._pid, signal.SIGTERM, signal.SIGCONT)
                elif not word:
                    self._finish()
                    return

    def _look_up(self) -> None:
        """Without what mpiexec had put above it, MPI could not end well."""
        if os.getppid() != self._parent:
            with contextlib.suppress(OSError):
                self._control.send(ORPHANED)

    def _hear(self) -> bytes:
        try:
            return self._control.recv(LONGEST)
        except OSError:
            return b""

    def _reap(self, options: int) -> None:
        if self._ended:
            return
        pid, status = os.waitpid(self._pid, options)
        if pid:
            self._ended = True
            remove(self._segments)
            with contextlib.suppress(OSError):
                self._control.send(json.dumps({"code": os.waitstatus_to_exitcode(status)}).encode())

    def _finish(self) -> None:
        """Without an agent there is no rank."""
        if not self._ended:
            self._segments |= segments(self._pid)
            signal_group(self._pid, signal.SIGKILL)
            self._reap(0)


def _run_rank(channel: Channel, outputs: tuple[int, int], close: list[int], parent: int) -> None:
    """In the forked process: learn what is to be done, and do it."""
    from collectives import ring
    from collectives.placement import Placement
    from suites.jobs import job_named
    from suites.launch.rank import become_rank, failure, pin, run_job

    become_rank(outputs, close, parent)
    try:
        job = channel.receive()
    except (EOFError, OSError):
        return  # the agent is gone before it began
    try:
        pin(job["cpu"])
        function = job_named(job["job"])
    except Exception as error:
        channel.send(failure(error))
        return
    record = ring.memory()
    if record is not None:
        channel.send({"type": "ring", "descriptor": record})
    run_job(channel, function, job, Placement(**job["placement"]), record)


def rank_of(environ: Mapping[str, str]) -> int:
    """The rank that the launcher gave this process. Raises KeyError."""
    for name in _RANKS:
        if name in environ:
            return int(environ[name])
    raise KeyError(f"none of {', '.join(_RANKS)} is set: started by what is no mpiexec?")


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the agent decides
    address, token = os.environ.pop(ADDRESS), os.environ.pop(TOKEN)
    try:
        dial = Dial(os.environ, address, token)
    except ConnectionRefusedError:
        sys.exit("the agent is gone")
    dial.serve()
    # Nothing to clean up, and MPI was never told that this process is there.
    os._exit(0)


if __name__ == "__main__":
    main()
