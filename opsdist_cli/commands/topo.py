"""`opsdist topo`: how accelerators, network cards and CPUs reach each other. The work is in suites and probes.

May import: click, and from this package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opsdist_cli.gather import from_option, gather
from opsdist_cli.hostoptions import host_options
from opsdist_cli.output.topo import DRAWINGS
from opsdist_cli.params import json_option, shared_options
from opsdist_cli.screen import Screen
from opsdist_cli.typed import command_line


@click.command()
@click.option(
    "--format", "drawing", type=click.Choice(list(DRAWINGS)), default="matrix",
    help="A matrix as of nvidia-smi, a tree, or a file for Graphviz, a browser or a program. [matrix]",
)  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it there, not to stdout.")
@from_option
@host_options
@json_option
@shared_options
@click.pass_obj
def topo(
    screen: Screen,
    /,
    drawing: str,
    output: Path | None,
    paths: tuple[Path, ...],
    json_path: str | None,
    **flags: Any,
) -> int:
    """How accelerators, network cards and CPUs of each host reach each other, and what breaks the symmetry.

    \b
    Examples:
      opsdist topo
      opsdist topo --format svg --output host.svg
      opsdist topo --hosts node[01-16] --format text
      opsdist topo --from node01 --format dot | dot -Tpdf -o node01.pdf
    """
    from opsdist_cli.output.sink import put, sinks, writable
    from opsdist_cli.output.topo import draw
    from opsdist_cli.output.topo.machine import verdict
    from opsdist_cli.screen import tell_findings
    from suites.report import now
    from suites.topology import WANTED, report

    if drawing != "matrix" and output is None and json_path in ("-", "/dev/stdout"):
        click.get_current_context().fail("--format and --json cannot both go to stdout; give one of them a FILE")
    started = now()
    out = sinks(screen, json=json_path)
    target = None if output is None or str(output) == "-" else writable(output, "--output")
    found = report(command_line(), started, gather(screen, WANTED, paths, flags))
    record = found.record()
    out.write(record)
    drawn = draw(drawing, record)
    if target is None:
        screen.result(drawn.rstrip("\n"))
    else:
        put(target, drawn)
        screen.result(f"{verdict(record)}; written to {output}")
    tell_findings(screen, record)
    return found.exit_code
