"""The error stack that MPICH prints below its sentence of a fatal error: why a call failed stands at its end.

    Abort(1681039) on node 18 (rank 18 in comm 0): Fatal error in PMPI_Wait: Other MPI error, error stack:
    MPIDI_OFI_handle_cq_error(1008): OFI poll failed (ofi_events.h:1008:...:Transport retry counter exceeded)

The forms are those of MPICH's errutil.c and ofi_events.c, of Intel MPI and of HPE's Cray MPICH.
May import: facts, line, mpi, known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from suites.diagnose.evidence.known import people
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.evidence.mpi import FABRIC, FATAL
from suites.diagnose.facts import Fact, Level, Subject, Trouble, Who

_HEAD = re.compile(FATAL)
_POLL = re.compile(
    r"OFI poll failed \(.{1,80}?:(?P<why>(?:Transport retry counter exceeded|No route to host|Connection timed out|"
    r"Host is unreachable|Input/output error - (?:UNDELIVERABLE|\w{0,40}TIMEOUT))[^)]{0,60})\)"
)
_MOST_LINES = 24


@dataclass(slots=True)
class ErrorStacks:
    """By who prints. Whose it is stands at the beginning."""

    wakes: tuple[str, ...] = ("Fatal error in ",)
    awake: bool = False
    _open: dict[Who, tuple[Who, int]] = field(default_factory=dict)

    def feed(self, line: Line) -> Iterable[Fact]:
        if found := _HEAD.search(line.text):
            self._open[line.who] = merged(line.who, people(found)), 0
        elif (within := self._open.get(line.who)) is not None:
            who, lines = within
            self._open[line.who] = who, lines + 1
            if found := _POLL.search(line.text):
                what = f"a message of it did not come through: {found['why']}"
                about = (Subject("link", who),)
                yield Trouble(who, line.place(), Level.TRANSPORT, what, "transport", about, FABRIC, "mpich.poll")
            if found or lines >= _MOST_LINES:
                del self._open[line.who]
        self.awake = bool(self._open)

    def end(self) -> Iterable[Fact]:
        return ()
