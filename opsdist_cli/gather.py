"""The hosts that a command looks at: this one, those that options name, or recorded ones. The work is in suites.

May import: click, and from this package at import time; suites when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opsdist_cli.hostoptions import crew_of
from opsdist_cli.screen import Screen
from opsdist_cli.survey import survey

if TYPE_CHECKING:
    from suites.hostinfo import Looked, Seen, Wanted
    from suites.inforeport import Measure

Function = TypeVar("Function", bound=Callable[..., Any])


def from_option(function: Function) -> Function:
    """`--from`, as `paths`."""
    return click.option(
        "--from", "paths", multiple=True, type=click.Path(exists=True, path_type=Path), metavar="DIR",
        help="A recorded host, outputs of tools, or a record, instead of this host; several are a fleet.",
    )(function)  # fmt: skip


def measure_options(function: Function) -> Function:
    """By what hosts are judged; see `judged_by`."""
    file = click.Path(path_type=Path)
    options = [
        click.option(
            "--since", multiple=True, type=click.Path(exists=True, path_type=Path), metavar="DIR",
            help="The same hosts as they were, recorded or as a record; what has changed or grown is found. May be "
            "repeated.",
        ),
        click.option("--expect", type=file, metavar="FILE", help="What hosts must be; what differs is a failure."),
        click.option(
            "--thresholds", type=file, metavar="FILE", help="Thresholds of checks, in TOML, instead of their own."
        ),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def judged_by(wanted: Wanted, flags: Mapping[str, Any]) -> Measure:
    """What `measure_options` amount to. Raises UsageError for files that are not what they should be."""
    from suites.errors import UsageError
    from suites.expectation import read_expectation, unknown_keys
    from suites.inforeport import Measure
    from suites.recorded import seen_at
    from suites.thresholds import read_thresholds

    expect, thresholds, since = flags["expect"], flags["thresholds"], flags["since"]
    expectation = None if expect is None else read_expectation(expect)
    if expectation and (strange := unknown_keys(expectation)):
        raise UsageError(f"--expect {expect}: no host has such a fact: {', '.join(strange)}")
    earlier = {seen.name: seen.facts for seen in seen_at(since, wanted)[0]}
    return Measure({} if thresholds is None else read_thresholds(thresholds), expectation, earlier)


def gather(screen: Screen, wanted: Wanted, paths: Sequence[Path], flags: Mapping[str, Any]) -> Looked:
    """Look at the hosts; `flags` are those of `host_options`. Raises UsageError for what cannot be looked at as asked,
    and ProbeError for a path at which nothing is recorded."""
    from suites.hostinfo import Looked
    from suites.recorded import seen_at

    wanted.chosen()
    if paths:
        if flags["hosts"] is not None or flags["hostfile"] is not None:
            click.get_current_context().fail("--from tells of recorded hosts; give it without --hosts and --hostfile")
        seen, earlier = seen_at(paths, wanted)
        return Looked(seen, earlier)
    crew = crew_of(flags)
    if flags["hosts"] is not None or flags["hostfile"] is not None or crew.far or crew.faults:
        asked = survey(screen, wanted, crew)
        return Looked(asked.seen, unreached=asked.unreached())
    return Looked([_here(screen, wanted)])


def _here(screen: Screen, wanted: Wanted) -> Seen:
    from probes.host import LocalHost
    from suites.hostinfo import host_name, look

    host = LocalHost()
    with screen.status() as tell:
        return look(host_name(host), host, wanted, tell=tell)
