"""Destinations of records, opened before a run so that a bad path is found before any work is done.

May import: click, and from this package.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from opsdist_cli.output import render
from opsdist_cli.screen import Screen


class Sinks:
    """The files (and perhaps stdout) that one run writes its record to."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._to_stdout: list[str] = []
        self._files: list[tuple[str, Path, Path]] = []
        """(format, what is written, where it ends up): a reader never sees half a record."""

    def add(self, name: str, path: str | None) -> None:
        """Send the record in format `name` to `path`; `-` is stdout. Raises click.BadParameter."""
        if path is None:
            return
        if path == "-":
            if self._to_stdout:
                raise click.BadParameter("only one format can go to stdout", param_hint=f"--{name}")
            self._to_stdout.append(name)
            self._screen.reserved = True
            return
        target = Path(path)
        try:
            self._files.append((name, _staging(target), target))
        except OSError as error:
            reason = f"cannot write {path}: {error.strerror}; name a file in a folder that exists and is writable"
            raise click.BadParameter(reason, param_hint=f"--{name}") from None

    def write(self, record: Mapping[str, Any]) -> None:
        for name in self._to_stdout:
            self._screen.machine(render(name, record))
        for name, staging, target in self._files:
            staging.write_text(render(name, record), encoding="utf-8")
            if staging != target:
                staging.replace(target)

    def discard(self) -> None:
        """Remove what was opened and never written."""
        for _, staging, target in self._files:
            if staging != target:
                staging.unlink(missing_ok=True)


@contextmanager
def sinks(screen: Screen, **paths: str | None) -> Iterator[Sinks]:
    """`with sinks(screen, json=path, junit=path) as out: ... out.write(record)`."""
    opened = Sinks(screen)
    try:
        for name, path in paths.items():
            opened.add(name, path)
        yield opened
    finally:
        opened.discard()


def _staging(target: Path) -> Path:
    """A new file beside the target, or the target itself where it is a device or a pipe."""
    if target.is_dir():
        raise IsADirectoryError(21, "it is a folder")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        return target
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(13, "permission denied")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    mask = os.umask(0)
    os.umask(mask)
    os.fchmod(handle, 0o666 & ~mask)
    os.close(handle)
    return Path(name)
