"""Ends of processes, as launchers tell them: torchrun, srun, Open MPI, PRRTE, Hydra, containers.

May import: facts, line.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.known import people
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import NOBODY, Ended, Fact, Who

_BY_NAME = {
    "Killed": signal.SIGKILL,
    "Terminated": signal.SIGTERM,
    "Segmentation fault": signal.SIGSEGV,
    "Aborted": signal.SIGABRT,
    "Bus error": signal.SIGBUS,
    "Floating point exception": signal.SIGFPE,
    "Illegal instruction": signal.SIGILL,
}
_PATTERNS = (
    r"failed \(exitcode: (?P<code>-?\d{1,9})\) local_rank: (?P<local_rank>\d{1,9}) \(pid: (?P<pid>\d{1,9})\)",
    r"srun: error: (?P<host>[\w.-]+): task (?P<rank>\d{1,9}): Exited with exit code (?P<code>\d{1,9})",
    rf"srun: error: (?P<host>[\w.-]+): task (?P<rank>\d{{1,9}}): (?P<name>{'|'.join(_BY_NAME)})",
    r"process rank (?P<rank>\d{1,9}) with PID \d{1,9} on node (?P<host>[\w.-]+) exited on signal (?P<signal>\d{1,3})",
    r"MPI_ABORT was invoked on rank (?P<rank>\d{1,9}) in communicator MPI_?\w*[Ww][Oo][Rr][Ll][Dd]",
)
"""Only ends that name who ended."""
_EXITS = tuple(re.compile(pattern) for pattern in _PATTERNS)
_HOST = re.compile(r"^\s*host\s{1,20}: (?P<host>[\w.-]+)")
_RANK = re.compile(r"^\s*rank\s{1,20}: (?P<rank>\d{1,9}) \(local_rank: (?P<local_rank>\d{1,9})\)")
_CODE = re.compile(r"^\s*exitcode\s{1,20}: (?P<code>-?\d{1,9}) \(pid: (?P<pid>\d{1,9})\)")
_HYDRA = re.compile(r"PID (?P<pid>\d{1,9}) RUNNING AT (?P<host>[\w.-]+)")
_HYDRA_CODE = re.compile(r"EXIT CODE: (?P<code>\d{1,9})")
_BLOCK = (_HOST, _RANK, _HYDRA)


@dataclass(slots=True)
class Exits:
    """What a block says of one process is gathered until its code, by who wrote the block."""

    wakes: tuple[str, ...] = (
        "exitcode", "srun: error:", "exited on signal", "MPI_ABORT", "host  ", "rank  ", "RUNNING AT", "EXIT CODE:",
    )  # fmt: skip
    awake: bool = False
    _block: dict[Who, Who] = field(default_factory=dict)

    def feed(self, line: Line) -> Iterable[Fact]:
        for pattern in _EXITS:
            if found := pattern.search(line.text):
                yield _ended(line, merged(line.who, people(found)), found)
                return
        if found := _CODE.search(line.text) or _HYDRA_CODE.search(line.text):
            block = self._block.pop(line.who, None)
            who = merged(block or NOBODY, people(found))
            if who != NOBODY:
                yield _ended(line, who, found)
            return
        for pattern in _BLOCK:
            if found := pattern.search(line.text):
                # A block begins with the host: what was left open belongs to another process.
                before = NOBODY if pattern is not _RANK else self._block.get(line.who, NOBODY)
                self._block[line.who] = merged(before, people(found))
                return

    def end(self) -> Iterable[Fact]:
        return ()


def _ended(line: Line, who: Who, found: re.Match[str]) -> Ended:
    told = found.groupdict()
    if "code" in told:
        # Launchers written in Python give a signal as a negative code.
        code = int(told["code"])
        return Ended(_own(who), line.place(), None, -code) if code < 0 else Ended(_own(who), line.place(), code)
    if told.get("name"):
        return Ended(_own(who), line.place(), signal=int(_BY_NAME[told["name"]]))
    return Ended(_own(who), line.place(), signal=int(told["signal"]) if told.get("signal") else None)


def _own(who: Who) -> Who:
    """Without what belongs to no process."""
    return replace(who, group=None, group_rank=None)


def reader() -> Exits:
    """A new one."""
    return Exits()
