"""Where ranks dial their agent that it has not forked itself: under an mpiexec, or started by another launcher.

Each rank has a parent (see dial.py), which hands over the rank's socket and the read ends of its output through an
abstract Unix socket, so from then on the rank is like a forked one; and reports how the rank ended.
May import: protocol, starters.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import selectors
import signal
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from suites.errors import LaunchError
from suites.launch.protocol import Frame, pack
from suites.launch.starters import Host, Member, Stream, signal_group

ADDRESS, TOKEN, RANK = "OPSDIST_DIAL", "OPSDIST_DIAL_TOKEN", "OPSDIST_DIAL_RANK"
"""Variables that tell a rank's parent where to dial and, where no MPI does, as whom. (A command line could be read by
everybody.)"""
DIAL = "suites.launch.dial"
TERMINATE, ORPHANED = b"terminate", b"orphaned"
LONGEST = 4096
_SEND_SECONDS = 5.0


@dataclass(slots=True)
class Dialled:
    """A process that has dialled: the parent of a rank."""

    control: socket.socket
    member: Member
    pid: int
    parent: int
    """What has started it."""
    ended: bool = False


class Owner(Protocol):
    """What a starter has to say to what happens to parents of ranks."""

    def on_dialled(self, dialled: Dialled) -> None: ...

    def on_gone(self, dialled: Dialled) -> None:
        """It is there no more, and its rank counts as ended after this."""

    def on_orphaned(self, dialled: Dialled) -> None:
        """It has lost its own parent."""


class DialIn:
    """The ranks of one job as they dial in."""

    def __init__(self, host: Host, job: Frame, owner: Owner) -> None:
        self._host, self._job, self._owner = host, job, owner
        self._placements: dict[int, tuple[Any, Any]] = {
            placement["rank"]: (placement, cpu) for placement, cpu in zip(job["placements"], job["cpus"], strict=True)
        }
        self.dialled: dict[int, Dialled] = {}
        self.started = self._closed = False
        self.token = secrets.token_hex(16)
        self.address = f"opsdist-dial-{secrets.token_hex(8)}"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(f"\0{self.address}")
        self._listener.listen(len(self._placements))
        self._listener.setblocking(False)
        host.selector.register(self._listener, selectors.EVENT_READ, self._on_dial)

    @property
    def wanted(self) -> int:
        return len(self._placements)

    @property
    def missing(self) -> Sequence[int]:
        """Ranks that have not dialled."""
        return sorted(set(self._placements) - set(self.dialled))

    def terminate(self, member: Member) -> None:
        try:
            self.dialled[member.rank].control.send(TERMINATE)
        except OSError:
            signal_group(member.pid, signal.SIGTERM, signal.SIGCONT)

    def close(self) -> None:
        """Hang up on all; who comes late finds nobody, and ends."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(KeyError, ValueError):
                self._host.selector.unregister(self._listener)
            self._listener.close()
            for dialled in self.dialled.values():
                self._hang_up(dialled)

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
        if hello is None or len(descriptors) != 3 or hello["rank"] in self.dialled or self._closed:
            for descriptor in descriptors:
                os.close(descriptor)
            connection.close()
            return
        ours, out, err = descriptors
        rank = hello["rank"]
        outputs = {out: Stream("stdout"), err: Stream("stderr")}
        member = Member(rank, hello["pid"], socket.socket(fileno=ours), outputs)
        dialled = self.dialled[rank] = Dialled(connection, member, hello["dial"], hello["parent"])
        self._host.selector.register(connection, selectors.EVENT_READ, lambda _: self._on_control(dialled))
        self._owner.on_dialled(dialled)
        if not self.missing:
            self._begin()

    def _known(self, connection: socket.socket, data: bytes) -> dict[str, Any] | None:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", credentials)[1] != os.getuid():
            return None
        try:
            hello: dict[str, Any] = json.loads(data)
            known = hmac.compare_digest(str(hello["token"]), self.token)
        except (ValueError, TypeError, KeyError):
            return None
        return hello if known and hello["rank"] in self._placements else None

    def _begin(self) -> None:
        """All have dialled: tell each what it is to do."""
        self.started = True
        for rank, dialled in self.dialled.items():
            placement, cpu = self._placements[rank]
            dialled.member.socket.settimeout(_SEND_SECONDS)
            # One that is dead already is reported like any other.
            with contextlib.suppress(OSError):
                dialled.member.socket.sendall(pack({**self._job, "placement": placement, "cpu": cpu}))
        self._host.on_started([self.dialled[rank].member for rank in sorted(self.dialled)])

    def _on_control(self, dialled: Dialled) -> None:
        """How its rank ended; or that it is gone itself, which its rank does not survive."""
        try:
            data = dialled.control.recv(LONGEST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data == ORPHANED:
            self._owner.on_orphaned(dialled)
            return
        if not data:
            self._hang_up(dialled)
            self._owner.on_gone(dialled)
        if not dialled.ended:
            dialled.ended = True
            if not self.started:
                raise LaunchError(f"rank {dialled.member.rank} ended before all ranks had come")
            self._host.on_ended(dialled.member, json.loads(data)["code"] if data else -signal.SIGKILL)

    def _hang_up(self, dialled: Dialled) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._host.selector.unregister(dialled.control)
        dialled.control.close()
