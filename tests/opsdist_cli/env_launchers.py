"""Real launchers that start opsdist as many processes at once, on this machine, and what they have started."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from collectives.backends.mpi import installed
from collectives.placement import launched
from tests.lab import Lab
from tests.leftovers import RunSpace
from tests.perf_process import OPSDIST, Perf

# A shell would do, but it returns one code. Every rank's is said here, in order.
_BY_HAND = """
import os, subprocess, sys
size = int(sys.argv[1])
ranks = [int(rank) for rank in os.environ.get("TEST_RANKS", ",".join(map(str, range(size)))).split(",")]
more = [{name: value for name, _, value in (pair.partition("=") for pair in text.split())}
        for text in os.environ.get("TEST_VARIABLES", ";" * size).split(";")]
started = [subprocess.Popen(sys.argv[2:], env={**os.environ, "OPSDIST_RANK": str(rank), "OPSDIST_WORLD_SIZE": str(size),
                            **more[rank]}) for rank in ranks]
codes = [process.wait() for process in started]
print("codes", *codes, file=sys.stderr)
sys.exit(max(codes))
"""
_NONE: Mapping[str, str] = {}


def command(launcher: str, size: int) -> list[str]:
    """What stands before the arguments of opsdist."""
    if launcher == "by hand":
        return [sys.executable, "-c", _BY_HAND, str(size), *OPSDIST]
    if launcher == "torchrun":
        return [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={size}", "-m", "opsdist_cli"]
    if launcher == "mpirun":
        flags = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
        return [open_mpi() or "", *flags, "-n", str(size), *OPSDIST]
    return [installed.mpiexec_path() or "", "-n", str(size), *OPSDIST]


def across(launcher: str, hosts: Lab, per_host: int) -> list[tuple[list[str], dict[str, str]]]:
    """The same on hosts of a lab: what is to be started here, and with which variables; rank 0's comes first."""
    words, number = command(launcher, per_host * len(hosts.hosts)), len(hosts.hosts)
    if launcher == "torchrun":  # one on each host
        words = command(launcher, per_host)
        node = [f"--nnodes={number}", f"--master-addr={hosts.hosts[0].address}", "--master-port=29872"]
        return [
            ([*host.enter([]), *words[:3], *node, f"--node-rank={rank}", *words[3:]], {"GLOO_SOCKET_IFNAME": "eth0"})
            for rank, host in enumerate(hosts.hosts)
        ]
    listed = ",".join(f"{host.name}:{per_host}" for host in hosts.hosts)
    if launcher == "mpirun":
        network = ".".join(hosts.address.split(".")[:2]) + ".0.0/16"
        reach = ["--mca", "plm_rsh_agent", shlex.join(hosts.ssh), "--host", listed]
        for layer in ("oob", "btl"):
            reach += ["--mca", f"{layer}_tcp_if_include", network]
        return [([words[0], *reach, *words[1:]], {})]
    reach = ["-launcher", "ssh", "-localhost", hosts.address, "-hosts", listed]
    return [([words[0], *reach, *words[1:]], {"HYDRA_LAUNCHER_EXTRA_ARGS": shlex.join(hosts.ssh[1:])})]


def missing(launcher: str) -> str | None:
    """Why this launcher cannot be used here, or mpi4py with what belongs to it."""
    if launcher == "torchrun" and shutil.which("torchrun", path=str(Path(sys.prefix, "bin"))) is None:
        return "torch is not installed"
    if launcher == "mpirun" and open_mpi() is None:
        return "Open MPI is not installed"
    return installed.unavailable() if launcher in ("mpiexec", "mpi4py") else None


def open_mpi() -> str | None:
    return shutil.which("mpirun.openmpi")


def start(
    space: RunSpace, prefix: Sequence[str], *arguments: str, name: str = "run", variables: Mapping[str, str] = _NONE,
    verb: str = "perf",
) -> Perf:  # fmt: skip
    out, err, record = (space.folder / f"{name}.{kind}" for kind in ("out", "err", "json"))
    words = [*prefix, verb, *arguments, *(() if "--json" in arguments else ("--json", str(record)))]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            words, env=space.environment(**variables), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr
        )
    return Perf(process, out, err, record)


@contextmanager
def run(space: RunSpace, launcher: str, size: int, *arguments: str, **options: object) -> Iterator[Perf]:
    """Of so many ranks. The launcher is killed on leaving, if it has not ended."""
    variables = dict(options.pop("variables", {}))  # type: ignore[call-overload]
    if launcher in ("mpirun", "torchrun"):  # these have files of their own, and may leave them behind
        own = space.folder / "launcher"
        own.mkdir(exist_ok=True)
        variables["TMPDIR"] = str(own)
    started = start(space, command(launcher, size), *arguments, variables=variables, **options)  # type: ignore[arg-type]
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


def processes(space: RunSpace) -> dict[int, int]:
    """Rank -> process id, of what the launcher itself has started."""
    found = {}
    for pid, words in space.processes().items():
        before, found_it, _ = words.partition(" -m opsdist_cli ")
        if not found_it or "torch.distributed" in before or " -n " in before or " -c " in before:
            continue
        with suppress(OSError):
            pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
            environ = {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
            if place := launched(environ):
                found[place.placement.rank] = pid
    return found
