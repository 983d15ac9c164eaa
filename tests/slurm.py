"""A real Slurm on one machine, for tests of what runs under srun: `with slurm(4, tmp_path) as cluster`.

It has a munged of its own, a slurmctld and one slurmd per node, all as root and with their files in one folder. Nodes
share the machine, its name and its files; each may be a host with a network of its own. The first batch job waits up to
3 s, later ones up to 1 s, as slurmctld looks after them only now and then; srun and salloc do not wait.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import SystemRandom
from typing import Any

import psutil

from tests.leftovers import until

PATIENCE = 60.0
"""Seconds after which something counts as hung, whatever the machine is busy with."""
LOOPBACK = "127.0.0.1"
_TOOLS = ("munged", "sbatch", "scancel", "sinfo", "slurmctld", "slurmd", "srun")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
# A test may itself run in a job of some other Slurm.
_FOREIGN = ("SLURM", "SBATCH_", "SALLOC_", "SCANCEL_", "SINFO_", "SQUEUE_", "SRUN_")
# Below those that the kernel gives to connections, one of which might take a port before its daemon does.
_PORTS = range(12_000, 32_000)
_LONGEST_SOCKET = 107
_TAIL = 40
_NONE: Mapping[str, str] = {}

# Slurm's processes leave their parents. Here their orphans come to their daemon's starter, which goes when all of them
# have gone: so they are all found, and none stays a zombie, for which Slurm would wait like for any other process.
_STARTER = """\
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
"""

# As common on clusters as it can be without cgroups: those would be the machine's, and outside of the folder.
_CONFIGURATION = """\
ClusterName=opsdist
SlurmctldHost={machine}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
SlurmctldPort={port}
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/%n.pid
SlurmdLogFile={place}/%n.log
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/%n
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
MailProg=/bin/true
ReturnToService=2
KillWait={kill_wait}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Host:
    """Where a node is: `prefix` starts a command that runs there what follows it, `address` is how all others reach it.
    Files are the machine's everywhere."""

    name: str
    address: str = LOOPBACK
    prefix: Sequence[str] = ()


