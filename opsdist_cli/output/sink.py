"""Destinations of records, tried before a run so that a bad path is found before any work is done.

May import: click, and from this package.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Mapping
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
        self._files: list[tuple[str, Path]] = []

    def add(self, name: str, path: str | None) -> None:
        """Send the record in format `name` to `path`; `-` is stdout. Raises click.BadParameter."""
        if path is None:
            return
        if path in ("-", "/dev/stdout"):
            if self._to_stdout:
                raise click.BadParameter("only one format can go to stdout", param_hint=f"--{name}")
            self._to_stdout.append(name)
            self._screen.reserved = True
            return
        target = writable(Path(path), f"--{name}")
        if any(target == other for _, other in self._files):
            raise click.BadParameter(f"{path} is written in another format already", param_hint=f"--{name}")
        self._files.append((name, target))

    def write(self, record: Mapping[str, Any]) -> None:
        """Write everywhere; a reader never sees half a record. Raises OSError."""
        for name in self._to_stdout:
            self._screen.machine(render(name, record))
        for name, target in self._files:
            text = render(name, record)
            try:
                put(target, text)
            except OSError as error:
                error.add_note(f"the record was not written to {target}")
                raise


def sinks(screen: Screen, **paths: str | None) -> Sinks:
    """`out = sinks(screen, json=path, junit=path) ... out.write(record)`."""
    opened = Sinks(screen)
    for name, path in paths.items():
        opened.add(name, path)
    return opened


def writable(path: Path, option: str) -> Path:
    """The file to `put` at, which could be written now. Raises click.BadParameter, which names the option."""
    try:
        target = _real(path)
        _try(target)
    except OSError as error:
        reason = f"cannot write {path}: {error.strerror}; name a file in a folder that exists and is writable"
        raise click.BadParameter(reason, param_hint=option) from None
    return target


def _real(target: Path) -> Path:
    """The file behind a link, so that the link stays one; devices and pipes as they were named."""
    return target if _special(target) else target.resolve()


def _special(target: Path) -> bool:
    """A device or a pipe: written to directly."""
    return target.exists() and not stat.S_ISREG(target.stat().st_mode)


def put(target: Path, text: str) -> None:
    """Write all of it; a reader never sees half. Raises OSError."""
    if _special(target):
        _put_directly(target, text)
        return
    staging = _beside(target)
    try:
        staging.write_text(text, encoding="utf-8")
        staging.replace(target)
    except OSError as error:  # which does not say where, or names a file that nobody knows
        raise OSError(error.errno, error.strerror, str(target)) from None
    finally:
        staging.unlink(missing_ok=True)


def _put_directly(target: Path, text: str) -> None:
    """Whoever reads a pipe may leave early, as from stdout."""
    try:
        with contextlib.suppress(BrokenPipeError):
            target.write_text(text, encoding="utf-8")
    except OSError as error:  # which does not say where
        raise OSError(error.errno, error.strerror, str(target)) from None


def _try(target: Path) -> None:
    """Whether the record could be written now. Leaves nothing. Raises OSError."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "permission denied")
    if not _special(target):
        _beside(target).unlink()


def _beside(target: Path) -> Path:
    """A new, empty file in the target's folder, with the mode a new file gets."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    mask = os.umask(0)
    os.umask(mask)
    os.fchmod(handle, 0o666 & ~mask)
    os.close(handle)
    return Path(name)
