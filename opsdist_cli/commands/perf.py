"""`opsdist perf OP`: flags to options, events to lines. The work is in suites.perf."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from opsdist_cli.hostoptions import commands, connect, crew_of, host_options, show_output
from opsdist_cli.injection import InjectIntoLoop
from opsdist_cli.interrupts import Terminated, exit_code_of
from opsdist_cli.params import (
    Bandwidth,
    Duration,
    Operation,
    Size,
    SizeSweep,
    Word,
    Words,
    json_option,
    parse_bandwidth,
    parse_size,
    shared_options,
)
from opsdist_cli.recording import folder_of, keep, record_option
from opsdist_cli.screen import Screen, tell_findings
from opsdist_cli.typed import command_line

if TYPE_CHECKING:
    from opsdist_cli.output.sink import Sinks
    from suites.launch.crew import Crew
    from suites.perf import PerfRun
    from suites.sweep import Options, Row

DEFAULT_SIZES = "8:256M"
_NCCL_SIZE = 32 << 20


class FloorAt(click.ParamType[tuple[float, int]]):
    """`40GB/s@256M`: (bytes/s, size in bytes)."""

    name = "floor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, int]:
        if isinstance(value, tuple):
            return value
        rate, at, size = value.partition("@")
        try:
            if not at:
                raise ValueError(f"'{value}' names no size (example: 40GB/s@256M)")
            return parse_bandwidth(rate), parse_size(size)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def nccl_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """nccl-tests' own flags, for fingers that know them."""
    options = [
        click.option("-b", "nccl_begin", type=Size(), hidden=True),
        click.option("-e", "nccl_end", type=Size(), hidden=True),
        click.option("-f", "nccl_factor", type=click.IntRange(2), hidden=True),
        click.option("-i", "nccl_step", type=Size(), hidden=True),
        click.option("-w", "nccl_warmup", type=click.IntRange(0), hidden=True),
        click.option("-d", "nccl_dtype", type=_DTYPE, hidden=True),
        click.option("-o", "nccl_redop", type=_REDOP, hidden=True),
        click.option("-r", "nccl_root", type=click.IntRange(0), hidden=True),
        click.option("-c", "nccl_check", type=click.IntRange(0), hidden=True),
    ]
    for option in reversed(options):
        function = option(function)
    return function


_DTYPE = Word("dtype", "collectives.dtypes:DTYPES", "collectives.dtypes:SYNONYMS")
_REDOP = Word("operator", "collectives.dtypes:OPERATORS")


