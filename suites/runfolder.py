"""The folder of a run: what its ranks have recorded, and beside it what run it was, for `opsdist diagnose deadlock`.

It is one that the user names, or one of the last runs in the user's state folder (XDG Base Directory Specification),
of which the oldest go. Nobody's work depends on it: what cannot be written is told, and that is all.
May import: the standard library, errors.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from suites.errors import UsageError

RUN = "run.json"
_KEPT = 20
_ABANDONED_SECONDS = 3600.0
_NAME = "%Y%m%dT%H%M%SZ"
_OURS = re.compile(r"\d{8}T\d{6}Z-\d{1,10}")
"""Names of runs: nothing else in the state folder is ever removed."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is told beside the rings. `hosts` are by rank, `started` as ISO 8601 writes it. `faults` are in words, and
    `reports` are those of ranks as they were seen. `moving` are ranks that were going on when they were looked at, so
    that what they were in shows nothing."""

    command: Sequence[str]
    started: str
    hosts: Sequence[str]
    pids: Mapping[int, int]
    faults: Sequence[str]
    moving: Sequence[int] = ()
    reports: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Why there is no folder, for people."""

    reason: str


def named(folder: str) -> Path:
    """The folder that the user wants, made now, before anything runs. Raises UsageError where it cannot be made or
    holds something already."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise UsageError(f"--record {folder}: the folder is not empty; give a new one")
    except OSError as error:
        raise UsageError(f"--record {folder}: {error.strerror}") from None
    return path


def state(environ: Mapping[str, str]) -> Path:
    """Where runs are kept. A relative XDG_STATE_HOME is none, says the specification. Raises RuntimeError where there
    is no home."""
    base = environ.get("XDG_STATE_HOME", "")
    if not base.startswith("/"):
        base = f"{environ.get('HOME') or Path.home()}/.local/state"
    return Path(base, "opsdist")


def kept(environ: Mapping[str, str], run: Run, rings: Mapping[int, bytes], now: datetime, pid: int) -> Path | Unwritten:
    """Write a run to the state folder, and remove the oldest there but for the newest 20."""
    try:
        home = state(environ)
    except RuntimeError as error:
        return Unwritten(f"what the ranks recorded cannot be kept: {error}")
    found = write(home / f"{now.astimezone(UTC).strftime(_NAME)}-{pid}", run, rings)
    if isinstance(found, Path):
        _prune(home, found)
    return found


def write(folder: Path, run: Run, rings: Mapping[int, bytes]) -> Path | Unwritten:
    """The rings and RUN, which comes last: a folder without it is not whole."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for rank, data in rings.items():
            (folder / f"rank-{rank}.ring").write_bytes(data)
        (folder / RUN).write_text(json.dumps(asdict(run), indent=2) + "\n")
    except OSError as error:
        return Unwritten(f"what the ranks recorded cannot be kept in {folder}: {error.strerror}")
    return folder


def _prune(home: Path, own: Path) -> None:
    """Runs of other processes may come and go meanwhile, and those that are being written stay."""
    names = sorted((path for path in _runs(home) if path != own), reverse=True)
    for path in names[_KEPT - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def _runs(home: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for path in home.iterdir():
            if _OURS.fullmatch(path.name) and path.is_dir() and not path.is_symlink() and _at_rest(path):
                yield path


def _at_rest(path: Path) -> bool:
    """Whole, or given up by who began to write it."""
    try:
        return (path / RUN).exists() or time.time() - path.stat().st_mtime > _ABANDONED_SECONDS
    except OSError:
        return False
