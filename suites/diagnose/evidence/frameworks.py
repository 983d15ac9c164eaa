"""What frameworks around PyTorch say when they have waited in vain: SGLang, NVIDIA's resiliency extension, DeepEP.

The texts are those of SGLang's watchdogs, of rank_monitor_server.py, and of the kernels and the buffer of DeepEP.
May import: facts, known, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from suites.diagnose.evidence.known import Known
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, Group, Level, Trouble, Waiting, Who

_STACKS = ("`py-spy dump --nonblocking` of each process: which one is not in a collective",)
_GROUP = "DeepEP"
_SIGNAL = re.compile(r"DeepEP timeout check failed: rank = (?P<own>\d{1,3}), thread = (?P<on>\d{1,3}), value = -?\d")
_WORDS = "its expert-parallel kernel waited in vain for others"

ROWS = (
    Known("sglang.watchdog", "Watchdog timeout (", r"Watchdog timeout \(self\.watchdog", Level.TIMEOUT,
          "its scheduler made no step in time", remedy=_STACKS),
    Known("sglang.child", "Received sigquit from a child process", r"Received sigquit from a child process",
          Level.TEARDOWN, "SGLang ends the others after one has failed"),
    Known("nvrx.heartbeat", "heartbeat. Waited", r"Did not get (?:initial|subsequent) heartbeat\. Waited "
          r"(?P<seconds>[\d.]{1,12}) seconds", Level.TIMEOUT, "a monitor heard nothing of its rank for {seconds} s",
          remedy=_STACKS),
    Known("deepep.timeout", "DeepEP ", r"DeepEP (?:timeout for|error: (?:CPU recv )?timeout)", Level.TIMEOUT, _WORDS,
          remedy=_STACKS),
)  # fmt: skip


@dataclass(slots=True)
class DeepEp:
    """Each thread of a barrier's kernel watches the signal of one rank of its host: it says whose did not come."""

    wakes: tuple[str, ...] = ("DeepEP timeout check failed",)
    awake: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        found = _SIGNAL.search(line.text)
        if found is None:
            return
        place, who = line.place(), replace(line.who, group=_GROUP, group_rank=int(found["own"]))
        yield Group(_GROUP, place, _GROUP, least=max(int(found["own"]), int(found["on"])) + 1)
        yield Waiting(who, place, (Who(group=_GROUP, group_rank=int(found["on"])),), _GROUP, None, "barrier")
        yield Trouble(who, place, Level.TIMEOUT, _WORDS, remedy=_STACKS, known_as="deepep.timeout")

    def end(self) -> Iterable[Fact]:
        return ()
