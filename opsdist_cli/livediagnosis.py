"""`opsdist diagnose deadlock` without a path: flags to options, events to lines. The work is in suites.deadlock.

May import: click and this package at import time; suites when it runs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opsdist_cli.hostoptions import connect, crew_of, host_options, show_output
from opsdist_cli.injection import InjectIntoCalls
from opsdist_cli.interrupts import Terminated, exit_code_of
from opsdist_cli.params import Duration
from opsdist_cli.recording import folder_of, keep, record_option
from opsdist_cli.typed import command_line

if TYPE_CHECKING:
    from opsdist_cli.screen import Screen
    from suites.deadlock import DeadlockRun, Options
    from suites.report import Report

Function = TypeVar("Function", bound=Callable[..., Any])

LAYOUTS = ("all", "world", "halves", "grid")
"""Kept here as words, so that `--help` imports no engine; a test holds them against suites.exercise."""
OWN = "opsdist's own workers are exercised here; no running job is examined"


def live_options(function: Function) -> Function:
    """Which ranks are exercised, and how."""
    options = [
        click.option("-n", "--ranks", "ranks", type=click.IntRange(1), help="Total ranks. [physical cores, at most 8]"),
        click.option("--per-host", type=click.IntRange(1), help="Ranks on each host."),
        click.option("--layout", type=click.Choice(LAYOUTS), default="all", help="Groups that ranks form. [all]"),
        click.option("--timeout", type=Duration(), default=20.0, help="Longest time without progress. [20s]"),
        click.option(
            "--inject", type=InjectIntoCalls(), multiple=True, metavar="FAULT",
            help="FAULT[:rank=R][,at=K][,group=G]...: make it, to see it found.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return record_option(host_options(function))


def live(screen: Screen, flags: Mapping[str, Any]) -> Report:
    """Run the exercise on the chosen ranks and hosts. The record, whose exit_code is that of the command, however it
    ends. Raises UsageError, LaunchError."""
    from suites.deadlock import DeadlockRun, unlaunched
    from suites.report import now

    started, options, folder = now(), _options(flags), folder_of(flags["record_folder"])
    with contextlib.closing(crew_of(flags)) as crew:
        ended = connect(screen, crew, options.timeout)
        if ended or crew.faults:
            _open(screen)
            crew.close()
            return unlaunched(command_line(), started, crew.faults, exit_code_of(ended) if ended else None)
        run = DeadlockRun(options, command_line(), started, crew)
        _open(screen)  # nothing is said to be exercised by a command that was refused
        screen.result(f"# {run.world.why}; {len(run.calls)} calls in {len(run.groups())} groups")
        ended = _show(screen, run)
        keep(screen, crew, list(run.world.host_of), started, folder)
        if screen.debug:
            for trace in run.tracebacks:
                screen.note(trace.rstrip(), level=-1)
        return run.record(exit_code_of(ended) if ended else None)


def _open(screen: Screen) -> None:
    for line in opening(os.environ):
        screen.result(line)


def opening(environ: Mapping[str, str]) -> Iterator[str]:
    """What this is and what it is not; and where other jobs have left something."""
    from suites.diagnose.usual import look, places

    yield f"# {OWN}"
    for found in look(places(environ)):
        yield f"# {found.what} found ({found.files} file{'s' * (found.files > 1)}); to read them: {found.command}"


def _options(flags: Mapping[str, Any]) -> Options:
    from suites.deadlock import Options

    if flags["ranks"] is not None and flags["per_host"] is not None:
        raise click.UsageError("-n and --per-host both say how many ranks: give one of them")
    return Options(
        flags["ranks"],
        flags["per_host"],
        flags["layout"],
        flags["timeout"],
        flags["inject"],
        flags["record_folder"] is not None,
    )


def _show(screen: Screen, run: DeadlockRun) -> BaseException | None:
    """Run it, and show what ranks print. What has interrupted it."""
    from suites.launch.job import Output

    try:
        with contextlib.closing(run.events()) as events:
            for event in events:
                if isinstance(event, Output):
                    show_output(screen, event)
                else:
                    pids = ", ".join(f"{rank}:{pid}" for rank, pid in event.pids.items())
                    screen.note(f"opsdist: ranks started (rank:pid {pids})", level=1)
    except (KeyboardInterrupt, Terminated) as error:
        screen.note("the ranks were stopped", level=-1)
        return error
    return None
