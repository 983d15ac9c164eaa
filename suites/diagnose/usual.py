"""Where dumps and logs of jobs usually lie, and which of these places have some. May import: the standard library.

Places are those of PyTorch (torch/csrc/distributed/c10d, TORCH_FR_DUMP_TEMP_FILE and its older name), NCCL's user guide
(NCCL_DEBUG_FILE), CANN's log reference (ASCEND_PROCESS_LOG_PATH) and opsdist's own runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import escape, glob
from itertools import islice
from pathlib import Path

_TORCH_PREFIXES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_TORCH_PREFIX = "/tmp/nccl_trace_rank_"
_MOST_FILES = 10_000
"""Counted in one place."""


@dataclass(frozen=True, slots=True)
class Place:
    """A kind of evidence and the patterns of the files that it lies in."""

    what: str
    pattern: str
    folder: str = ""
    """What is read as a whole, where that is a folder."""


@dataclass(frozen=True, slots=True)
class Found:
    """Files of one place, and the command that reads them."""

    what: str
    files: int
    command: str


def places(environ: Mapping[str, str]) -> list[Place]:
    """Of the job whose environment this is, or that has run where it is set likewise."""
    home = environ.get("HOME", "")
    found = [
        Place("PyTorch flight recorder dumps", f"{escape(prefix)}*")
        for prefix in dict.fromkeys([environ[name] for name in _TORCH_PREFIXES if environ.get(name)] + [_TORCH_PREFIX])
    ]
    if path := environ.get("NCCL_DEBUG_FILE"):
        # %h and %p stand for host and process.
        found.append(Place("NCCL logs", "*".join(escape(part) for part in re.split(r"%[hp]", path))))
    ascend = environ.get("ASCEND_PROCESS_LOG_PATH") or (home and f"{home}/ascend/log")
    if ascend:
        found.append(Place("Ascend logs", f"{escape(ascend)}/**/*.log", ascend))
    state = environ.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):  # a relative one is none, says the specification
        state = home and f"{home}/.local/state"
    if state:
        found.append(Place("records of opsdist's own runs", f"{escape(state)}/opsdist/*/*.ring", f"{state}/opsdist"))
    return found


def look(wanted: Sequence[Place]) -> list[Found]:
    """The places that have any. What cannot be read is as if it were not there."""
    found = []
    for place in wanted:
        names = list(
            islice((name for name in glob(place.pattern, recursive=True) if Path(name).is_file()), _MOST_FILES)
        )
        if names:
            found.append(Found(place.what, len(names), command(place, names)))
    return found


def command(place: Place, names: Sequence[str]) -> str:
    """That reads what was found there, as it could be typed."""
    prefix = re.sub(r"\[(.)\]", r"\1", place.pattern.partition("*")[0])
    plain = shlex.quote(prefix) == prefix
    many = f"{prefix}*" if plain else shlex.quote(str(Path(names[0]).parent))
    return f"opsdist diagnose deadlock {shlex.quote(place.folder) if place.folder else many}"
