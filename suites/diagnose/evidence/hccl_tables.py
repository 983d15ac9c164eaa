"""What HCCL says of the rank table it was given: the file, and the ranks of which it speaks.

May import: facts, line, hccl_speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from suites.diagnose.evidence.hccl_speech import Processes
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, Level, Subject, Trouble, Who

_PATH = re.compile(r"path (?P<file>/?[^\s\[\],]{1,300}) is not a valid real path")
_FAULTS = (
    (re.compile(r"super_device_id ?\[[^\]]{0,80}\] is invalid"), "a super_device_id of the rank table is none"),
    (re.compile(r"rank\[(?P<rank>\d{1,7})\] device ip family ?\[\d{1,3}\] is not same"),
     "rank {rank} has an address of another family than the others in the rank table"),
    (re.compile(r"the IP address ?\((?P<table>[^)]{1,80})\) in the ranktable is inconsistent with the IP address ?"
                r"\((?P<own>[^)]{1,80})\)"), "the rank table has {table}, and the NPU {own}"),
    (re.compile(r"devices have same superDeviceId"), "the rank table has one super_device_id twice"),
)  # fmt: skip
_REMEDY = ("hccn_tool -i N -ip -g", "make the rank table anew from the hosts' /etc/hccn.conf, and give it to all hosts")


def path(line: Line, processes: Processes) -> Iterable[Fact]:
    """The file is not there."""
    if found := _PATH.search(line.text):
        yield _trouble(line, f"there is no rank table {found['file']}", Subject("file", file=found["file"]))


def fault(line: Line, processes: Processes) -> Iterable[Fact]:
    """What is wrong in it."""
    for pattern, what in _FAULTS:
        if found := pattern.search(line.text):
            rank = found.groupdict().get("rank")
            about = (Subject("rank", Who(rank=int(rank))),) if rank else ()
            yield _trouble(line, what.format(**found.groupdict()), *about)
            return


def _trouble(line: Line, what: str, *about: Subject) -> Trouble:
    return Trouble(line.who, line.place(), Level.INITIATING, what, "config", about, _REMEDY, "hccl.rank_table")


HANDLERS = (
    ("is not a valid real path", path),
    ("super_device_id", fault),
    ("device ip family", fault),
    ("in the ranktable is inconsistent", fault),
    ("same superDeviceId", fault),
)