@click.command(context_settings={"max_content_width": 110})
@click.argument("op", type=Operation(extra=("all",)))
@click.option("--size", "sizes", type=SizeSweep(), help=f"SIZE, list 8,1K, range 8:1G[:x2|:+1M]. [{DEFAULT_SIZES}]")
@click.option("--loop", type=click.IntRange(1), help="Iterations a case; given, it is a promise. [20]")
@click.option("--warmup", type=click.IntRange(0), help="Untimed iterations a case, at least 1. [5]")
@click.option("-n", "short_ranks", type=click.IntRange(1), metavar="N", help="Short for --ranks N.")
@click.option("--ranks", type=click.IntRange(1), help="Total ranks. [physical cores, at most 8 a host]")
@click.option("--per-host", type=click.IntRange(1), help="Ranks on each host.")
@click.option("--backend", "backends", type=Words(), default="auto", help="Who runs it; several take turns. [auto]")
@click.option("--algorithm", "algorithms", type=Words(), default="auto", help="NAME[,NAME...], auto or all. [auto]")
@click.option("--dtype", type=_DTYPE, help="Element type. [float32]")
@click.option("--redop", type=_REDOP, help="sum prod min max avg. [sum]")
@click.option("--root", type=click.IntRange(0), help="Root of rooted collectives. [0]")
@click.option("--in-place", "placement", flag_value="in-place", help="Send and receive buffer coincide.")
@click.option("--out-of-place", "placement", flag_value="out-of-place", default=True, help="They do not. [default]")
@click.option("--both", "placement", flag_value="both", help="Both, side by side.")
@click.option("--check/--no-check", default=None, help="Verify results exactly. [check]")
@click.option("--cache", type=click.Choice(["cold", "warm"]), default="cold", help="Rotate buffers or reuse. [cold]")
@click.option("--sync", type=click.Choice(["each", "none"]), default="each", help="Barrier before each. [each]")
@click.option("--bind", type=click.Choice(["core", "none"]), default="core", help="Pin ranks to cores. [core]")
@click.option(
    "--buffers", type=click.Choice(["registered", "private"]), default="registered", help="From the backend, or not."
)
@click.option("--group-size", type=click.IntRange(1), help="Ranks a group, for hierarchical. [all on a host]")
@click.option("--peak", type=Bandwidth(), help="Bus bandwidth ceiling instead of the measured one.")
@click.option("--min-busbw", "floors", type=FloorAt(), multiple=True, help="Floor, such as 40GB/s@256M; repeatable.")
@host_options
@click.option("--dry-run", is_flag=True, help="Show who would run where, and the commands; start nothing.")
@click.option("--timeout", type=Duration(), default=60.0, help="Longest wait without progress. [60s]")
@click.option("--budget", type=Duration(), help="Time for the whole command; cuts loops that were not asked for.")
@click.option("--strict", is_flag=True, help="Warnings are failures.")
@click.option("--inject", type=InjectIntoLoop(), multiple=True, help="FAULT[:rank=R][,at=K]: prove that it is caught.")
@record_option
@json_option
@click.option("--csv", "csv_path", metavar="FILE", help="Write rows as CSV; - is stdout.")
@click.option("--junit", "junit_path", metavar="FILE", help="Write JUnit XML; - is stdout.")
@nccl_options
@shared_options
@click.pass_context
def perf(
    ctx: click.Context,
    /,
    json_path: str | None,
    csv_path: str | None,
    junit_path: str | None,
    strict: bool,
    dry_run: bool,
    **flags: Any,
) -> int:
    """Measure a collective: time, bandwidth, efficiency and correctness, size by size.

    OP is allreduce, allgather, reduce-scatter, alltoall, alltoallv, broadcast, reduce, gather, scatter, sendrecv,
    barrier, or all. Sizes as in GNU coreutils: K M G and KiB MiB GiB are powers of 1024, KB MB GB of 1000.

    \b
    Examples:
      opsdist perf allreduce --size 1G --loop 100
      opsdist perf allreduce --algorithm all --size 8:64M
      opsdist perf allreduce --backend builtin,mpi,gloo --size 8,64K,16M
      opsdist perf all --size 1M --both --dtype bf16
      opsdist perf allreduce --size 256M --min-busbw 1GB/s@256M --junit perf.xml
      opsdist perf allreduce --hosts node[01-04]:8 --size 1G
    """
    from opsdist_cli.output.sink import sinks
    from suites.perf import PerfRun
    from suites.perfrecord import unlaunched
    from suites.report import now

    screen: Screen = ctx.obj
    started, command = now(), command_line()
    options = _options(ctx, flags)
    crew = crew_of(flags)
    if dry_run:
        return _dry_run(screen, options, crew)
    out = sinks(screen, json=json_path, csv=csv_path, junit=junit_path)
    with contextlib.closing(crew):
        ended = connect(screen, crew, options.timeout)
        if ended or crew.faults:
            crew.close()
            record = unlaunched(options, command, started, crew, exit_code_of(ended) if ended else 3).record()
            code = _write(screen, out, record)
            tell_findings(screen, record)
            screen.result(_verdict(record, 0, options, crew))
            return code
        folder, run = folder_of(flags["record_folder"]), PerfRun(options, command, started, crew)
        code = _measure(screen, run, out, strict=strict)
        keep(screen, crew, list(run.world.host_of), started, folder)
        return code


def _measure(screen: Screen, run: PerfRun, out: Sinks, *, strict: bool) -> int:
    """Run it, show what comes, and write the record, however it ends. The exit code."""
    show, ended = _Show(screen, run), None
    try:
        show.opening()
        show.events()
    except (KeyboardInterrupt, Terminated) as error:
        ended = error
        screen.note("the ranks were stopped; what was measured is kept", level=-1)
        run.crew.close()
    code = run.judge(strict=strict)
    record = run.record(exit_code_of(ended) if ended else code).record()
    code = _write(screen, out, record)
    show.closing(record)
    return code


