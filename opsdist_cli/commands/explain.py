"""`opsdist explain OP`: an algorithm's plan, proof and predicted time. The work is in suites.explain."""

from __future__ import annotations

import click

from opsdist_cli.params import Bandwidth, Duration, Operation, Size, Word, json_option, shared_options
from opsdist_cli.screen import Screen
from opsdist_cli.typed import command_line


@click.command(context_settings={"max_content_width": 110})
@click.argument("op", type=Operation())
@click.option("--algorithm", "name", metavar="NAME", help="Draw and prove this one; without it, compare all.")
@click.option("-n", "--ranks", type=click.IntRange(1, 1 << 20), required=True, help="World size, up to a million.")
@click.option("--size", type=Size(), default="1M", help="Size of the call, as in perf. [1M]")
@click.option("--root", type=click.IntRange(0), default=0, help="Root of rooted collectives. [0]")
@click.option(
    "--dtype", type=Word("dtype", "collectives.dtypes:DTYPES", "collectives.dtypes:SYNONYMS"), default="float32",
    help="Element type. [float32]",
)  # fmt: skip
@click.option("--in-place", is_flag=True, help="Send and receive buffer coincide.")
@click.option("--group-size", type=click.IntRange(1), help="Ranks a group, for hierarchical. [the most up to 8]")
@click.option("--alpha", type=Duration(), default="2us", help="Time a message takes, however short. [2us]")
@click.option("--bandwidth", type=Bandwidth(), default="10GB/s", help="What one rank can send. [10GB/s]")
@json_option
@shared_options
@click.pass_obj
def explain(
    screen: Screen,
    op: str,
    name: str | None,
    ranks: int,
    size: int,
    root: int,
    dtype: str,
    in_place: bool,
    group_size: int | None,
    alpha: float,
    bandwidth: float,
    json_path: str | None,
) -> int:
    """Show what an algorithm does and costs, without starting a rank.

    Its plan is made for -n ranks, proven by simulation, drawn for up to 8 ranks, and timed on a network where every
    message costs alpha and every rank sends and receives at the given bandwidth.

    \b
    Examples:
      opsdist explain allreduce -n 64 --size 1G
      opsdist explain allreduce --algorithm ring -n 5
      opsdist explain alltoall --algorithm bruck -n 65536 --size 64M --alpha 5us --bandwidth 200Gb/s
    """
    from opsdist_cli.output import explain as text
    from opsdist_cli.output.sink import sinks
    from suites import explain as suite
    from suites.report import Report, now

    report = Report("explain", command_line(), now(), exit_code=0)
    size = 0 if op == "barrier" else size
    question = suite.Question(op, ranks, size, dtype, root, in_place, group_size, alpha, bandwidth)
    rows = suite.candidates(question) if name is None else [suite.candidate(question, name)]
    proof = None if name is None else suite.prove(question, rows[0].algorithm)
    out = sinks(screen, json=json_path)
    report.body = suite.body(question, rows, proof)
    out.write(report.record())
    screen.result(text.choice(question, rows) if name is None else text.one(question, rows[0], proof))
    return report.exit_code
