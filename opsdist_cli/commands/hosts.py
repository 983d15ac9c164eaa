"""`opsdist hosts`: what a host list says, or the same list in another tool's format. The work is in suites.launch.

May import: click, and from this package at import time; suites when the command runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from opsdist_cli.hostoptions import crew_of, host_options, named
from opsdist_cli.params import Word, shared_options
from opsdist_cli.screen import Screen, tell_findings
from opsdist_cli.survey import survey

if TYPE_CHECKING:
    from suites.launch.lists.hosts import HostEntry


@click.command()
@host_options
@click.option(
    "--format", "format_", type=Word("format", "suites.launch.lists.hostformats:FORMATS"), metavar="NAME",
    help="Write mpich, ompi, slurm, deepspeed or rank-table. [for people]",
)  # fmt: skip
@shared_options
@click.pass_context
def hosts(ctx: click.Context, /, format_: str | None, **flags: Any) -> int:
    """Show the hosts and slots that a list amounts to, or write the list in another tool's format.

    Read are lists of Open MPI, MPICH, hccl_test and DeepSpeed, node sets, and rank tables of HCCL. The order is kept.
    No host is asked, unless a rank table is wanted and the list has no devices: its hosts then say which NPUs they
    have, and their addresses (/etc/hccn.conf). Only for that are the options by which hosts are reached.

    \b
    Examples:
      opsdist hosts --hosts 'node[01-16,20]:8,login'
      opsdist hosts --hostfile hosts.txt --format mpich > hosts.mpich
      opsdist hosts --hosts 'node[1-2]:8' --format rank-table > ranktable.json
      srun --nodelist "$(opsdist hosts --hostfile hosts.txt --format slurm)" hostname
    """
    from suites.launch.lists.hostformats import lacks_devices, left_out, render

    screen: Screen = ctx.obj
    entries = named(flags)
    if format_ is not None and lacks_devices(entries or (), format_):
        entries = _asked(screen, entries, flags)
    if entries is None:
        ctx.fail("no hosts; name them with --hosts or --hostfile")
    if format_ is None:
        screen.result(_table(entries))
        return 0
    screen.machine(render(entries, format_))
    if remark := left_out(entries, format_):
        screen.note(f"# {remark}")
    return 0


def _asked(screen: Screen, listed: Sequence[HostEntry] | None, flags: Mapping[str, Any]) -> Sequence[HostEntry]:
    """The entries with the devices that their hosts have; without a list, of the hosts on which a run would be. Raises
    LaunchError where not all of them say."""
    from suites.errors import LaunchError
    from suites.hostinfo import Wanted
    from suites.launch.lists.hosts import HostEntry
    from suites.launch.lists.probed import SECTION, with_devices

    # The list may have come through a pipe, which cannot be read again.
    crew = crew_of({**flags, "hosts": ",".join(map(str, listed)), "hostfile": None} if listed else flags)
    entries = listed or [HostEntry(name) for name in crew.names]
    asked = survey(screen, Wanted((SECTION,), hurry=True), crew)
    tell_findings(screen, {"findings": [finding.record() for finding in asked.unreached()]})
    if len(asked.seen) < len(entries):
        raise LaunchError(f"{len(entries) - len(asked.seen)} of {len(entries)} hosts did not answer")
    probed = with_devices(entries, [seen.facts[SECTION]["ascend"] for seen in asked.seen])
    for remark in probed.remarks:
        screen.note(f"# {remark}")
    return probed.entries


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
