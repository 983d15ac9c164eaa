"""`opsdist diagnose deadlock`: which rank hangs, in which collective, and why. The work is in suites.

May import: click, and from this package.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from opsdist_cli.livediagnosis import live, live_options
from opsdist_cli.output.diagnose import GRAPHS
from opsdist_cli.params import json_option, shared_options
from opsdist_cli.screen import Screen
from opsdist_cli.typed import command_line

if TYPE_CHECKING:
    from suites.report import Report

_OURS = ("schema_version", "traceEvents")
"""Keys of what this command writes as JSON."""


@click.group(invoke_without_command=False)
@shared_options
def diagnose() -> None:
    """Find out what went wrong in a job, from what it left, or by an exercise of opsdist's own workers.

    \b
    Examples:
      opsdist diagnose deadlock dumps/ logs/
      opsdist diagnose deadlock
    """


@diagnose.command(context_settings={"max_content_width": 110})
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@json_option
@click.option("--graph", type=click.Path(path_type=Path), metavar="FILE", help="Draw who waits for whom: .svg or .dot.")
@click.option(
    "--timeline", is_flag=False, flag_value="-", metavar="[FILE.json]",
    help="The last collectives a rank; with FILE.json as a trace for Perfetto.",
)  # fmt: skip
@live_options
@shared_options
@click.pass_context
def deadlock(
    context: click.Context,
    /,
    paths: tuple[str, ...],
    json_path: str | None,
    graph: Path | None,
    timeline: str | None,
    **flags: Any,
) -> int:
    """Which rank hangs, in which collective, and why; who is only a victim; what was seen and what was not.

    PATH is what a job left: files, folders, archives, or - for stdin, of any of these kinds, all at once: flight
    recorder dumps of PyTorch, logs of NCCL, HCCL and torch, answers of ncclras, stacks of py-spy, output of ranks.
    What a file is, is found out by its content. Options stand after the paths.

    Without PATH opsdist's own workers run an exercise on the chosen ranks and hosts. That examines the machines, and
    no job that runs there.

    Exit: 0 nothing wrong in what was seen, 1 a fault was found, 3 the evidence does not tell, 2 usage.

    \b
    Examples:
      opsdist diagnose deadlock /tmp/nccl_trace_rank_*
      opsdist diagnose deadlock dumps/ logs/ --json verdict.json --graph waits.svg
      opsdist diagnose deadlock job.tar.gz --timeline
      opsdist diagnose deadlock ~/ascend/log --timeline trace.json
      opsdist diagnose deadlock -n 8 --timeout 5s
      opsdist diagnose deadlock --inject stop:rank=3,at=5
    """
    from opsdist_cli.output.sink import sinks

    screen: Screen = context.obj
    if paths:
        _refuse_live_options(context)
        _refuse_absent(paths)
    for path, option in ((json_path, "--json"), (timeline, "--timeline")):
        _spare_evidence(path, option)
    out = sinks(screen, json=json_path)
    drawn = _drawing(graph)
    trace = _trace(timeline)
    _keep_apart(json_path, trace)
    found = _recorded(screen, paths, timeline is not None) if paths else live(screen, flags)
    record = found.record()
    out.write(record)
    _show(screen, record, drawn, timeline, trace)
    return found.exit_code


def _recorded(screen: Screen, paths: tuple[str, ...], timeline: bool) -> Report:
    from suites.diagnose.offline import diagnose as diagnosed
    from suites.report import now

    started = now()
    with screen.status() as progress:
        return diagnosed(paths, command_line(), started, timeline=timeline, progress=progress)


def _show(screen: Screen, record: dict[str, Any], drawn: Path | None, timeline: str | None, trace: Path | None) -> None:
    """All that is for people, and the files beside the record."""
    from opsdist_cli.output.diagnose import chrometrace, draw, text
    from opsdist_cli.output.diagnose import timeline as rows
    from opsdist_cli.output.sink import put

    if timeline == "-":
        screen.result(rows.render(record) + "\n")
    screen.result(text.render(record))
    if drawn is not None:
        put(drawn, draw(drawn.suffix, record))
        screen.note(f"# who waits for whom: {drawn}")
    if trace is not None:
        put(trace, chrometrace.render(record))
        screen.note(f"# trace for https://ui.perfetto.dev: {trace}")


def _refuse_absent(paths: tuple[str, ...]) -> None:
    """One of several that is not there is named in the verdict; where none is, the command is not what was meant."""
    if not any(path == "-" or _is_there(path) for path in paths):
        named = ", ".join(repr(path) for path in paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
        reason = f"no such file or folder: {named}; name what the job left, or leave PATH to exercise this machine"
        raise click.BadParameter(reason, param_hint="PATH")


def _is_there(path: str) -> bool:
    """What may not be looked at is there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def _refuse_live_options(context: click.Context) -> None:
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name not in _SHARED and context.get_parameter_source(parameter.name or "") in _TYPED
    ]
    if given:
        context.fail(f"with PATH nothing is run, so there is no use for {', '.join(given)}: leave it, or leave PATH")


_SHARED = {"paths", "json_path", "graph", "timeline", "verbose", "quiet", "debug", "no_color"}
"""Parameters that serve the exercise and what was recorded; all others are the exercise's."""
_TYPED = (ParameterSource.COMMANDLINE,)


def _drawing(graph: Path | None) -> Path | None:
    """Where the graph is put. Raises click.BadParameter."""
    from opsdist_cli.output.sink import writable

    if graph is None:
        return None
    if graph.suffix not in GRAPHS:
        reason = f"'{graph}': the ending says what is drawn: {' or '.join(GRAPHS)}"
        raise click.BadParameter(reason, param_hint="--graph")
    return writable(graph, "--graph")


def _trace(timeline: str | None) -> Path | None:
    """Where the trace is put; None where text was asked for. Raises click.BadParameter."""
    from opsdist_cli.output.sink import writable

    if timeline in (None, "-"):
        return None
    if Path(timeline).suffix != ".json":
        reason = f"'{timeline}' does not end in .json; bare --timeline, after all PATHs, prints text"
        raise click.BadParameter(reason, param_hint="--timeline")
    return writable(Path(timeline), "--timeline")


def _keep_apart(json_path: str | None, trace: Path | None) -> None:
    """The trace would be written over the record."""
    if trace is not None and json_path not in (None, "-") and Path(json_path).resolve() == trace:
        reason = f"{json_path} is where the record goes; name another file"
        raise click.BadParameter(reason, param_hint="--timeline")


def _spare_evidence(path: str | None, option: str) -> None:
    """`--json rank0.log` most likely names what to read: never write over what opsdist has not written."""
    file = Path(path) if path not in (None, "-") else None
    if file is None or not _holds_something(file) or _written_by_us(file):
        return
    reason = f"{file} exists, and is nothing that opsdist wrote; to read it: opsdist diagnose deadlock {file} {option}"
    raise click.BadParameter(reason, param_hint=option)


def _holds_something(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size > 0
    except OSError:
        return False  # nothing can be written there either, which is told where it is tried


def _written_by_us(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            head = stream.read(64).decode("utf-8", "replace")
    except OSError:
        return False
    return any(head.lstrip("{ \n").startswith(json.dumps(key)) for key in _OURS)
