"""Launcher mpirun: an MPI's own mpiexec starts this very command once for each rank, on all hosts; then launcher env
takes over (see meeting.py). Pure. May import: the standard library, hosts, errors.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from suites.errors import UsageError
from suites.launch.lists.hosts import HostEntry


@dataclass(frozen=True, slots=True)
class Start:
    """What is to be started: `counts` are the ranks on each host, `command` is that of a rank. `here` is the address by
    which other hosts reach this one, and `interface` the name or the network of what MPI is to take; None leaves it to
    mpiexec."""

    mpiexec: str
    hosts: Sequence[HostEntry]
    counts: Sequence[int]
    command: Sequence[str]
    ssh: Sequence[str]
    environment: Mapping[str, str]
    """What is set for ranks on all hosts."""
    here: str | None = None
    interface: str | None = None


def _hydra(start: Start, names: str) -> tuple[list[str], dict[str, str]]:
    program, *options = start.ssh
    argv = [
        start.mpiexec, "-launcher", "ssh", "-launcher-exec", program, "-rmk", "user", "-bind-to", "none",
        "-hosts", names, "-n", str(sum(start.counts)),
    ]  # fmt: skip
    if start.here:
        argv += ["-localhost", start.here]
    # Its -iface must be there on every host, this one included, and has no say in what MPI takes. Its environment it
    # hands on by itself.
    extra = {"HYDRA_LAUNCHER_EXTRA_ARGS": shlex.join(options)} if options else {}
    return [*argv, *start.command], {**start.environment, **extra}


def _open_mpi(start: Start, names: str) -> tuple[list[str], dict[str, str]]:
    argv = [
        start.mpiexec, "--mca", "plm_rsh_agent", shlex.join(start.ssh), "--mca", "plm_rsh_no_tree_spawn", "1",
        "--bind-to", "none", "--oversubscribe", "--allow-run-as-root", "--host", names, "-n", str(sum(start.counts)),
    ]  # fmt: skip
    if start.interface:
        for layer in ("btl_tcp_if_include", "oob_tcp_if_include"):
            argv += ["--mca", layer, start.interface]
    for name in sorted(start.environment):
        argv += ["-x", name]
    return [*argv, *start.command], dict(start.environment)


KINDS: Mapping[str, Callable[[Start, str], tuple[list[str], dict[str, str]]]] = {
    "HYDRA": _hydra,
    "Open MPI": _open_mpi,
    "OpenRTE": _open_mpi,
}
"""A word in what `mpiexec --version` prints -> its command line."""


def command(start: Start, version: str) -> tuple[list[str], dict[str, str]]:
    """mpiexec's command line and what is added to its environment. Raises UsageError for a kind that is not known."""
    kind = next((make for word, make in KINDS.items() if word in version), None)
    if kind is None:
        raise UsageError(
            f"--launcher mpirun: {start.mpiexec} is neither MPICH's nor Open MPI's; start this with it yourself: "
            f"{shlex.join(start.command)}"
        )
    names = ",".join(f"{host.name}:{count}" for host, count in zip(start.hosts, start.counts, strict=True))
    return kind(start, names)
