"""Where words go: results to stdout, everything else to stderr, each with its own colour decision.

A reader that leaves early (`| head`) must not change the verdict, so a closed stdout is remembered and ignored, as is a
terminal that is gone.
May import: click; rich when a terminal is there.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

import click


@dataclass(slots=True)
class Screen:
    """The terminal as this run may use it."""

    verbosity: int = 0
    debug: bool = False
    color: bool | None = None
    reserved: bool = False
    """stdout belongs to a machine format: what would be printed for people is dropped."""

    def result(self, text: str) -> None:
        """A line of the result, for people."""
        if not self.reserved:
            self._write(sys.stdout, text)

    def machine(self, text: str) -> None:
        """The machine format that reserved stdout."""
        self._write(sys.stdout, text, newline=False)

    def note(self, text: str, *, level: int = 0) -> None:
        """A remark on stderr; shown from this verbosity on (-q is -1, -v is 1)."""
        if self.verbosity >= level:
            self._write(sys.stderr, text)

    @contextmanager
    def status(self) -> Iterator[Callable[[str], None]]:
        """Says what is being done, on a terminal, and is gone afterwards; with -v, a line each."""
        if self.verbosity >= 1 or not sys.stderr.isatty() or self.verbosity < 0:
            yield lambda text: self.note(f"# {text}", level=1)
            return
        from rich.console import Console

        console = Console(stderr=True, no_color=not self.colored(sys.stderr))
        with console.status("looking at this host") as status:
            yield status.update

    def colored(self, stream: TextIO) -> bool:
        """NO_COLOR, TERM=dumb and --no-color switch off; FORCE_COLOR on; else whatever the stream is."""
        if self.color is False or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()

    def _write(self, stream: TextIO, text: str, *, newline: bool = True) -> None:
        try:
            click.echo(text, file=stream, nl=newline, color=self.colored(stream))
        except OSError as error:
            if not nobody_reads(error, stream):
                raise
            discard(stream)


def tell_findings(screen: Screen, record: Mapping[str, Any]) -> None:
    """What a record found wrong, and what to do."""
    for finding in record["findings"]:
        if finding["status"] in ("fail", "error", "warn"):
            screen.note(f"opsdist: {finding['status']}: {finding['message']}", level=-1)
            if finding["remedy"]:
                screen.note(f"  {finding['remedy']}", level=-1)


def nobody_reads(error: OSError, stream: TextIO) -> bool:
    """Whether writing failed because the reader has left, or the terminal has."""
    gone = error.errno == errno.EIO and stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)
    return isinstance(error, BrokenPipeError) or gone


def discard(stream: TextIO) -> None:
    """From here on what is written to the stream, the interpreter's own flush at exit included, goes nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
