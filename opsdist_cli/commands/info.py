"""`opsdist info`: what this host has, and which backends are ready. May import: click, and from this package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from opsdist_cli.hostoptions import crew_of, host_options
from opsdist_cli.params import json_option, shared_options
from opsdist_cli.screen import Screen
from opsdist_cli.survey import survey


@click.command()
@click.option("-t", "--section", "sections", multiple=True, metavar="NAME", help="Only this section; may be repeated.")
@click.option("-i", "devices", multiple=True, metavar="DEVICE", help="Only this network interface; may be repeated.")
@click.option(
    "--from", "paths", multiple=True, type=click.Path(path_type=Path), metavar="DIR",
    help="A recorded host, or a folder of tools' outputs, instead of this host; several are a fleet.",
)  # fmt: skip
@host_options
@json_option
@shared_options
@click.pass_obj
def info(
    screen: Screen,
    /,
    sections: tuple[str, ...],
    devices: tuple[str, ...],
    paths: tuple[Path, ...],
    json_path: str | None,
    **flags: Any,
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
    from suites import recorded
    from suites.hostinfo import report

    command = ["opsdist", *sys.argv[1:]]
    crew = crew_of(flags)
    out = sinks(screen, json=json_path)
    if paths:
        found = recorded.report(command, sections, devices, paths)
    elif flags["hosts"] is not None or flags["hostfile"] is not None or crew.far or crew.faults:
        found = survey(screen, command, sections, devices, crew)
    else:
        found = report(command, sections, devices)
    record = found.record()
    out.write(record)
    screen.result(facts.render(record))
    return found.exit_code
