"""MEETINGS: how processes that another launcher has started find each other, one row per family of its variables.

On one host they meet at an abstract Unix socket, named after the job. On several, rank 0 is found by what their
launcher gives them: a board on which rank 0 posts its address and a key, or a host and ports that follow from the job.
May import: the standard library, errors, hosts, board, proof, collectives' placement, probes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from collectives.placement import Launched
from probes.host import LocalHost
from suites.errors import LaunchError, UsageError
from suites.launch.launched import board
from suites.launch.launched.proof import Key, introduce, vouches
from suites.launch.lists.hosts import parse_hosts

TOKEN = "OPSDIST_TOKEN"
"""The variable of a secret that all processes of a run were given."""
CONNECT_SECONDS = 3.0
"""For one attempt to reach one address."""
_PAUSE_SECONDS = 0.1
_BACKLOG = 1024
_PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to connections."""
_CANDIDATES = 8
_MOST_ADDRESSES = 8

Environ = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """A connection to rank 0 on which both sides have shown who they are."""

    connection: socket.socket
    again: Callable[[], socket.socket]
    """Another one. Raises LaunchError."""


class Meeting(Protocol):
    """Rank 0 opens it, all others find it. `where` is for people."""

    @property
    def where(self) -> str: ...

    def open(self, seconds: float) -> tuple[socket.socket, Key]:
        """A socket that listens, and the key of who belongs here. Raises LaunchError, if need be after so long."""

    def find(self, seconds: float) -> Found:
        """Raises LaunchError when rank 0 is not found within so many seconds."""


@dataclass(frozen=True, slots=True)
class OneHost:
    """An abstract Unix socket, whose name follows from the job: it reaches no other host, and nothing stays of it.
    Another user's processes are turned away by the kernel's word for who they are."""

    job: str

    @property
    def where(self) -> str:
        return f"@{self._name}"

    @property
    def _name(self) -> str:
        return f"opsdist-meeting-{os.getuid()}-{_hashed(self.job)[:24]}"

    @property
    def _key(self) -> Key:
        return Key(_hashed("key", self.job).encode())

    def open(self, seconds: float) -> tuple[socket.socket, Key]:
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(f"\0{self._name}")
        except OSError as error:
            listener.close()
            raise LaunchError(f"rank 0 of this job listens already at {self.where}: {error.strerror}") from None
        listener.listen(_BACKLOG)
        return listener, self._key

    def find(self, seconds: float) -> Found:
        return _tried(lambda: [self._connect], self.where, seconds)

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(f"\0{self._name}")
        except OSError as error:
            connection.close()
            raise LaunchError(f"nobody listens there: {error.strerror}") from None
        return _introduced(connection, self._key) if peer_uid(connection) == os.getuid() else _refused(connection)


@dataclass(frozen=True, slots=True)
class Ports:
    """A host and a few ports on it that follow from the job, of which rank 0 takes the first that is free."""

    hosts: Callable[[], Sequence[str]]
    ports: Sequence[int]
    key: Callable[[], Key]
    where: str

    def open(self, seconds: float) -> tuple[socket.socket, Key]:
        for port in self.ports:
            with contextlib.suppress(OSError):
                return listen(port), self.key()
        raise LaunchError(f"all of the ports {', '.join(map(str, self.ports))} are taken, at which ranks would meet")

    def find(self, seconds: float) -> Found:
        key = self.key()

        def ways() -> Iterable[Callable[[], socket.socket]]:
            hosts = self.hosts()
            return [_tcp(host, port, key) for port in self.ports for host in hosts]

        return _tried(ways, self.where, seconds)


@dataclass(frozen=True, slots=True)
class Posted:
    """Rank 0 listens at a port of its own and posts on the launcher's board where that is, with a key."""

    board: board.Board

    @property
    def where(self) -> str:
        return self.board.where

    def open(self, seconds: float) -> tuple[socket.socket, Key]:
        listener, token = listen(0), secrets.token_hex(16)
        note = {"addresses": own_addresses(), "port": listener.getsockname()[1], "token": token}
        self.board.post(json.dumps(note, separators=(",", ":")), seconds)
        return listener, Key(token.encode())

    def find(self, seconds: float) -> Found:
        ends = time.monotonic() + seconds

        def ways() -> Iterable[Callable[[], socket.socket]]:
            note = json.loads(self.board.read(max(ends - time.monotonic(), 1.0)))
            key = Key(note["token"].encode())
            return [_tcp(address, note["port"], key) for address in note["addresses"]]

        return _tried(ways, self.where, seconds)


