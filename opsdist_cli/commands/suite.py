"""`opsdist suite NAME`: run a named list of checks. The checks are in suites."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import click

from opsdist_cli.hostoptions import crews_of, host_options
from opsdist_cli.interrupts import Terminated, exit_code_of
from opsdist_cli.params import Duration, Word, json_option, shared_options
from opsdist_cli.screen import Screen


@click.command()
@click.argument("name", type=Word("suite", "suites.catalogue:SUITES"), required=False)
@click.option("-n", "--ranks", type=click.IntRange(1), help="Ranks to run with. [the suite's choice]")
@click.option("--budget", type=Duration(), default=60.0, help="Time for the whole suite. [60s]")
@click.option("--strict", is_flag=True, help="Warnings are failures.")
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
    """
    from opsdist_cli.output.sink import sinks
    from suites.catalogue import SUITES, Setting, suite_named
    from suites.report import Report, Status, exit_code, now

    screen: Screen = ctx.obj
    if name is None:
        for known, (_, summary) in SUITES.items():
            screen.result(f"{known:<10} {summary}")
        return 0
    hosts = crews_of(flags)  # what is wrong with the list is refused before anything starts
    out = sinks(screen, json=json_path, junit=junit_path)
    command = ["opsdist", *sys.argv[1:]]
    report = Report("suite", command, now())
    ended: BaseException | None = None
    setting = Setting(budget, ranks, command, hosts)
    try:
        for findings in suite_named(name)(setting):
            report.findings += findings
            for finding in findings:
                screen.result(_line(finding.record()))
    except (KeyboardInterrupt, Terminated) as error:
        ended = error
    statuses = [finding.status for finding in report.findings]
    report.exit_code = exit_code_of(ended) if ended else exit_code(statuses, strict=strict)
    counts: Counter[str] = Counter(str(status) for status in statuses)
    report.body = {"suite": name, "counts": {str(status): counts[status] for status in Status}}
    out.write(report.record())
    screen.result(_summary(report.body["counts"], report.exit_code))
    return report.exit_code


def _line(finding: dict[str, Any]) -> str:
    line = f"{finding['status']:<5}  {finding['check']:<20}  {finding['message']}"
    return line + (f"\n       {finding['remedy']}" if finding["remedy"] else "")


def _summary(counts: dict[str, int], code: int) -> str:
    """Every log reader understands `N passed, N failed, N skipped`."""
    failed = counts["fail"] + counts["error"]
    line = f"{counts['pass'] + counts['info'] + counts['warn']} passed, {failed} failed, {counts['skip']} skipped"
    if counts["warn"]:
        line += f" ({counts['warn']} with warnings)"
    return line + (" (ended early)" if code >= 128 else "")
