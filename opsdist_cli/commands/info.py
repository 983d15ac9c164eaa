"""`opsdist info`: what this host has, and which backends are ready. May import: click, and from this package."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from opsdist_cli.hostoptions import commands, crew_of, host_options, show_output
from opsdist_cli.params import json_option, shared_options
from opsdist_cli.screen import Screen

if TYPE_CHECKING:
    from suites.launch.crew import Crew
    from suites.report import Report

GREETING_SECONDS = 30.0
"""For ssh to reach a host and Python to start there."""


@click.command()
@click.option("-t", "--section", "sections", multiple=True, metavar="NAME", help="Only this section; may be repeated.")
@click.option("-i", "devices", multiple=True, metavar="DEVICE", help="Only this network interface; may be repeated.")
@host_options
@json_option
@shared_options
@click.pass_obj
def info(
    screen: Screen, /, sections: tuple[str, ...], devices: tuple[str, ...], json_path: str | None, **flags: Any
) -> int:
    """What this host has, what limits communication here, and which backends are ready. With hosts named, each of them.

    \b
    Examples:
      opsdist info
      opsdist info -t network -i eth0
      opsdist info -t backends -t limits --json
      opsdist info --hosts node[01-16] -t software -t limits
    """
    from opsdist_cli.output import facts
    from opsdist_cli.output.sink import sinks
    from suites.hostinfo import report

    command = ["opsdist", *sys.argv[1:]]
    crew = crew_of(flags)
    out = sinks(screen, json=json_path)
    asked = flags["hosts"] is not None or flags["hostfile"] is not None or bool(crew.far or crew.faults)
    found = _survey(screen, command, sections, devices, crew) if asked else report(command, sections, devices)
    record = found.record()
    out.write(record)
    screen.result(facts.render(record))
    return found.exit_code


def _survey(
    screen: Screen, command: Sequence[str], sections: Sequence[str], devices: Sequence[str], crew: Crew
) -> Report:
    """All hosts of the list, also if this one is the only one."""
    from suites.fleet import Survey
    from suites.report import now

    for line in commands(crew):
        screen.note(line, level=1)
    with contextlib.closing(crew):
        survey = Survey(command, sections, devices, crew, now())
        for event in survey.events(GREETING_SECONDS):
            show_output(screen, event)
        return survey.report()
