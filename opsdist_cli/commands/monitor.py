"""`opsdist monitor`: live traffic and errors of this host's links. The work is in suites.monitor.

May import: click, and from this package at import time; rich when there is a terminal, suites when the command runs.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from opsdist_cli.interrupts import Terminated, exit_code_of
from opsdist_cli.params import Duration, json_option, shared_options
from opsdist_cli.screen import Screen, discard, nobody_reads, tell_findings
from opsdist_cli.typed import command_line

_STDOUT = 1
_LEAST_INTERVAL = 0.1
Show = Callable[[Mapping[str, Any]], None]


@click.command()
@click.option("--interval", type=Duration(), default=1.0, help="Time from one sample to the next, 100ms or more. [1s]")
@click.option("--duration", type=Duration(), help="Time to watch. [until Ctrl-C]")
@json_option
@shared_options
@click.pass_obj
def monitor(screen: Screen, interval: float, duration: float | None, json_path: str | None) -> int:
    """Live traffic and errors of every NIC, RDMA port, NPU link and NVLink of this host.

    On a terminal it is a table of the links that carry something. Otherwise, and with bare --json, it is JSON, an
    object a line: one each interval ("kind": "sample") and at the end the record ("kind": "monitor"), which --json FILE
    writes to a file. Rates are bytes a second, over the time that really passed between two readings. What the kernel
    counts is read each interval, what vendors' tools tell every few seconds. Errors that grew are warnings.

    \b
    Examples:
      opsdist monitor
      opsdist monitor --interval 500ms --duration 1m
      opsdist monitor --duration 30s --json traffic.json
      opsdist monitor | jq -c '.links[] | [.link, .rx_bytes_per_second]'
    """
    from opsdist_cli.output import monitor as text
    from opsdist_cli.output.sink import sinks
    from suites.monitor import monitor as watch

    if interval < _LEAST_INTERVAL:
        raise click.BadParameter(f"an interval has at least {_LEAST_INTERVAL:g} s", param_hint="--interval")
    to_stdout = json_path in ("-", "/dev/stdout")
    out = sinks(screen, json=None if to_stdout else json_path)  # a bad path is refused before anything starts
    table = sys.stdout.isatty() and not to_stdout
    code, audience = 0, Audience()
    with contextlib.closing(watch(command_line(), interval, duration)) as watching:
        try:
            with _table(screen, watching.host, interval) if table else _lines(screen) as show:
                for sample in watching.samples(audience.stays):
                    show(sample)
        except (KeyboardInterrupt, Terminated) as ended:
            code = exit_code_of(ended)
        report = watching.report(code)
        report.exit_code = code if report.body["links"] or code else 3
        record = report.record()
        out.write(record)
    if table:
        screen.result(text.summary(record))
        tell_findings(screen, record)
    else:
        screen.machine(text.json_line(record))
    return report.exit_code


class Audience:
    """Whoever reads stdout. When nobody does any more, there is nothing to watch for."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._poll.register(_STDOUT, 0)  # for what is always told: that the other end of a pipe is gone
        self._first = self._which()

    def stays(self, seconds: float) -> bool:
        """Wait; False as soon as nobody reads. (Who finds that out in writing puts /dev/null in stdout's place.)"""
        return self._which() == self._first and not self._poll.poll(seconds * 1000)

    def _which(self) -> tuple[int, int]:
        status = os.fstat(_STDOUT)
        return status.st_dev, status.st_ino


@contextlib.contextmanager
def _lines(screen: Screen) -> Iterator[Show]:
    from opsdist_cli.output.monitor import json_line

    def show(sample: Mapping[str, Any]) -> None:
        if sample["number"]:  # the beginning has no rates
            screen.machine(json_line(sample))

    yield show


@contextlib.contextmanager
def _table(screen: Screen, host: str, interval: float) -> Iterator[Show]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from opsdist_cli.output.monitor import render

    events: list[Mapping[str, Any]] = []
    console = Console(no_color=not screen.colored(sys.stdout))
    live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)

    def show(sample: Mapping[str, Any]) -> None:
        events[:] = [*events, *sample["events"]][-10:]
        live.update(Text(render(host, interval, sample, events), no_wrap=True, overflow="crop"), refresh=True)

    try:
        with live:
            yield show
    except OSError as error:  # the terminal may be gone, which is no reason to lose a record
        if not nobody_reads(error, sys.stdout):
            raise
        discard(sys.stdout)
