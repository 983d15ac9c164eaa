"""Where what ranks have recorded is kept: the folder that the user names, or one of the last runs.

May import: click and screen at import time; suites when it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opsdist_cli.screen import Screen
from opsdist_cli.typed import command_line

if TYPE_CHECKING:
    from suites.launch.crew import Crew

Function = TypeVar("Function", bound=Callable[..., Any])


def record_option(function: Function) -> Function:
    """`--record DIR`."""
    return click.option(
        "--record", "record_folder", metavar="DIR",
        help="Keep what the ranks recorded in this new folder, however the run ends.",
    )(function)  # fmt: skip


def folder_of(name: str | None) -> Path | None:
    """The folder that the user names, made now. Raises UsageError."""
    from suites.runfolder import named

    return None if name is None else named(name)


def keep(screen: Screen, crew: Crew, host_of: list[str], started: datetime, folder: Path | None) -> None:
    """Write what was recorded, which there is where it is wanted, or the run had a fault or was interrupted. Say where
    it is, and what reads it."""
    from suites.diagnose.evidence.rings import moving
    from suites.runfolder import Run, Unwritten, kept, write
    from suites.verdict import report, words

    if not crew.rings:
        if folder:
            screen.note(f"opsdist: no rank has recorded anything, so nothing is in {folder}", level=-1)
        return
    faults = [words(fault) for fault in crew.faults]
    # A fault ends calls too; without one, a call that was begun a moment ago is but one of a run that went on.
    going_on = () if faults else moving(crew.rings)
    reports = [report(fault) for fault in crew.faults if fault.rank is not None]
    run = Run(command_line(), started.isoformat(), host_of, crew.pids, faults, going_on, reports)
    if folder is not None:
        found = write(folder, run, crew.rings)
    else:
        found = kept(os.environ, run, crew.rings, started, os.getpid())
    if isinstance(found, Unwritten):
        screen.note(f"opsdist: {found.reason}", level=-1)
    else:
        screen.note(f"# what the ranks recorded: opsdist diagnose deadlock {found}")