def _write(screen: Screen, out: Sinks, record: dict[str, Any]) -> int:
    """The exit code: that of the run, whatever becomes of its files; but a run whose record is lost has not passed."""
    try:
        out.write(record)
    except OSError as error:
        for text in (str(error), *getattr(error, "__notes__", ())):
            screen.note(f"opsdist: {text}", level=-1)
        return int(record["exit_code"]) or 3
    return int(record["exit_code"])


def _dry_run(screen: Screen, options: Options, crew: Crew) -> int:
    """Who would run where, where that does not depend on what the hosts have, and the exact commands."""
    from suites.world import Asked, planned

    counts = planned(crew.names, Asked(options.ranks, options.per_host), crew.slots)
    first = 0
    for host, ranks in zip(crew.names, counts or (), strict=counts is not None):
        screen.result(f"{host}  rank{'s' * (ranks > 1)} {first}{f'-{first + ranks - 1}' * (ranks > 1)}")
        first += ranks
    if counts is None:
        for host, slots in zip(crew.names, crew.slots, strict=True):
            screen.result(f"{host}  {f'{slots} ranks' if slots else 'as many ranks as physical cores, at most 8'}")
    for line in commands(crew):
        screen.result(line)
    return 0


def _verdict(record: dict[str, Any], cases: int, options: Options, crew: Crew) -> str:
    measured = sum(side is not None for row in record["results"] for side in (row["out_of_place"], row["in_place"]))
    checked = "" if options.check else ", unchecked"
    word = {0: "passed", 1: "FAILED", 130: "interrupted", 143: "terminated"}.get(record["exit_code"], "no verdict")
    line = f"# {word}: {measured} of {cases} cases measured{checked}"
    if record["verdict"]:
        line += f"; {record['verdict']['class']}: {record['verdict']['explanation']}"
    here = [str(pid) for host, pid in crew.survivors if host not in crew.far]
    there = [f"{pid} on {host}" for host, pid in crew.survivors if host in crew.far]
    if here:
        line += f"; still alive: pid {', '.join(here)}"
    if there:
        line += f"; not known to have ended: pid {', '.join(there)}"
    return line


def _options(ctx: click.Context, flags: dict[str, Any]) -> Options:
    """Flags to options; raises click.UsageError for what contradicts itself."""
    from suites.expect import BusFloor
    from suites.sweep import Options

    op, nccl = flags["op"], {name: value for name, value in flags.items() if name.startswith("nccl_")}
    if flags["short_ranks"] is not None and any(value is not None for value in nccl.values()):
        raise click.UsageError("with nccl-tests' flags, is -n iterations or ranks? Say --loop or --ranks", ctx)
    if flags["sizes"] and any(nccl[f"nccl_{name}"] is not None for name in ("begin", "end", "factor", "step")):
        raise click.UsageError("--size, or nccl-tests' -b -e -f -i, but not both", ctx)
    sizes = flags["sizes"] or _nccl_sizes(nccl, ctx) or SizeSweep().convert(DEFAULT_SIZES, None, ctx)
    check = flags["check"] if flags["check"] is not None else nccl["nccl_check"] != 0
    return Options(
        collectives=Operation().words if op == "all" else (op,),
        sizes=sizes,
        loop=flags["loop"] or 20,
        loop_asked=flags["loop"] is not None,
        # One tells how long an iteration takes, so that chunks and batches can be sized.
        warmup=max(_first(flags["warmup"], nccl["nccl_warmup"], 5), 1),
        ranks=_ranks(flags, ctx),
        per_host=flags["per_host"],
        backends=flags["backends"],
        algorithms=flags["algorithms"],
        dtype=_first(flags["dtype"], nccl["nccl_dtype"], "float32"),
        redop=_first(flags["redop"], nccl["nccl_redop"], "sum"),
        root=_first(flags["root"], nccl["nccl_root"], 0),
        placement=flags["placement"],
        check=check,
        cache=flags["cache"],
        sync=flags["sync"],
        bind=flags["bind"],
        buffers=flags["buffers"],
        group_size=flags["group_size"],
        peak=flags["peak"],
        floors=tuple(BusFloor(rate, size) for rate, size in flags["floors"]),
        timeout=flags["timeout"],
        budget=flags["budget"],
        inject=flags["inject"],
        record=flags["record_folder"] is not None,
    )


