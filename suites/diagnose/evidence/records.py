"""Where a record begins and whether it has come to its end: lines broken by force are joined, joined ones split.

May import: the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise

_BEGINS = re.compile(
    r"\s*(?:\[(?:rank\d|[EWIF]\d|[EWIF] |ERROR\]|WARNING\]|INFO\]|EVENT\]|DEBUG\]|PG |Rank \d|\d{4}-)"
    r"|[A-Za-z][\w.-]{0,100}:\d{1,8}:\d{1,8} \[|\d{4}-\d\d-\d\d|[EWIF]\d{4} |Traceback |File \""
    r"|what\(\):|terminate called|(?:srun|slurmstepd|mpirun|prterun): )"
)
"""What cannot be the rest of another line."""


def _balanced(text: str) -> bool:
    return text.count("(") <= text.count(")") and text.count("[") <= text.count("]")


ENDS: Mapping[str, Callable[[str], bool]] = {
    "Watchdog caught": lambda text: "before timing out" in text,
    "failure detected by watchdog at work": lambda text: re.search(r"completed (?:NCCL )?work: -?\d", text) is not None,
    "Timeout at NCCL work": lambda text: re.search(r"completed NCCL work: -?\d", text) is not None,
    "WorkNCCL(": _balanced,
    "WorkHCCL(": _balanced,
    "WorkXCCL(": _balanced,
    "CollectiveFingerPrint(": _balanced,
    " HCCL(": _balanced,
}
"""What is in records that get broken -> whether one is whole."""

_JOINED = (
    # a record of CANN's log behind another one
    re.compile(
        r"(?<=\S)[ \t]?(?=\[(?:ERROR|WARNING|INFO|EVENT|DEBUG)\] ?(?:HCCL|HCCP|ROCE|RUNTIME|TDT|DRV|GE|ASCENDCL)\()"
    ),
    # one of torch's
    re.compile(r"(?<=\S)[ \t]?(?=\[rank\d{1,7}\]: ?\[[EWIF]\d{0,4} )"),
    # one of NCCL's behind another of its own
    re.compile(
        r"(?<= )(?=[A-Za-z][\w.-]{0,63}:\d{1,8}:\d{1,8} \[\d{1,3}\] "
        r"(?:\S{1,200} (?:\(\w{1,80}\) )?)?NCCL (?:INFO|WARN) )"
    ),
)
_SAYS_NCCL = re.compile(r"NCCL (?:INFO|WARN) ")
_WORDS = frozenset((
    "caught", "collective", "operation", "timeout", "ran", "for", "milliseconds", "before", "timing", "out", "failure",
    "detected", "by", "watchdog", "at", "work", "sequence", "id", "status", "last", "enqueued", "completed", "started",
))  # fmt: skip


def begins(text: str) -> bool:
    return _BEGINS.match(text) is not None


def unfinished(text: str) -> bool:
    """It is of a kind that has an end, and has not come to it."""
    return any(mark in text and not whole(text) for mark, whole in ENDS.items())


def cut_off(text: str) -> bool:
    """Within its numbers: the last of them may be but a part of one."""
    return unfinished(text) and "ran for" not in text


def joined(text: str, rest: str) -> str:
    """A line and what stood on the next one. A break by force eats no blank, but one between words may have."""
    before, after = text.rsplit(None, 1)[-1:], rest.split(None, 1)[:1]
    words = bool(before and after) and before[0] in _WORDS and (after[0].strip(".,:") in _WORDS or after[0].isdecimal())
    apart = rest[:1].isalnum() and not text[-1:].isspace() and (words or text.endswith((",", ":", ".", ")")))
    return text + (" " if apart else "") + rest


def split(text: str) -> list[str]:
    """The records of a line, which is mostly one."""
    cuts: set[int] = set()
    if "(" in text and text.find("[", 1) > 0:
        cuts.update(found.end() for found in _JOINED[0].finditer(text))
    if "]:" in text:
        cuts.update(found.end() for found in _JOINED[1].finditer(text))
    if text.count("NCCL ") > 1:
        cuts.update(found.end() for found in _JOINED[2].finditer(text) if _SAYS_NCCL.search(text, 0, found.start()))
    if not cuts:
        return [text]
    edges = [0, *sorted(cuts - {0}), len(text)]
    return [text[start:end] for start, end in pairwise(edges) if text[start:end].strip()]