@dataclass(frozen=True)
class Slurm:
    """A Slurm that runs. `environment` makes programs belong to it; they start in `folder`."""

    folder: Path
    nodes: tuple[str, ...]
    environment: Mapping[str, str]
    _place: Path
    _daemons: list[subprocess.Popen[Any]] = field(default_factory=list, repr=False)
    _started: list[subprocess.Popen[Any]] = field(default_factory=list, repr=False)

    def run(
        self, argv: Sequence[str], variables: Mapping[str, str] = _NONE, timeout: float = PATIENCE, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the machine to its end, capturing what it writes."""
        options = {"text": True, "capture_output": True, "timeout": timeout, **options}
        return subprocess.run(argv, check=False, **self._options(variables, options))

    def popen(self, argv: Sequence[str], variables: Mapping[str, str] = _NONE, **options: Any) -> subprocess.Popen[Any]:
        """Start a command on the machine; it is killed at the end if it has not ended."""
        process: subprocess.Popen[Any] = subprocess.Popen(argv, **self._options(variables, options))
        self._started.append(process)
        return process

    def processes(self) -> dict[int, str]:
        """Pids of living processes of jobs, with their command lines: tasks, batch scripts, and what those started.
        Not Slurm's own processes, and not those that gave up their environment."""
        return {pid: line for pid, line in self._members().items() if _has_variable(pid, b"SLURM_JOB_ID=")}

    def gone(self, within: float = PATIENCE) -> None:
        """No process of a job is there, now or within some seconds."""
        until(lambda: not self.processes(), within, f"the end of {self.processes()}")

    def idle(self) -> bool:
        """Every node waits for a job. A node is not idle before the processes of its last one have ended."""
        answer = self.run(["sinfo", "--noheader", "--Node", "--format=%T"])
        return answer.stdout.split() == ["idle"] * len(self.nodes)

    def logs(self) -> str:
        """The last lines of every daemon's log, for a message that something failed."""
        files = sorted([*self._place.glob("*.log"), *self._place.glob("*.out")])
        tails = {file.name: file.read_text(errors="replace").splitlines()[-_TAIL:] for file in files}
        return "\n".join("\n  ".join([f"{name}:", *lines]) for name, lines in tails.items() if lines)

    def _options(self, variables: Mapping[str, str], options: dict[str, Any]) -> dict[str, Any]:
        environment = {**self.environment, **variables}
        return {"cwd": self.folder, "env": environment, "stdin": subprocess.DEVNULL, **options}

    def _members(self) -> dict[int, str]:
        """Everything that inherited this Slurm's configuration."""
        mark = f"SLURM_CONF={self.environment['SLURM_CONF']}".encode()
        found = {}
        for pid in psutil.pids():
            if _has_variable(pid, mark + b"\0"):
                with suppress(OSError):
                    found[pid] = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
        return found

    def _start(self, hosts: Sequence[Host]) -> None:
        self._start_munged()
        # What comes before what it talks to tries again after a second only.
        self._start_slurmctld()
        for host in hosts:
            self._start_daemon(host.name, ["slurmd", "-N", host.name], host.prefix)
        self._await(self.idle, "idle nodes")

    def _start_daemon(self, name: str, argv: Sequence[str], prefix: Sequence[str] = ()) -> None:
        command = [*prefix, sys.executable, "-I", "-S", "-c", _STARTER, *argv]
        with (self._place / f"{name}.out").open("wb") as out:
            streams = {"stdout": out, "stderr": out}
            options = self._options(_NONE, {**streams, "start_new_session": True, "cwd": self._place})
            self._daemons.append(subprocess.Popen(command, **options))

    def _await(self, condition: Callable[[], bool], what: str) -> None:
        until(lambda: condition() or not self._alive(), PATIENCE, what)
        assert self._alive(), f"a daemon ended before {what}"

    def _alive(self) -> bool:
        return all(daemon.poll() is None for daemon in self._daemons)

    def _start_munged(self) -> None:
        place = self._place
        key = place / "munge.key"
        key.touch(0o400)
        key.write_bytes(os.urandom(128))
        files = [f"--{kind}-file={place / f'munge.{kind}'}" for kind in ("key", "pid", "log", "seed")]
        # Forced: pytest lets only root into its folders, while munge expects to be there for everybody.
        self._start_daemon("munged", ["munged", "--foreground", "--force", f"--socket={place}/munge.socket", *files])
        self._await((place / "munge.socket").is_socket, "the start of munged")

    def _start_slurmctld(self) -> None:
        self._start_daemon("slurmctld", ["slurmctld", "-D"])
        log = self._place / "slurmctld.out"
        self._await(lambda: b"Running as primary controller" in log.read_bytes(), "the start of slurmctld")

    def _end(self) -> None:
        for process in self._started:
            process.kill()
        until(self._ended, PATIENCE, f"the end of {self._rest()}")
        for process in [*self._started, *self._daemons]:
            process.wait()

    def _ended(self) -> bool:
        rest = self._rest()
        for pid in rest:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not rest and not self._alive_starters()

    def _rest(self) -> dict[int, str]:
        """All processes of this Slurm but the starters, which are to outlive what they started."""
        starters = self._alive_starters()
        rest = self._members()
        for starter in starters:
            with suppress(psutil.NoSuchProcess):
                rest |= {child.pid: "" for child in psutil.Process(starter).children(recursive=True)}
        return {pid: line for pid, line in rest.items() if pid not in starters}

    def _alive_starters(self) -> set[int]:
        return {daemon.pid for daemon in self._daemons if daemon.poll() is None}


@contextmanager
def slurm(
    nodes: int | Sequence[Host], folder: Path, cpus: int = 4, *, address: str = LOOPBACK, kill_wait: int = 5
) -> Iterator[Slurm]:
    """A Slurm whose nodes are n1, n2, ..., or named hosts, with some CPUs each, however many there are; all nodes are
    idle. Hosts with a network of their own reach the machine by `address`. When it is left, every process of it and of
    its jobs is killed, and its files are gone; a failed assertion tells the logs. `kill_wait` is how many seconds a
    cancelled job has between SIGTERM and SIGKILL."""
    hosts = [Host(f"n{index + 1}") for index in range(nodes)] if isinstance(nodes, int) else list(nodes)
    folder = folder.resolve()
    place = folder / "slurm"
    for path in _folders(place, hosts):
        path.mkdir()
    configuration = place / "slurm.conf"
    cluster = Slurm(folder, tuple(host.name for host in hosts), _environment(configuration), place)
    with _free_ports(1 + len(hosts)) as ports:
        configuration.write_text(_configuration(place, hosts, ports, cpus, address, kill_wait))
        try:
            cluster._start(hosts)
            yield cluster
        except AssertionError as error:
            error.add_note(cluster.logs())
            raise
        finally:
            cluster._end()
            shutil.rmtree(place)


@cache
def unavailable() -> str | None:
    """Why there can be no Slurm here; None if there can."""
    if not sys.platform.startswith("linux") or os.geteuid():
        return "needs root on Linux"
    missing = [tool for tool in _TOOLS if shutil.which(tool, path=_PATH) is None]
    return f"needs {', '.join(missing)}" if missing else None


def _folders(place: Path, hosts: Sequence[Host]) -> list[Path]:
    """All that must be there before the start. Raises ValueError where the kernel allows no socket for a job's step."""
    spools = [place / host.name for host in hosts]
    for spool in spools:
        step = spool / f"{spool.name}_9999.4294967291"
        if len(os.fsencode(step)) > _LONGEST_SOCKET:
            raise ValueError(f"the folder's name is too long for a socket {step}")
    return [place, place / "state", *spools]


def _configuration(
    place: Path, hosts: Sequence[Host], ports: Sequence[int], cpus: int, address: str, kill_wait: int
) -> str:
    machine = socket.gethostname().partition(".")[0]
    general = _CONFIGURATION.format(machine=machine, address=address, place=place, port=ports[0], kill_wait=kill_wait)
    lines = [
        f"NodeName={host.name} NodeHostname=localhost NodeAddr={host.address} Port={port} CPUs={cpus}\n"
        for host, port in zip(hosts, ports[1:], strict=True)
    ]
    return general + "".join(lines)


def _environment(configuration: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return {**own, "PATH": _PATH, "SLURM_CONF": str(configuration)}


@contextmanager
def _free_ports(count: int) -> Iterator[list[int]]:
    """Ports that nobody uses, and that no other Slurm of tests takes before this is left."""
    with ExitStack() as claims:
        yield list(islice(filter(partial(_claim, claims), SystemRandom().sample(_PORTS, len(_PORTS))), count))


def _claim(claims: ExitStack, port: int) -> bool:
    claim = claims.enter_context(socket.socket(socket.AF_UNIX))
    with suppress(OSError), socket.socket() as probe:
        # A name without a file, which is gone when its owner is.
        claim.bind(f"\0opsdist-test-slurm-{port}")
        probe.bind(("", port))
        return True
    return False


def _has_variable(pid: int, start: bytes) -> bool:
    """Whether a variable in a process's environment starts like this. Zombies have none."""
    with suppress(OSError):
        return b"\0" + start in b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
    return False