def _ranks(flags: dict[str, Any], ctx: click.Context) -> int | None:
    """-n and --ranks are the same; --per-host is another way to say how many."""
    asked = [flags[name] for name in ("short_ranks", "ranks", "per_host") if flags[name] is not None]
    if len(asked) > 1:
        raise click.UsageError("-n and --ranks are the same, and --per-host says it too: give one of them", ctx)
    return asked[0] if asked and flags["per_host"] is None else None


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)


def _nccl_sizes(nccl: dict[str, Any], ctx: click.Context) -> tuple[int, ...] | None:
    """nccl-tests' sweep, 32M where one end is not given. None where none of its flags is."""
    begin, end, factor, step = (nccl[f"nccl_{name}"] for name in ("begin", "end", "factor", "step"))
    if begin is end is factor is step is None:
        return None
    first = min(_NCCL_SIZE, _first(end, _NCCL_SIZE)) if begin is None else begin
    last = max(_NCCL_SIZE, first) if end is None else end
    return SizeSweep().convert(f"{first}:{last}:" + (f"+{step}" if step else f"x{factor or 2}"), None, ctx)


class _Show:
    """What a person sees of a run."""

    def __init__(self, screen: Screen, run: PerfRun) -> None:
        from opsdist_cli.output.table import Table

        self._screen, self._run = screen, run
        self._table = Table(run.options.placement, run.options.collectives, run.backends)

    def opening(self) -> None:
        from opsdist_cli.output.table import opening

        self._say(opening(self._run.record(0).record()))

    def _joined(self) -> None:
        """What is known, and where the table begins, once the ranks have met."""
        from opsdist_cli.output.table import joined

        self._say([*joined(self._run.record(0).record()), *self._table.header()])

    def _row(self, row: Row) -> None:
        self._say(self._table.lines(self._run.row_record(row)))

    def _say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._screen.result(line)

    def events(self) -> None:
        from opsdist_cli.progress import ProgressLine
        from suites.launch.job import Output
        from suites.perf import Progress, Started
        from suites.sweep import Row

        with (
            ProgressLine(self._screen, len(self._run.cases)) as progress,
            contextlib.closing(self._run.events()) as events,
        ):
            for event in events:
                match event:
                    case Row():
                        self._row(event)
                    case Started():
                        self._joined()
                        pids = ", ".join(f"{rank}:{pid}" for rank, pid in event.pids.items())
                        self._screen.note(f"opsdist: ranks started (rank:pid {pids})", level=1)
                    case Progress():
                        text = f"{event.case.collective} {event.case.size} B, iteration {event.done}/{event.of}"
                        progress.show(text, event.behind)
                    case Output():
                        show_output(self._screen, event)

    def closing(self, record: dict[str, Any]) -> None:
        from opsdist_cli.output.table import best_by_size, closing, compared, costs

        for row in self._run.unshown():
            self._row(row)
        several = compared(record["results"])
        lines = [*closing(record), *best_by_size(record)]
        if several or self._screen.verbosity > 0:
            lines += costs(record)
        if self._screen.verbosity > 0:
            why = {(row["collective"], row["algorithm"]): row["why"] for row in record["results"] if row["why"]}
            lines += [f"# {collective} by {name}: {reason}" for (collective, name), reason in why.items()]
        self._say(lines)
        if self._screen.debug:
            for trace in self._run.tracebacks:
                self._screen.note(trace.rstrip(), level=-1)
        tell_findings(self._screen, record)
        self._screen.result(_verdict(record, len(self._run.cases), self._run.options, self._run.crew))
