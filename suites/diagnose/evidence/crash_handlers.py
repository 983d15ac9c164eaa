"""Signals of a process that others tell of before its launcher does: UCX, Open MPI, the kernel, the C library, shells.

    [node01:4711:0:4733] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x48)
    [node01:04711] Signal: Segmentation fault (11)

The forms are those of ucs_handle_error of UCX (src/ucs/debug/debug.c), of opal_util_register_stackhandlers,
of malloc_printerr and __assert_fail, and of bash.
May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_FAULTS = "Segmentation fault|Bus error|Floating point exception|Illegal instruction"
_HEAP = (
    r"double free or corruption \(|malloc\(\): |free\(\): invalid|realloc\(\): invalid|munmap_chunk\(\): invalid|"
    r"corrupted (?:size vs\. prev_size|double-linked list)|\*\*\* (?:stack smashing|buffer overflow) detected \*\*\*"
)
"""What glibc finds when memory is handed back, and ends the process for."""
_WHY = ("the lines of its stack that follow: which library; the core file",)

_PROGRAM = r"\b(?:python[\d.]{0,6}|pt_\w{1,13})\[(?P<pid>\d{1,9})\]"
"""Python or a thread that torch has named, as the kernel tells it: others of a host may be of no job."""

ROWS = (
    Known("kernel.segfault", "]: segfault at ",
          rf"{_PROGRAM}: segfault at .{{0,160}}?(?: in (?P<why>[\w.+-]{{1,80}})|$)", Level.INITIATING,
          "its process broke down: Segmentation fault in {why}", "crashed", "speaker", _WHY),
    Known("kernel.segfault", " general protection", rf"traps: {_PROGRAM} general protection",
          Level.INITIATING, "its process broke down: general protection fault", "crashed", "speaker", _WHY),
    *(Known("glibc.heap", wakes, rf"^(?:{_HEAP})", Level.INITIATING,
            "its process broke down: its memory was overwritten", "crashed", "speaker", _WHY)
      for wakes in ("double free or", "()", "corrupted ", " detected ***")),
    Known("glibc.assertion", "Assertion ",
          r"^\S{1,99}: \S{1,300}:\d{1,6}: .{1,300}: Assertion [`'](?P<why>.{1,120})' failed", Level.INITIATING,
          "its process broke down: `{why}` is not so", "crashed", "speaker", _WHY),
    Known("shell.signal", "(core dumped)", rf"^(?P<why>{_FAULTS}) \(core dumped\)\s*$", Level.INITIATING,
          "a process broke down: {why}", "crashed", "speaker", _WHY),
    Known("ucx.signal", "Caught signal",
          rf"\[(?P<host>[\w.-]{{1,255}}):0*(?P<pid>[1-9]\d{{0,9}}):\d{{1,5}}:\d{{1,10}}\] "
          rf"Caught signal \d{{1,3}} \((?P<why>{_FAULTS})", Level.INITIATING, "its process broke down: {why}",
          "crashed", "speaker", _WHY),
    Known("openmpi.signal", "] Signal: ", rf"\[(?P<host>[\w.-]{{1,255}}):0*(?P<pid>[1-9]\d{{0,9}})\] Signal: "
          rf"(?P<why>{_FAULTS}) \(", Level.INITIATING, "its process broke down: {why}", "crashed", "speaker", _WHY),
)  # fmt: skip
