"""`--launcher mpirun`: this command again, started once for each rank by the mpiexec of the MPI that is installed.

May import: click and screen at import time; collectives and suites when it is used.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from opsdist_cli.screen import Screen

if TYPE_CHECKING:
    from suites.launch.lists.hosts import HostEntry
    from suites.launch.mpirun import Start

_OURS = ("--launcher", "--hosts", "--hostfile", "--ssh", "--python", "--env")
"""What mpiexec is told, or what its ranks are not to do once more."""


def hand_over(flags: Mapping[str, Any], entries: Sequence[HostEntry] | None, ssh: Sequence[str]) -> NoReturn:
    """Become mpiexec, whose processes are the ranks; with `--dry-run`, show its command line. Raises UsageError."""
    from suites.launch import mpiexec, mpirun

    start = _start(flags, entries, ssh)
    argv, environment = mpirun.command(start, mpiexec.version(start.mpiexec))
    context = click.get_current_context()
    screen: Screen = context.obj
    if context.params.get("dry_run"):
        screen.result(shlex.join(argv))
        raise click.exceptions.Exit(0)
    screen.note(f"# {shlex.join(argv)}", level=1)
    sys.stdout.flush()
    os.execve(argv[0], argv, {**os.environ, **environment})


def _start(flags: Mapping[str, Any], entries: Sequence[HostEntry] | None, ssh: Sequence[str]) -> Start:
    from collectives.backends.mpi import installed
    from suites.errors import UsageError
    from suites.launch import crew
    from suites.launch.lists.hosts import HostEntry
    from suites.launch.mpirun import Start
    from suites.launch.ssh import forwarded
    from suites.world import Asked, planned

    path = installed.mpiexec_path()
    if path is None:
        raise UsageError(f"--launcher mpirun: no mpiexec: {installed.unavailable()}")
    if flags["prologue"] is not None:
        raise UsageError("--launcher mpirun has no --prologue: mpiexec starts ranks without a login shell")
    hosts = entries or [HostEntry(socket.gethostname())]
    asked = Asked(flags.get("ranks") or flags.get("short_ranks"), flags.get("per_host"))
    counts = planned([host.name for host in hosts], asked, [host.slots for host in hosts])
    if counts is None:
        raise UsageError("--launcher mpirun: how many ranks? Give -n, --per-host, or slots in the list of hosts")
    python = flags["python"] or sys.executable
    command = [python, "-P", "-m", "opsdist_cli", *without(sys.argv[1:], _OURS), "--launcher", "env"]
    own = crew.own_names()
    far = [host.name for host in hosts if host.name not in own]
    return Start(
        path, hosts, counts, command, ssh, forwarded(os.environ, flags["variables"]),
        here=_address_towards(far[0]) if far else None, interface=_interface(flags["interface"]),
    )  # fmt: skip


def without(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """The arguments but these options, each of which has a value."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in options:
            next(words, None)
        elif not word.startswith(tuple(f"{option}=" for option in options)):
            kept.append(word)
    return kept


def _address_towards(host: str) -> str | None:
    """This host's, as that one sees it; None where only ssh knows the name."""
    from collectives.address import towards
    from collectives.errors import RendezvousError

    try:
        return towards(f"tcp://[{host}]:22" if ":" in host else f"tcp://{host}:22")
    except RendezvousError:
        return None


def _interface(text: str | None) -> str | None:
    """The one interface or network that `--interface` names, if it does."""
    if text is None or "," in text or text.startswith("^"):
        return None
    return text.removeprefix("=") if text.startswith("=") or "/" in text else None
