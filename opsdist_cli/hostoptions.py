"""The options by which a command runs on other hosts, and the crew they amount to.

May import: click, interrupts, launched and screen at import time; suites when the options are used.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opsdist_cli import mpirun
from opsdist_cli.interrupts import Terminated
from opsdist_cli.launched import assembled
from opsdist_cli.screen import Screen

if TYPE_CHECKING:
    from suites.launch.crew import Crew
    from suites.launch.job import Output
    from suites.launch.lists.hosts import HostEntry
    from suites.launch.reach import Filter

Function = TypeVar("Function", bound=Callable[..., Any])


class Variable(click.ParamType[tuple[str, "str | None"]]):
    """`NAME=VALUE`, or `NAME` for the value it has here."""

    name = "variable"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str | None]:
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not name or "\0" in value:
            self.fail(f"'{value}' is not NAME or NAME=VALUE", param, ctx)
        if not equals and name not in os.environ:
            self.fail(f"{name} is not set here; give {name}=VALUE", param, ctx)
        return name, text if equals else None


def host_options(function: Function) -> Function:
    """What names hosts (see `named`), and how they are reached."""
    options = [
        click.option("--hosts", metavar="H", help="Hosts, such as a,b:8,node[01-16]:4,user@h; with :N, their slots."),
        click.option("--hostfile", metavar="FILE", help="A file that names them, in any tool's format."),
        click.option(
            "--launcher", type=click.Choice(["auto", "local", "ssh", "slurm", "mpirun", "env"]), default="auto",
            help="Who reaches the hosts; env: who started this process, as srun, mpirun, torchrun. [auto]",
        ),
        click.option("--ssh", envvar="OPSDIST_SSH", metavar="CMD", help="ssh with options, as 'ssh -F FILE'. [ssh]"),
        click.option("--python", metavar="PATH", help="The interpreter on other hosts that has opsdist. [as here]"),
        click.option("--prologue", metavar="CMD", help="What the login shell there runs first: 'source set_env.sh'."),
        click.option(
            "--env", "variables", type=Variable(), multiple=True, metavar="NAME[=V]",
            help="Set it on other hosts too; repeatable. NCCL_ HCCL_ ASCEND_ GLOO_ UCX_ and LD_LIBRARY_PATH are.",
        ),
        click.option("--interface", metavar="I", help="eth (a beginning), =eth0, ^docker, or 10.0.0.0/8. [by network]"),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def crew_of(flags: Mapping[str, Any]) -> Crew:
    """The hosts of one run, as `crews_of` has them."""
    return crews_of(flags)()


def crews_of(flags: Mapping[str, Any]) -> Callable[[], Crew]:
    """Gives the hosts of a run, anew for each: those that the options name, those on which another launcher has started
    processes of opsdist, by default this one. Raises UsageError; and LaunchError where such processes do not meet."""
    from suites.launch import crew, reach

    entries = named(flags)
    if flags["launcher"] == "mpirun":
        mpirun.hand_over(flags, entries, _ssh(flags["ssh"]))
    only = reach.parse_filter(flags["interface"]) if flags["interface"] is not None else None
    if assembly := assembled(flags):
        return lambda: crew.launched(assembly, only)
    _crew(flags, entries, only)  # what is wrong with it is refused at once
    return lambda: _crew(flags, entries, only)


def _crew(flags: Mapping[str, Any], entries: Sequence[HostEntry] | None, only: Filter | None) -> Crew:
    from suites.errors import UsageError
    from suites.launch import crew, slurm, ssh

    launcher = flags["launcher"]
    if launcher == "slurm" or (launcher == "auto" and entries is None and slurm.allocated(os.environ)):
        launcher, entries = "slurm", entries or slurm.entries(os.environ)
    if entries is None:
        if launcher == "ssh":
            raise UsageError("--launcher ssh: no hosts; name them with --hosts or --hostfile")
        return crew.here()
    far = ssh.Far(
        _ssh(flags["ssh"]), flags["python"] or ssh.Far().python, flags["prologue"],
        ssh.forwarded(os.environ, flags["variables"]),
    )  # fmt: skip
    found = crew.of(entries, far, only, "slurm" if launcher == "slurm" else "ssh")
    if launcher == "local" and found.launcher != "local":
        others = ", ".join(command.host for command in found.commands if command.far)
        raise UsageError(f"--launcher local: not this host: {others}")
    return found


def _ssh(text: str | None) -> tuple[str, ...]:
    """The words of `--ssh`. Raises UsageError for what cannot be run here."""
    from suites.errors import UsageError

    try:
        words = tuple(shlex.split("ssh" if text is None else text))
    except ValueError as error:
        raise UsageError(f"--ssh {text}: {error}") from None
    if text is not None and (not words or shutil.which(words[0]) is None):
        raise UsageError(f"--ssh '{text}': there is no such program here")
    return words


def named(flags: Mapping[str, Any]) -> Sequence[HostEntry] | None:
    """What `--hosts` or `--hostfile` say; None where neither is given. Raises UsageError, of click or suites."""
    from suites.launch.lists.hosts import parse_hosts, read_hostfile

    if flags["hosts"] is not None and flags["hostfile"] is not None:
        click.get_current_context().fail("--hosts and --hostfile exclude each other; give one of them")
    if flags["hosts"] is not None:
        return parse_hosts(flags["hosts"])
    return None if flags["hostfile"] is None else read_hostfile(flags["hostfile"])


def commands(crew: Crew) -> Sequence[str]:
    """How the agent of each host is started, as it could be typed."""
    return [f"# {command.host}: {shlex.join(command.argv)}" for command in crew.commands]


def connect(screen: Screen, crew: Crew, timeout: float) -> BaseException | None:
    """Reach all hosts before anything is decided, where what they have is not known yet. What has interrupted it."""
    if crew.facts:
        return None
    for line in commands(crew):
        screen.note(line, level=1)
    try:
        for said in crew.connect(timeout):
            show_output(screen, said)
    except (KeyboardInterrupt, Terminated) as error:
        return error
    for facts in crew.facts:
        link = crew.links.get(facts.name)
        where = f", reached by {link.address.ip} ({link.interface})" if link else ""
        screen.note(f"# {facts.name}: {facts.cores} cores{where}", level=1)
    return None


def show_output(screen: Screen, event: Output) -> None:
    """What ranks, agents and libraries print; what led to an agent, and what it asks of tools, only with -v."""
    where = f"[{event.host} {'agent' if event.rank is None else event.rank}]"
    for line in event.text.splitlines():
        screen.note(f"{where} {line}", level=-1 if event.stream in ("stdout", "stderr") else 1)
