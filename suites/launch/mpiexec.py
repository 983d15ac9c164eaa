"""Starter mpiexec: MPI's own launcher is the parent of the ranks, and they dial back to the agent.

mpiexec starts one small process a rank (see dial.py), which forks the rank and stays as its parent. It hands the agent
the rank's socket and the read ends of its output over an abstract Unix socket, so from then on the rank is like a
forked one; and it reports how the rank ended, which mpiexec would not. What mpiexec makes of it all does not matter.
May import: protocol, starters, collectives' finder of mpiexec.
"""

from __future__ import annotations

import contextlib
import ctypes
import hmac
import json
import os
import re
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from collectives.backends.mpi import installed
from suites.errors import LaunchError
from suites.launch.protocol import Frame, LineReader, pack
from suites.launch.starters import Host, Member, Stream, signal_group

ADDRESS, TOKEN = "OPSDIST_DIAL", "OPSDIST_DIAL_TOKEN"
"""Variables that tell the processes where to dial. (A command line could be read by everybody.)"""
DIAL = "suites.launch.dial"
TERMINATE, ORPHANED = b"terminate", b"orphaned"
LONGEST = 4096
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_SEND_SECONDS = 5.0
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


@dataclass(slots=True)
class _Dialled:
    """A process that has dialled: the parent of a rank."""

    control: socket.socket
    member: Member
    pid: int
    parent: int
    """What mpiexec has put between: a proxy, or mpiexec itself."""
    ended: bool = False


