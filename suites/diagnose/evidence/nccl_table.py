"""The table that nccl-tests (and rccl-tests) print: whether it came to its end, and whether values in it were wrong.

    #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
          524288        131072     float     sum      -1    663.1    0.79    0.79      0    569.4    0.92    0.92      0
    # Out of bounds values : 0 OK

The forms are those of src/common.cu of nccl-tests. May import: facts, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import NOBODY, Fact, Level, Seen, Trouble

_HEADER = re.compile(r"#\s{1,40}(size\s.*#wrong.*)")
_END = re.compile(r"Out of bounds values : (?P<number>\d{1,18}) ")
_SIZE = re.compile(r"\s*\d{1,15}\s")


@dataclass(slots=True)
class Table:
    """Of one source. Only the first wrong row is told."""

    wakes: tuple[str, ...] = ("#wrong", "Out of bounds values")
    awake: bool = False
    _wrong_at: tuple[int, ...] = ()
    """Columns of wrong values."""
    _width: int = 0
    _begun: Line | None = None
    _last: str = ""
    """Size of the last row."""
    _told: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        if found := _HEADER.search(line.text):
            columns = found[1].split()
            self._wrong_at = tuple(index for index, name in enumerate(columns) if name == "#wrong")
            self._width, self._begun, self.awake = len(columns), line, True
            yield Seen(line.place(), "table of nccl-tests")
        elif found := _END.search(line.text):
            if self._begun is None:
                yield Seen(line.place(), "table of nccl-tests")
            self._begun, self.awake = None, False
        elif self.awake and _SIZE.match(line.text):
            yield from self._row(line)

    def _row(self, line: Line) -> Iterable[Fact]:
        cells = line.text.split()
        if len(cells) != self._width:
            return
        self._last = cells[0]
        wrong = max((int(cell) for index in self._wrong_at if (cell := cells[index]).isdecimal()), default=0)
        if wrong and not self._told:
            self._told = True
            yield Trouble(
                NOBODY, line.place(), Level.INITIATING,
                f"{wrong} values were wrong after a collective of {cells[0]} bytes", "corrupt", (),
                ("run again with fewer ranks, to find the one",), "nccl_tests.wrong",
            )  # fmt: skip

    def end(self) -> Iterable[Fact]:
        if self._begun is not None:
            where = f"after {self._last} bytes" if self._last else "before its first row"
            yield Trouble(
                NOBODY, self._begun.place(), Level.TIMEOUT, f"the benchmark stops {where}",
                remedy=("stacks of all ranks while it hangs; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,COLL",),
                known_as="nccl_tests.stops",
            )  # fmt: skip
