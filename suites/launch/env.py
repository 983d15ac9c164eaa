"""Starter env: another launcher has started a process for each rank already, and the ranks dial the agent.

How ranks dial is in dialin.py. Those processes are told where by the controller, to which the agent says that it waits
for them (see assembly.py).
May import: protocol, deadlines, dialin, starters.
"""

from __future__ import annotations

import signal
import time

from suites.errors import LaunchError
from suites.launch import deadlines
from suites.launch.dialin import DialIn, Dialled
from suites.launch.protocol import Frame
from suites.launch.starters import Host, Member, signal_group


class EnvStarter:
    """Ranks as grandchildren of what a launcher has started."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._dialin: DialIn | None = None
        self._patience = self._deadline = 0.0
        self._leaving = False

    def start(self, job: Frame) -> None:
        self._dialin = DialIn(self._host, job, self)
        self._patience = max(job["timeout"], deadlines.GREETING_SECONDS)
        self._deadline = time.monotonic() + self._patience
        self._host.on_waiting(self._dialin.address, self._dialin.token)

    def turn(self) -> None:
        dialin = self._dialin
        if dialin and not (dialin.started or self._leaving) and time.monotonic() > self._deadline:
            missing = ", ".join(map(str, dialin.missing))
            raise LaunchError(
                f"rank {missing} has not dialled within {self._patience:g} s: its process is gone or hangs"
            )

    def reaped(self, pid: int, code: int) -> None:
        pass

    def terminate(self, member: Member) -> None:
        if self._dialin:
            self._dialin.terminate(member)

    def leave(self) -> bool:
        self._leaving = True
        if self._dialin:
            self._dialin.close()
        return True

    def kill(self) -> None:
        self.leave()

    def on_dialled(self, dialled: Dialled) -> None:
        # What has started it is the launcher's, and no helper of this run.
        self._host.on_helpers([dialled.pid])

    def on_gone(self, dialled: Dialled) -> None:
        pass

    def on_orphaned(self, dialled: Dialled) -> None:
        """The launcher's process of this rank was ended, so the rank is."""
        signal_group(dialled.member.pid, signal.SIGKILL)