class MpiexecStarter:
    """Ranks as grandchildren of mpiexec."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._job: Frame = {}
        self._token = secrets.token_hex(16)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._path = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._lines = LineReader()
        self._dialled: dict[int, _Dialled] = {}
        self._patience = self._deadline = 0.0
        self._started = self._leaving = False
        self._pressed: float | None = None
        """When mpiexec was told to end."""

    def start(self, job: Frame) -> None:
        self._job = job
        path = installed.mpiexec_path()
        if path is None:
            raise LaunchError(f"no mpiexec to start ranks of MPI with: {installed.unavailable()}")
        self._path = path
        # Whatever mpiexec leaves behind becomes a child of this process, and can be ended.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        name = f"opsdist-dial-{secrets.token_hex(8)}"
        self._listener.bind(f"\0{name}")
        self._listener.listen(len(job["placements"]))
        self._listener.setblocking(False)
        self._host.selector.register(self._listener, selectors.EVENT_READ, self._on_dial)
        command = [path, *flags(path), "-n", str(len(job["placements"])), sys.executable, "-P", "-m", DIAL]
        parent = os.getpid()
        self._process = subprocess.Popen(
            command, env=environment(os.environ, path, name, self._token),
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
        if not (self._started or self._leaving) and time.monotonic() > self._deadline:
            wanted = len(self._job["placements"])
            missing = sorted(set(range(wanted)) - set(self._dialled))
            raise LaunchError(
                f"{self._path} started {len(self._dialled)} of {wanted} ranks within {self._patience:g} s; "
                f"missing: {', '.join(map(str, missing))}"
            )

    def reaped(self, pid: int, code: int) -> None:
        if self._process and pid == self._process.pid:
            self._process.returncode = code
            self._on_words(-1)
            alive = any(not dialled.ended for dialled in self._dialled.values())
            if not self._leaving and (alive or not self._started):
                how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit {code}"
                when = "while ranks ran" if self._started else "before all ranks had come; what it said is above"
                raise LaunchError(f"{self._path} (pid {pid}) {how} {when}")

    def terminate(self, member: Member) -> None:
        try:
            self._dialled[member.rank].control.send(TERMINATE)
        except OSError:
            signal_group(member.pid, signal.SIGTERM, signal.SIGCONT)

    def leave(self) -> bool:
        if not self._leaving:
            self._leaving = True
            # Who comes late finds nobody, and ends.
            with contextlib.suppress(KeyError, ValueError):
                self._host.selector.unregister(self._listener)
            self._listener.close()
            for dialled in self._dialled.values():
                self._hang_up(dialled)
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
        for pid in {self._process.pid, *(dialled.parent for dialled in self._dialled.values())} & ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _on_dial(self, descriptor: int) -> None:
        with contextlib.suppress(BlockingIOError):
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            self._host.selector.register(connection, selectors.EVENT_READ, lambda _: self._on_hello(connection))

    def _on_hello(self, connection: socket.socket) -> None:
        """Who dials must say the token and bring three descriptors; strangers are dropped, and who comes too late."""
        self._host.selector.unregister(connection)
        try:
            data, descriptors, _, _ = socket.recv_fds(connection, LONGEST, 3)
        except OSError:
            data, descriptors = b"", []
        hello = self._known(connection, data)
        if hello is None or len(descriptors) != 3 or hello["rank"] in self._dialled or self._leaving:
            for descriptor in descriptors:
                os.close(descriptor)
            connection.close()
            return
        ours, out, err = descriptors
        rank = hello["rank"]
        outputs = {out: Stream("stdout"), err: Stream("stderr")}
        member = Member(rank, hello["pid"], socket.socket(fileno=ours), outputs)
        dialled = self._dialled[rank] = _Dialled(connection, member, hello["dial"], hello["parent"])
        self._host.selector.register(connection, selectors.EVENT_READ, lambda _: self._on_control(dialled))
        self._host.on_helpers(list({dialled.pid, dialled.parent}))
        if len(self._dialled) == len(self._job["placements"]):
            self._begin()

    def _known(self, connection: socket.socket, data: bytes) -> dict[str, Any] | None:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", credentials)[1] != os.getuid():
            return None
        try:
            hello: dict[str, Any] = json.loads(data)
            known = hmac.compare_digest(str(hello["token"]), self._token)
        except (ValueError, TypeError, KeyError):
            return None
        return hello if known and hello["rank"] in range(len(self._job["placements"])) else None

    def _begin(self) -> None:
        """All have dialled: tell each what it is to do."""
        self._started = True
        for dialled in self._dialled.values():
            rank = dialled.member.rank
            frame = {**self._job, "placement": self._job["placements"][rank], "cpu": self._job["cpus"][rank]}
            dialled.member.socket.settimeout(_SEND_SECONDS)
            # One that is dead already is reported like any other.
            with contextlib.suppress(OSError):
                dialled.member.socket.sendall(pack(frame))
        self._host.on_started([self._dialled[rank].member for rank in sorted(self._dialled)])

    def _on_control(self, dialled: _Dialled) -> None:
        """How its rank ended; or that it is gone itself, which its rank does not survive."""
        try:
            data = dialled.control.recv(LONGEST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up(dialled)
        if not data or data == ORPHANED:
            self._ask_mpiexec()
        if data == ORPHANED:
            words = f"process {dialled.parent}, by which {self._path} had started rank {dialled.member.rank}, is gone"
            raise LaunchError(words)
        if not dialled.ended:
            dialled.ended = True
            if self._started:
                self._host.on_ended(dialled.member, json.loads(data)["code"] if data else -signal.SIGKILL)
            else:
                raise LaunchError(f"rank {dialled.member.rank} ended before all ranks had come")

    def _ask_mpiexec(self) -> None:
        """If mpiexec is gone, that is the reason, and not what followed from it."""
        if self._process and self._process.returncode is None:
            pid, status = os.waitpid(self._process.pid, os.WNOHANG)
            if pid:
                self.reaped(pid, os.waitstatus_to_exitcode(status))

    def _hang_up(self, dialled: _Dialled) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._host.selector.unregister(dialled.control)
        dialled.control.close()

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
    try:
        told = subprocess.run(
            [path, "--version"], text=True, timeout=_VERSION_SECONDS, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{path} --version: {error}") from None
    return next((options for word, options in _FLAGS.items() if word in told), ())


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
