"""Signals that libraries catch in a process and tell of before it ends: UCX, and Open MPI.

    [node01:4711:0:4733] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x48)
    [node01:04711] Signal: Segmentation fault (11)

The forms are those of ucs_handle_error of UCX (src/ucs/debug/debug.c) and of opal_util_register_stackhandlers.
May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_FAULTS = "Segmentation fault|Bus error|Floating point exception|Illegal instruction"
_WHY = ("the lines of its stack that follow: which library; the core file",)

ROWS = (
    Known("ucx.signal", "Caught signal",
          rf"\[(?P<host>[\w.-]{{1,255}}):0*(?P<pid>[1-9]\d{{0,9}}):\d{{1,5}}:\d{{1,10}}\] "
          rf"Caught signal \d{{1,3}} \((?P<why>{_FAULTS})", Level.INITIATING, "its process broke down: {why}",
          "crashed", "speaker", _WHY),
    Known("openmpi.signal", "] Signal: ", rf"\[(?P<host>[\w.-]{{1,255}}):0*(?P<pid>[1-9]\d{{0,9}})\] Signal: "
          rf"(?P<why>{_FAULTS}) \(", Level.INITIATING, "its process broke down: {why}", "crashed", "speaker", _WHY),
)  # fmt: skip
