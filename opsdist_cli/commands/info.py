"""`opsdist info`: what this host has, and which backends are ready. May import: click, and from this package."""

from __future__ import annotations

import sys

import click

from opsdist_cli.params import json_option, shared_options
from opsdist_cli.screen import Screen


@click.command()
@click.option("-t", "--section", "sections", multiple=True, metavar="NAME", help="Only this section; may be repeated.")
@click.option("-i", "devices", multiple=True, metavar="DEVICE", help="Only this network interface; may be repeated.")
@json_option
@shared_options
@click.pass_obj
def info(screen: Screen, sections: tuple[str, ...], devices: tuple[str, ...], json_path: str | None) -> int:
    """What this host has, what limits communication here, and which backends are ready.

    \b
    Examples:
      opsdist info
      opsdist info -t network -i eth0
      opsdist info -t backends -t limits --json
    """
    from opsdist_cli.output import facts
    from opsdist_cli.output.sink import sinks
    from suites.hostinfo import report

    out = sinks(screen, json=json_path)
    found = report(["opsdist", *sys.argv[1:]], sections, devices)
    record = found.record()
    out.write(record)
    screen.result(facts.render(record))
    return found.exit_code
