"""This process as one of many that another launcher has started: rank 0 runs the command, the others take part.

May import: click at import time; collectives and suites when it is looked.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collectives.placement import Launched
    from suites.launch.launched.assembly import Assembly

_KEY = "opsdist_cli.launched"
_LEAST_SECONDS = 10.0
_SECONDS = 60.0
"""For all ranks to come, where the command has no --timeout: interpreters on many hosts start from one file system."""


@dataclass(slots=True)
class Part:
    """What this process is in such a world, as far as that is known. One for each run of the program."""

    assembly: Assembly | None = None

    def leave(self, code: int) -> None:
        """The command is over: whoever takes part returns the same code."""
        if self.assembly:
            with contextlib.suppress(KeyboardInterrupt):
                self.assembly.dismiss(code)


def remember(context: click.Context, part: Part) -> None:
    context.meta[_KEY] = part


def assembled(flags: Mapping[str, Any]) -> Assembly | None:
    """Rank 0's side of the world that another launcher has started, or None where none has or it is not to count. In
    any other rank it does not return: that takes part, and leaves with rank 0's code. Raises UsageError, LaunchError.
    """
    from collectives.placement import launched
    from suites.errors import UsageError
    from suites.launch.launched.assembly import Assembly
    from suites.launch.launched.meeting import meeting
    from suites.launch.launched.member import follow_parent, take_part

    context = click.get_current_context()
    if flags["launcher"] != "local" and os.environ.get("MS_ROLE") == "MS_SCHED":
        context.obj.note("opsdist: msrun's scheduler (MS_ROLE=MS_SCHED) has nothing to do here")
        raise click.exceptions.Exit(0)
    found = launched() if flags["launcher"] != "local" else None
    if found is None or (found.placement.world_size == 1 and flags["launcher"] != "env"):
        if flags["launcher"] == "env":
            raise UsageError(
                "--launcher env: no launcher's variables are set; start it with srun, mpirun or torchrun, or leave it "
                "out"
            )
        return None
    _refuse_contradictions(flags, found)
    follow_parent()
    part: Part = context.meta[_KEY]
    seconds = max(flags.get("timeout") or _SECONDS, _LEAST_SECONDS)
    if found.placement.rank:
        raise click.exceptions.Exit(take_part(found, meeting(found), seconds))
    part.assembly = assembly = Assembly(found, meeting(found), seconds)
    assembly.gather(seconds)
    for remark in assembly.remarks:
        context.obj.note(f"opsdist: {remark}")
    return assembly


def speechless() -> bool:
    """Whether another process says what is wrong with the command: rank 0, which was started with the same words."""
    from collectives.errors import CollectiveError
    from collectives.placement import launched

    try:
        found = launched()
    except CollectiveError:
        return False
    # A terminal may be that of somebody who has entered a container of such a world.
    return found is not None and found.placement.rank > 0 and not sys.stderr.isatty()


def _refuse_contradictions(flags: Mapping[str, Any], found: Launched) -> None:
    """Which hosts, how many ranks and who starts them is decided already. Raises UsageError."""
    from suites.errors import UsageError
    from suites.launch.launched.meeting import MEETINGS

    who, size = MEETINGS[found.family.name].who, found.placement.world_size
    for ranks in (flags.get("ranks"), flags.get("short_ranks")):
        if ranks not in (None, size):
            raise UsageError(f"{ranks} ranks, but {who} has started {size} processes of opsdist: leave -n out")
    given = [f"--{name}" for name in ("hosts", "hostfile", "python", "prologue") if flags[name] is not None]
    if flags["variables"]:
        given.append("--env")
    if flags["launcher"] in ("ssh", "slurm"):
        given.append(f"--launcher {flags['launcher']}")
    if given:
        raise UsageError(
            f"{' and '.join(given)}, but {who} has started {size} processes of opsdist already: leave it out; or start "
            "opsdist once, without the launcher; or give --launcher local"
        )
