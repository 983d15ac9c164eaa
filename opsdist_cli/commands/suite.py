"""`opsdist suite NAME`: run a named list of checks. The checks are in suites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from opsdist_cli.gather import from_option, gather, judged_by, measure_options
from opsdist_cli.hostoptions import crews_of, host_options
from opsdist_cli.interrupts import Terminated, exit_code_of
from opsdist_cli.params import Duration, Word, json_option, shared_options
from opsdist_cli.screen import Screen
from opsdist_cli.typed import command_line

_PROLOG_SECONDS = 10.0
_MARGIN = " " * 7


@click.command()
@click.argument("name", type=Word("suite", "suites.catalogue:SUITES"), required=False)
@click.option("-n", "--ranks", type=click.IntRange(1), help="Ranks to run with. [the suite's choice]")
@click.option("--budget", type=Duration(), default=60.0, help="Time for the whole suite. [60s]")
@click.option("--strict", is_flag=True, help="Warnings are failures.")
@click.option("--quick", is_flag=True, help="Only what is quick to tell of a host.")
@click.option(
    "--format", "adapter", type=click.Choice(["nagios", "npd", "slurm-prolog", "prometheus"]),
    help="Speak as that consumer wants, with its exit codes.",
)  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write what --format says there.")
@from_option
@measure_options
@host_options
@json_option
@click.option("--junit", "junit_path", metavar="FILE", help="Write JUnit XML; - is stdout.")
@shared_options
@click.pass_context
def suite(
    ctx: click.Context,
    /,
    name: str | None,
    ranks: int | None,
    budget: float,
    strict: bool,
    quick: bool,
    adapter: str | None,
    output: Path | None,
    paths: tuple[Path, ...],
    json_path: str | None,
    junit_path: str | None,
    **flags: Any,
) -> int:
    """Run a named list of checks; without NAME, list the suites.

    \b
    Examples:
      opsdist suite smoke
      opsdist suite smoke --budget 30s --junit smoke.xml
      opsdist suite smoke --hosts node[01-04]
      opsdist suite node
      opsdist suite node --format nagios
      opsdist suite node --format prometheus --output /var/lib/node_exporter/opsdist.prom
    """
    from opsdist_cli.output.places import alike
    from opsdist_cli.output.sink import sinks, writable
    from suites.catalogue import SUITES, Setting, suite_named
    from suites.hostinfo import Wanted
    from suites.report import Report, Status, exit_code, now

    screen: Screen = ctx.obj
    if name is None:
        for known, (_, summary) in SUITES.items():
            screen.result(f"{known:<10} {summary}")
        return 0
    _refuse_together(ctx, adapter, output, json_path)
    hosts = crews_of(flags)  # what is wrong with the list is refused before anything starts
    measure = judged_by(Wanted(), flags)
    out = sinks(screen, json=json_path, junit=junit_path)
    target = writable(output, "--output") if output else None
    if adapter:
        screen.reserved = True
        budget = _budget_of(ctx, adapter, budget)
    command = command_line()
    report = Report("suite", command, now())
    ended: BaseException | None = None
    quick = quick or adapter == "slurm-prolog"
    setting = Setting(
        budget, ranks, command, hosts, lambda wanted: gather(screen, wanted, paths, flags), measure, quick
    )
    try:
        for findings in suite_named(name)(setting):
            report.findings += findings
            for same in alike(finding.record() for finding in findings):
                screen.result(_line(same, several=bool(paths or flags["hosts"] or flags["hostfile"])))
    except (KeyboardInterrupt, Terminated) as error:
        ended = error
    statuses = [finding.status for finding in report.findings]
    report.exit_code = exit_code_of(ended) if ended else exit_code(statuses, strict=strict)
    counts: Counter[str] = Counter(str(status) for status in statuses)
    report.body = {"suite": name, "counts": {str(status): counts[status] for status in Status}}
    record = report.record()
    out.write(record)
    screen.result(_summary(report.body["counts"], report.exit_code))
    return report.exit_code if ended or not adapter else _adapted(screen, adapter, record, target)


def _refuse_together(ctx: click.Context, adapter: str | None, output: Path | None, json_path: str | None) -> None:
    if output and not adapter:
        ctx.fail("--output says where --format writes; give --format too, or --json FILE")
    if adapter and not output and json_path in ("-", "/dev/stdout"):
        ctx.fail("--format and --json cannot both go to stdout; give one of them a FILE")


def _budget_of(ctx: click.Context, adapter: str, budget: float) -> float:
    """A prolog must be over before Slurm takes the node for hung."""
    asked = ctx.get_parameter_source("budget") is not click.core.ParameterSource.DEFAULT
    return budget if asked or adapter != "slurm-prolog" else _PROLOG_SECONDS


def _adapted(screen: Screen, adapter: str, record: dict[str, Any], target: Path | None) -> int:
    """Say it as the consumer wants, with its code. A reader never sees half a file."""
    from opsdist_cli.output.adapters import adapted
    from opsdist_cli.output.sink import put

    text, code = adapted(adapter, record)
    if target:
        put(target, text)
    else:
        screen.machine(text)
    return code


def _line(same: Sequence[Mapping[str, Any]], several: bool) -> str:
    """What a check found, wherever it found the same; and what to do."""
    from opsdist_cli.output.layout import wrapped
    from opsdist_cli.output.places import where

    finding = same[0]
    place = where(same, several)
    line = f"{finding['status']:<5}  {finding['check']:<20}  {f'{place}: ' if place else ''}{finding['message']}"
    return "\n".join([line, *(wrapped(finding["remedy"], _MARGIN, _MARGIN) if finding["remedy"] else ())])


def _summary(counts: dict[str, int], code: int) -> str:
    """Every log reader understands `N passed, N failed, N skipped`."""
    failed = counts["fail"] + counts["error"]
    line = f"{counts['pass'] + counts['info'] + counts['warn']} passed, {failed} failed, {counts['skip']} skipped"
    if counts["warn"]:
        line += f" ({counts['warn']} with warnings)"
    return line + (" (ended early)" if code >= 128 else "")
