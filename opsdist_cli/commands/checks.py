"""`opsdist checks`: the rules by which hosts are judged. They are in suites.

May import: click, and from this package.
"""

from __future__ import annotations

import click

from opsdist_cli.params import shared_options
from opsdist_cli.screen import Screen


@click.command()
@click.argument("name", required=False)
@shared_options
@click.pass_obj
def checks(screen: Screen, /, name: str | None) -> int:
    """The rules by which `opsdist info` and `opsdist suite node` judge hosts; with NAME, all that one of them says.

    \b
    Examples:
      opsdist checks
      opsdist checks memory.shm_small
    """
    from collectives.errors import nearest
    from opsdist_cli.output.rules import explained, listed
    from suites.checks import rules

    known = rules()
    if name is None:
        screen.result(listed(known.values()))
        return 0
    if name not in known:
        near = nearest(name, known)
        hint = f"Did you mean '{near}'?" if near else "`opsdist checks` lists them."
        click.get_current_context().fail(f"there is no rule '{name}'. {hint}")
    screen.result(explained(known[name]))
    return 0
