"""Starter mpiexec: MPI's own launcher is the parent of the ranks, and they dial back to the agent.

mpiexec starts one small process a rank (see dial.py), which forks the rank and stays as its parent (see dialin.py). It
reports how the rank ended, which mpiexec would not. What mpiexec makes of it all does not matter.
May import: protocol, dialin, starters, collectives' finder of mpiexec.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping

from collectives.backends.mpi import installed
from suites.errors import LaunchError
from suites.launch.dialin import ADDRESS, DIAL, TOKEN, DialIn, Dialled
from suites.launch.protocol import Frame, LineReader
from suites.launch.starters import Host, Member

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TERM_SECONDS = 1.0
_VERSION_SECONDS = 10.0
_START_SECONDS = 10.0
"""For all ranks to dial, at the least: interpreters start in it, whatever the deadline of a message."""
_FOREIGN = re.compile(r"(PMI_|PMIX_|OMPI_COMM_WORLD_|OMPI_UNIVERSE_|SLURM_)")
"""An allocation or an MPI that the agent itself was started in: these ranks are none of it."""
_FLAGS = {
    # One host; and CPUs are given by opsdist.
    "HYDRA": ("-launcher", "fork", "-rmk", "user", "-hosts", "localhost", "-bind-to", "none"),
    "Open MPI": ("--bind-to", "none", "--oversubscribe", "--allow-run-as-root"),
    "OpenRTE": ("--bind-to", "none", "--oversubscribe", "--allow-run-as-root"),
}
"""A word in what `mpiexec --version` prints -> its options."""


class MpiexecStarter:
    """Ranks as grandchildren of mpiexec."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._dialin: DialIn | None = None
        self._path = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._lines = LineReader()
        self._patience = self._deadline = 0.0
        self._leaving = False
        self._pressed: float | None = None
        """When mpiexec was told to end."""

    def start(self, job: Frame) -> None:
        path = installed.mpiexec_path()
        if path is None:
            raise LaunchError(f"no mpiexec to start ranks of MPI with: {installed.unavailable()}")
        self._path = path
        # Whatever mpiexec leaves behind becomes a child of this process, and can be ended.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        dialin = self._dialin = DialIn(self._host, job, self)
        command = [path, *flags(path), "-n", str(dialin.wanted), sys.executable, "-P", "-m", DIAL]
        parent = os.getpid()
        self._process = subprocess.Popen(
            command, env=environment(os.environ, path, dialin.address, dialin.token),
            preexec_fn=lambda: _die_with(parent),  # noqa: PLW1509 (the agent has no threads yet)
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0, process_group=0,
        )  # fmt: skip
        assert self._process.stdout
        os.set_blocking(self._process.stdout.fileno(), False)
        self._host.selector.register(self._process.stdout, selectors.EVENT_READ, self._on_words)
        self._host.on_helpers([self._process.pid])
        self._patience = max(job["timeout"], _START_SECONDS)
        self._deadline = time.monotonic() + self._patience

    def turn(self) -> None:
        dialin = self._dialin
        if dialin and not (dialin.started or self._leaving) and time.monotonic() > self._deadline:
            raise LaunchError(
                f"{self._path} started {len(dialin.dialled)} of {dialin.wanted} ranks within {self._patience:g} s; "
                f"missing: {', '.join(map(str, dialin.missing))}"
            )

    def reaped(self, pid: int, code: int) -> None:
        if self._process and pid == self._process.pid:
            self._process.returncode = code
            self._on_words(-1)
            started = self._dialin is not None and self._dialin.started
            alive = any(not dialled.ended for dialled in self._dialled)
            if not self._leaving and (alive or not started):
                how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit {code}"
                when = "while ranks ran" if started else "before all ranks had come; what it said is above"
                raise LaunchError(f"{self._path} (pid {pid}) {how} {when}")

    def terminate(self, member: Member) -> None:
        if self._dialin:
            self._dialin.terminate(member)

    def leave(self) -> bool:
        if not self._leaving:
            self._leaving = True
            if self._dialin:
                self._dialin.close()
        return self._process is None or self._process.returncode is not None

    def kill(self) -> None:
        self.leave()
        if self._process is None or self._process.returncode is not None:
            return
        now = time.monotonic()
        if self._pressed is None:
            # It has files to remove.
            self._pressed = now
            os.kill(self._process.pid, signal.SIGTERM)
        if now - self._pressed < _TERM_SECONDS:
            return
        ours = _children()
        for pid in {self._process.pid, *(dialled.parent for dialled in self._dialled)} & ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @property
    def _dialled(self) -> Collection[Dialled]:
        return self._dialin.dialled.values() if self._dialin else ()

    def on_dialled(self, dialled: Dialled) -> None:
        self._host.on_helpers(list({dialled.pid, dialled.parent}))

    def on_gone(self, dialled: Dialled) -> None:
        self._ask_mpiexec()

    def on_orphaned(self, dialled: Dialled) -> None:
        self._ask_mpiexec()
        words = f"process {dialled.parent}, by which {self._path} had started rank {dialled.member.rank}, is gone"
        raise LaunchError(words)

    def _ask_mpiexec(self) -> None:
        """If mpiexec is gone, that is the reason, and not what followed from it."""
        if self._process and self._process.returncode is None:
            pid, status = os.waitpid(self._process.pid, os.WNOHANG)
            if pid:
                self.reaped(pid, os.waitstatus_to_exitcode(status))

    def _on_words(self, descriptor: int) -> None:
        assert self._process
        assert self._process.stdout
        if self._process.stdout.closed:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            # In the end it complains of ranks that MPI did not see leave.
            if (text := self._lines.feed(data)) and not self._leaving:
                self._host.on_words(text)
            if not data:
                self._host.selector.unregister(self._process.stdout)
                self._process.stdout.close()


def flags(path: str) -> tuple[str, ...]:
    """The options of this mpiexec that start ranks on this host and leave CPUs alone. Raises LaunchError."""
    told = version(path)
    return next((options for word, options in _FLAGS.items() if word in told), ())


def version(path: str) -> str:
    """What this mpiexec says of itself. Raises LaunchError."""
    try:
        return subprocess.run(
            [path, "--version"], text=True, timeout=_VERSION_SECONDS, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{path} --version: {error}") from None


def environment(environ: Mapping[str, str], path: str, address: str, token: str) -> dict[str, str]:
    """mpiexec's, and so the ranks'."""
    kept = {name: value for name, value in environ.items() if not _FOREIGN.match(name)}
    return {**kept, installed.MPIEXEC: path, ADDRESS: address, TOKEN: token}


def _die_with(parent: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the agent ignores it, which would be inherited
    # Not SIGKILL, so that it removes its files; it has no ranks any more, so there is nothing else to hold it.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def _children() -> set[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        return {int(pid) for pid in children.read().split()}
