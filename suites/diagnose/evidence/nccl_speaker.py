"""Who says a line of NCCL's (or RCCL's) log, and what: the prefix in all its generations.

    node01:4711:4720 [3] NCCL INFO ...            node01:4711:4720 [3] transport/net_ib.cc:839 NCCL WARN ...
    [2026-01-31 12:00:00] node01:4711:4720 [3] misc/shmutils.cc:88 (ncclShmOpen) NCCL WARN ...

The forms are those of ncclDebugLog in NCCL's src/debug.cc. May import: facts, line.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import Who

WAKES = ("NCCL INFO", "NCCL WARN", "NCCL TRACE", "] INFO ", " WARN ")
_PREFIX = re.compile(
    r"(?:(?<![\w.-])(?P<host>[\w.-]{1,255}):(?P<pid>\d{1,10}):(?P<thread>\d{1,10}) )?"
    r"(?:\[(?P<device>\d{1,4})\] )?"
    r"(?:(?<![\w./+-])(?P<source>[\w./+-]{1,300}):\d{1,6} )?(?:\(\w{1,80}\) )?"
    r"(?P<name>NCCL )?(?P<level>INFO|WARN|TRACE) $"
)
_LEVEL = re.compile(r"(?P<level>INFO|WARN|TRACE) (?P<words>.*)")
_LONGEST_PREFIX = 1000
"""More than _PREFIX can match."""


class Speech(NamedTuple):
    """What a process says: `line` is without the prefix, and its `who` is the speaker."""

    line: Line
    warns: bool
    source: str = ""
    """File of NCCL's source that says it, without its folder and ending."""


def speech(line: Line) -> Speech | None:
    """The line as NCCL's; None where it is not."""
    level = _LEVEL.search(line.text)
    told = _speaker(line.text[: level.start("words")][-_LONGEST_PREFIX:]) if level else None
    if level is None or told is None:
        return None
    speaker, source = told
    who = merged(line.who, speaker)
    return Speech(Line(level["words"], line.number, line.file, who, line.time), level["level"] == "WARN", source)


@lru_cache(4096)
def _speaker(prefix: str) -> tuple[Who, str] | None:
    """Whom a prefix names, its level included, and the source; None where it is not NCCL's. A log has few, before many
    lines."""
    found = _PREFIX.search(prefix)
    if found is None or not (found["name"] or found["thread"]):
        return None
    who = Who(
        host=found["host"] or None,
        pid=int(found["pid"]) if found["pid"] else None,
        device=f"gpu{int(found['device'])}" if found["device"] else None,
    )
    return who, (found["source"] or "").rpartition("/")[2].partition(".")[0]
