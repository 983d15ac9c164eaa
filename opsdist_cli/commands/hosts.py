"""`opsdist hosts`: what a host list says, or the same list in another tool's format. The work is in suites.launch.

May import: click, and from this package at import time; suites when the command runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from opsdist_cli.params import Word, shared_options
from opsdist_cli.screen import Screen

if TYPE_CHECKING:
    from suites.launch.hosts import HostEntry


@click.command()
@click.option("--hosts", "names", metavar="H", help="The hosts, such as a,b:8,node[01-16,20]:4,user@h,[fd00::1]:4.")
@click.option(
    "--hostfile", "path", metavar="FILE",
    help="A file that names them: of Open MPI, MPICH, hccl_test or DeepSpeed, node sets, or a rank table of HCCL.",
)  # fmt: skip
@click.option(
    "--format", "format_", type=Word("format", "suites.launch.hostformats:FORMATS"), metavar="NAME",
    help="Write mpich, ompi, slurm, deepspeed or rank-table. [for people]",
)  # fmt: skip
@shared_options
@click.pass_context
def hosts(ctx: click.Context, names: str | None, path: str | None, format_: str | None) -> int:
    """Show the hosts and slots that a list amounts to, or write the list in another tool's format.

    Any format is read, and the order is kept. No host is asked.

    \b
    Examples:
      opsdist hosts --hosts 'node[01-16,20]:8,login'
      opsdist hosts --hostfile hosts.txt --format mpich > hosts.mpich
      srun --nodelist "$(opsdist hosts --hostfile hosts.txt --format slurm)" hostname
    """
    from suites.launch.hostformats import left_out, render
    from suites.launch.hosts import parse_hosts, read_hostfile

    screen: Screen = ctx.obj
    if names is not None and path is not None:
        ctx.fail("--hosts and --hostfile exclude each other; give one of them")
    if names is not None:
        entries = parse_hosts(names)
    elif path is not None:
        entries = read_hostfile(path)
    else:
        ctx.fail("no hosts; name them with --hosts or --hostfile")
    if format_ is None:
        screen.result(_table(entries))
        return 0
    screen.machine(render(entries, format_))
    if remark := left_out(entries, format_):
        screen.note(f"# {remark}")
    return 0


def _table(entries: Sequence[HostEntry]) -> str:
    """A line a host; where no slots were given, a dash."""
    width = max(len(entry.name) for entry in entries)
    lines = [f"{entry.name:<{width}}  {'-' if entry.slots is None else entry.slots}" for entry in entries]
    return "\n".join([_summary(entries), *lines])


def _summary(entries: Sequence[HostEntry]) -> str:
    counts = [entry.slots for entry in entries if entry.slots is not None]
    slots = f"{sum(counts)} slot{'s' * (sum(counts) != 1)}" if counts else "no slots given"
    some = f" on {len(counts)} of them" if 0 < len(counts) < len(entries) else ""
    return f"# {len(entries)} host{'s' * (len(entries) != 1)}, {slots}{some}"
