"""`opsdist info`: what hosts have, which backends are ready, and what stands in the way. The work is in suites.

May import: click, and from this package.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opsdist_cli.gather import from_option, gather, judged_by, measure_options
from opsdist_cli.hostoptions import host_options
from opsdist_cli.params import json_option, shared_options
from opsdist_cli.screen import Screen
from opsdist_cli.typed import command_line

if TYPE_CHECKING:
    from suites.hostinfo import Seen

_FILE = click.Path(path_type=Path)


@click.command()
@click.option("-t", "--section", "sections", multiple=True, metavar="NAME", help="Only this section; may be repeated.")
@click.option(
    "-i", "devices", multiple=True, metavar="DEVICE",
    help="Only this device, such as npu3, gpu0, mlx5_0 or eth0; may be repeated.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Only what is quick to tell: no counters, no details of devices.")
@from_option
@click.option(
    "--record", "record_at", type=_FILE, metavar="DIR", help="Write what was read, to be looked at by --from."
)
@click.option("--identities", is_flag=True, help="Show and record serial numbers and hardware addresses too.")
@click.option("--save-expect", type=_FILE, metavar="FILE", help="Write what these hosts are, for --expect.")
@measure_options
@host_options
@json_option
@shared_options
@click.pass_obj
def info(
    screen: Screen,
    /,
    sections: tuple[str, ...],
    devices: tuple[str, ...],
    quick: bool,
    paths: tuple[Path, ...],
    record_at: Path | None,
    identities: bool,
    save_expect: Path | None,
    json_path: str | None,
    **flags: Any,
) -> int:
    """What this host has, what limits communication here, and which backends are ready. With hosts named, each of them.

    \b
    Examples:
      opsdist info
      opsdist info -t network -i eth0
      opsdist info -t hccl
      opsdist info --hosts node[01-16] --expect good.json
      opsdist info --record before; opsdist info --since before
      opsdist info --from node01 --from node02
    """
    from opsdist_cli.output import facts
    from opsdist_cli.output.sink import sinks, writable
    from suites.hostinfo import Wanted
    from suites.inforeport import report
    from suites.report import now

    started = now()
    wanted = Wanted(sections, devices, quick, identities, record_at is not None)
    measure = judged_by(wanted, flags)
    out = sinks(screen, json=json_path)
    target = writable(save_expect, "--save-expect") if save_expect else None
    _prepare(record_at)
    looked = gather(screen, wanted, paths, flags)
    _save(looked.seen, record_at, target)
    found = report(command_line(), started, looked, measure, wanted)
    record = found.record()
    out.write(record)
    screen.result(facts.render(record))
    return found.exit_code


def _prepare(record_at: Path | None) -> None:
    """See that hosts can be recorded there, before any is asked. Raises ProbeError."""
    from probes.recorded.recorder import prepare

    if record_at is not None:
        prepare(record_at)


def _save(seen: Sequence[Seen], record_at: Path | None, expectation: Path | None) -> None:
    """Of several hosts, each is recorded in a folder of its own. Raises ProbeError, or OSError."""
    from opsdist_cli.output.sink import put
    from probes.recorded.recorder import save
    from suites.expectation import expected_of

    if record_at is not None:
        for host in seen:
            save(host.texts or {}, record_at if len(seen) == 1 else record_at / host.name)
    if expectation is not None:
        content = expected_of([(host.name, host.facts) for host in seen])
        put(expectation, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
