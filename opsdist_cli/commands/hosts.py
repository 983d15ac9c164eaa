"""`opsdist hosts`: what a host list says, or the same list in another tool's format. The work is in suites.launch.

May import: click, and from this package at import time; suites when the command runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from opsdist_cli.hostoptions import list_options, named
from opsdist_cli.params import Word, shared_options
from opsdist_cli.screen import Screen

if TYPE_CHECKING:
    from suites.launch.lists.hosts import HostEntry


@click.command()
@list_options
@click.option(
    "--format", "format_", type=Word("format", "suites.launch.lists.hostformats:FORMATS"), metavar="NAME",
    help="Write mpich, ompi, slurm, deepspeed or rank-table. [for people]",
)  # fmt: skip
@shared_options
@click.pass_context
def hosts(ctx: click.Context, /, format_: str | None, **flags: Any) -> int:
    """Show the hosts and slots that a list amounts to, or write the list in another tool's format.

    Read are lists of Open MPI, MPICH, hccl_test and DeepSpeed, node sets, and rank tables of HCCL. The order is kept,
    and no host is asked.

    \b
    Examples:
      opsdist hosts --hosts 'node[01-16,20]:8,login'
      opsdist hosts --hostfile hosts.txt --format mpich > hosts.mpich
      srun --nodelist "$(opsdist hosts --hostfile hosts.txt --format slurm)" hostname
    """
    from suites.launch.lists.hostformats import left_out, render

    screen: Screen = ctx.obj
    entries = named(flags)
    if entries is None:
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