def _tried(ways: Callable[[], Iterable[Callable[[], socket.socket]]], where: str, seconds: float) -> Found:
    """Try all ways over and over: rank 0 may come later than others."""
    ends, why = time.monotonic() + seconds, ""
    while True:
        for way in ways():
            try:
                return Found(way(), way)
            except LaunchError as error:
                why = str(error)
        if time.monotonic() > ends:
            raise LaunchError(f"rank 0 was not found within {seconds:g} s at {where}: {why}")
        time.sleep(_PAUSE_SECONDS)


def _tcp(host: str, port: int, key: Key) -> Callable[[], socket.socket]:
    def connect() -> socket.socket:
        try:
            connection = socket.create_connection((host, port), CONNECT_SECONDS)
        except OSError as error:
            raise LaunchError(f"{host} port {port}: {error.strerror or error}") from None
        watched(connection)
        return _introduced(connection, key)

    return connect


def _introduced(connection: socket.socket, key: Key) -> socket.socket:
    try:
        introduce(connection, key, CONNECT_SECONDS)
    except LaunchError:
        connection.close()
        raise
    return connection


def _refused(connection: socket.socket) -> socket.socket:
    connection.close()
    raise LaunchError("another user listens there")


def listen(port: int) -> socket.socket:
    """At all addresses of this host; 0 is any port. Raises OSError."""
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(
                ("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True, reuse_port=False
            )
    return socket.create_server(("", port), backlog=_BACKLOG)


def watched(connection: socket.socket) -> None:
    """A host that is gone without a word is noticed within half a minute, and no frame waits for another."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 25_000)


def peer_uid(connection: socket.socket) -> int:
    """Who has the other end of a Unix socket."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])


def own_addresses() -> list[str]:
    """By which others may reach this host, the likeliest first."""
    known = LocalHost().addresses() or {}
    found = [address.partition("%")[0] for entries in known.values() for address, _ in entries]
    usable = [address for address in found if not address.startswith(("127.", "::1", "fe80:"))]
    return sorted(usable, key=lambda address: ":" in address)[:_MOST_ADDRESSES]


# --- the families


@dataclass(frozen=True, slots=True)
class Row:
    """How processes of one family meet. `job` is the same for all processes of a run on one host, and for no others;
    `who` has started them, in words."""

    who: str
    job: Callable[[Environ], str]
    across: Callable[[Environ], Meeting]
    leave: Callable[[Environ], None] = lambda _: None
    """What the launcher is to be told at the end."""


def _job_of(*names: str) -> Callable[[Environ], str]:
    """Named by variables; where those do not tell, by the process that has started them all."""

    def job(environ: Environ) -> str:
        given = [f"{name}={environ[name]}" for name in names if environ.get(name)]
        return " ".join(given) or f"started by {os.getppid()}"

    return job


def _hydra_job(_: Environ) -> str:
    """The proxy that has started all ranks of this host, whatever stands between."""
    pid = os.getppid()
    while pid > 1:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        if words[0].partition("(")[2].startswith(("hydra_pmi_proxy", "mpiexec")):
            return f"hydra {pid}"
        pid = int(words[2].split()[1])
    return f"started by {os.getppid()}"


def _torchrun(environ: Environ) -> Meeting:
    address, port = environ.get("MASTER_ADDR"), environ.get("MASTER_PORT")
    if not address or not (port or "").isdecimal():
        raise UsageError("RANK and WORLD_SIZE are set, but not MASTER_ADDR and MASTER_PORT, where the ranks would meet")
    if environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return Posted(board.TorchStore(address, int(port or 0), f"opsdist/{environ.get('TORCHELASTIC_RESTART_COUNT')}"))
    return Ports(lambda: [address], [int(port or 0)], lambda: _key(environ, f"{address}:{port}"), f"{address}:{port}")


def _msrun(environ: Environ) -> Meeting:
    host, port = environ.get("MS_SCHED_HOST"), environ.get("MS_SCHED_PORT")
    if not host or not port:
        raise UsageError("MS_NODE_ID is set, but not MS_SCHED_HOST and MS_SCHED_PORT, by which the ranks would meet")
    job = f"{host}:{port}"
    return Ports(lambda: [host], candidates(job), lambda: _key(environ, job), f"{host}, where msrun has its scheduler")


def _open_mpi(environ: Environ) -> Meeting:
    if find_spec("mpi4py") is None:
        raise UsageError(
            "processes that Open MPI's mpirun has started on several hosts find each other by MPI, and there is no "
            "mpi4py: pip install mpi4py; or start opsdist once, with --hosts"
        )
    return Posted(board.OpenMpi())


def _pmi(environ: Environ) -> Meeting:
    if not environ.get("PMI_FD"):
        raise UsageError(
            "this mpiexec gives no PMI_FD, by which ranks of several hosts could meet; use --hosts instead"
        )
    return Posted(board.Pmi(int(environ["PMI_FD"])))


def _withdraw(environ: Environ) -> None:
    if environ.get("PMI_FD"):
        board.Pmi(int(environ["PMI_FD"])).withdraw()


def _srun(environ: Environ) -> Meeting:
    names = [entry.name for entry in parse_hosts(environ.get("SLURM_STEP_NODELIST", ""), "SLURM_STEP_NODELIST")]
    job = f"{environ.get('SLURM_JOB_ID')}.{environ.get('SLURM_STEP_ID')}"
    return Ports(
        lambda: _node_addresses(names[0]), candidates(job), lambda: _key(environ, f"{job} {os.getuid()}"),
        f"{names[0]}, first node of step {job}",
    )  # fmt: skip


def _store(environ: Environ) -> Meeting:
    host, _, port = environ.get("OPSDIST_STORE", "").removeprefix("tcp://").rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(
            "OPSDIST_RANK on several hosts needs OPSDIST_STORE=tcp://HOST:PORT of rank 0, where ranks meet"
        )
    return Ports(lambda: [host.strip("[]")], [int(port)], lambda: _key(environ, f"{host}:{port}"), f"{host}:{port}")


MEETINGS: Mapping[str, Row] = {
    "opsdist": Row("OPSDIST_RANK", _job_of("OPSDIST_STORE"), _store),
    "torchrun": Row(
        "torchrun",
        _job_of("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"),
        _torchrun,
    ),
    "msrun": Row("msrun", _job_of("MS_SCHED_HOST", "MS_SCHED_PORT"), _msrun),
    "Open MPI": Row("Open MPI's mpirun", _job_of("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"), _open_mpi),
    "PMI": Row("mpiexec", _hydra_job, _pmi, _withdraw),
    "srun": Row("srun", _job_of("SLURM_JOB_ID", "SLURM_STEP_ID"), _srun),
}
"""By family of collectives.placement."""


def meeting(launched: Launched, environ: Environ = os.environ) -> Meeting:
    """Where this process meets the others. Raises UsageError where the variables do not tell."""
    row = MEETINGS[launched.family.name]
    if launched.placement.node_count > 1 or _alone_here(launched, environ):
        return row.across(environ)
    return OneHost(row.job(environ))


def carries_mpi(environ: Environ = os.environ) -> bool:
    """Whether MPI that is initialised by these processes makes one world of them."""
    return any(name in environ for name in ("PMI_FD", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"))


def _alone_here(launched: Launched, environ: Environ) -> bool:
    """Nothing tells how many ranks are on this host, but where rank 0 is: other hosts, then, or a port here."""
    if environ.get(launched.family.local_size):
        return False
    if launched.family.name == "msrun":
        return not environ.get("MS_SCHED_HOST", "").startswith("127.")
    return launched.family.name == "torchrun" and "MASTER_ADDR" in environ


def candidates(job: str) -> list[int]:
    """Ports that all processes of a job think of, and two jobs on one host hardly share."""
    step = len(_PORTS) // _CANDIDATES
    return [_PORTS[int(_hashed("ports", job, str(n))[:8], 16) % step + n * step] for n in range(_CANDIDATES)]


def _key(environ: Environ, job: str) -> Key:
    """Secret where the user has given a secret or MUNGE vouches for users; else it keeps out who comes by mistake."""
    if token := environ.get(TOKEN):
        return Key(_hashed("key", token, job).encode())
    return Key(_hashed("key", job).encode(), vouched=vouches())


def _node_addresses(name: str) -> list[str]:
    """Of a node of Slurm, which need not have a name that others know. Raises LaunchError."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))
    except OSError:
        return [board.node_address(name)]


def _hashed(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()
