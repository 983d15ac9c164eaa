"""The root group, the table of commands, and the only place where errors become exit codes.

May import: click, and from this package; commands are imported when used, so that `--help` stays quick.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

from collectives.errors import nearest
from opsdist_cli.interrupts import Raised, Terminated, exit_code_of, forget_broken_import, signals_raised
from opsdist_cli.launched import Part, remember, speechless
from opsdist_cli.params import shared_options
from opsdist_cli.screen import Screen, discard

COMMANDS: dict[str, tuple[str, str]] = {
    "info": ("opsdist_cli.commands.info", "what this host has, and which backends are ready"),
    "topo": ("opsdist_cli.commands.topo", "how devices and CPUs reach each other: matrix, tree, DOT or SVG"),
    "perf": ("opsdist_cli.commands.perf", "measure a collective: time, bandwidth, efficiency, correctness"),
    "explain": ("opsdist_cli.commands.explain", "show an algorithm's plan, its steps, bytes and predicted time"),
    "diagnose": ("opsdist_cli.commands.diagnose", "which rank hangs, in which collective, and why"),
    "monitor": ("opsdist_cli.commands.monitor", "live traffic and errors of NICs, RDMA ports and device links"),
    "checks": ("opsdist_cli.commands.checks", "the rules by which hosts are judged, and what each of them means"),
    "hosts": ("opsdist_cli.commands.hosts", "read a host list, and write it in another tool's format"),
    "suite": ("opsdist_cli.commands.suite", "run a named list of checks, such as smoke for CI"),
}
"""name -> (module, summary). A command lives in `commands/<name>.py` as a function of that name."""


class Commands(click.Group):
    """Looks names up in COMMANDS and imports on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = nearest(args[0], COMMANDS)
            hint = f"Did you mean '{near}'?" if near else f"Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command '{args[0]}'. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="opsdist", prog_name="opsdist", message="%(prog)s %(version)s")
@shared_options
def opsdist() -> None:
    """Validates and benchmarks the communication of distributed AI clusters.

    \b
    Examples:
      opsdist perf allreduce --size 1G --loop 100
      opsdist perf allreduce --algorithm all --size 8:64M
      opsdist explain allreduce --algorithm ring -n 5
      opsdist diagnose deadlock dumps/ logs/
      opsdist info
      opsdist suite smoke
    """


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script."""
    _open_closed_streams()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code (contract.md, "Exits"). Raises nothing."""
    screen, part = Screen(), Part()
    try:
        # Not opsdist.main, which would make a closed stdout a failure.
        with signals_raised() as raised:
            outcome = _invoke(arguments, screen, part, raised)
        code = outcome if isinstance(outcome, int) else 0
    except BrokenPipeError:
        code = 0  # the screen takes care of its own, so this was the text of --help or --version
    except (KeyboardInterrupt, click.Abort, Terminated) as stop:
        code = exit_code_of(stop)
        screen.note(f"opsdist: ended by {'SIGTERM' if isinstance(stop, Terminated) else 'Ctrl-C'}", level=-1)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        code = _usage(error, screen)
    except Exception as error:  # the one place where any error becomes words and a code
        code = _failed(error, screen)
    _flush()
    forget_broken_import()
    part.leave(code)
    return code


def _invoke(arguments: list[str], screen: Screen, part: Part, raised: Raised) -> Any:
    """What the command returns. What a signal broke is that signal, whatever has become of it on its way."""
    try:
        with opsdist.make_context("opsdist", list(arguments), obj=screen) as context:
            remember(context, part)
            return opsdist.invoke(context)
    except Exception as error:
        if raised.stop is not None:
            raise raised.stop from error
        raise


def _usage(error: click.ClickException, screen: Screen) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        screen.note(error.format_message(), level=-1)
        return 2
    if speechless():
        return 2
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "opsdist"
    screen.note(f"{where}: {error.format_message()}\nTry '{where} --help'.", level=-1)
    return 2


def _failed(error: Exception, screen: Screen) -> int:
    """Errors of the packages below arrive here as they were raised; hints travel as notes."""
    from collectives.errors import CollectiveError
    from collectives.errors import UsageError as CollectiveUsageError
    from probes.errors import ProbeError
    from suites.errors import SuiteError, UsageError

    usage = isinstance(error, UsageError | CollectiveUsageError)
    if usage and speechless():
        return 2
    if screen.debug:
        screen.note("".join(traceback.format_exception(error)).rstrip(), level=-1)
    known = isinstance(error, CollectiveError | ProbeError | SuiteError | OSError)
    kind = "" if known else f"internal error ({type(error).__name__}): "
    screen.note(f"opsdist: {kind}{error}", level=-1)
    for hint in getattr(error, "__notes__", ()):
        screen.note(f"  {hint}", level=-1)
    if not known and not screen.debug:
        screen.note("  --debug shows the traceback", level=-1)
    return 2 if usage else 3


def _open_closed_streams() -> None:
    """Started with `>&-` or the like: no pipe of ours may become descriptor 0, 1 or 2, and printing goes nowhere."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _flush() -> None:
    """What cannot be written any more, or is not to be waited for after another Ctrl-C, must not fail at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, KeyboardInterrupt, Terminated):
            discard(stream)
