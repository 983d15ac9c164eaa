"""What XLA, the compiler and run-time below JAX, says of devices that wait for each other, of memory, and of peers.

Threads of one process, each with its device, meet before a collective; who waits for more than some seconds says so.
The texts are those of xla/service/rendezvous.cc, xla/pjrt/distributed/client.h, and of the coordination service.
May import: facts, known, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from suites.diagnose.evidence.known import Known
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, Level, Trouble, Who

_WAITS = re.compile(r"This thread has been waiting for `(?P<what>[^`]{1,400})` for (?P<seconds>\d{1,9}) seconds")
_ENDS = re.compile(r"Termination timeout for `(?P<what>[^`]{1,400})` of (?P<seconds>\d{1,9}) seconds exceeded")
_ALL_CAME = "threads joined the rendezvous"
_GOES_ON = "Thread is unstuck!"
_MOST = 4096
_REMEDY = (
    "`py-spy dump --nonblocking` of all processes: which device's thread is not in the collective",
    "the first compilation and slow loading end by themselves: whether steps follow",
)


@dataclass(slots=True)
class Rendezvous:
    """Reads them. Who goes on again was but slow, and it is not told which of a process's threads that is."""

    wakes: tuple[str, ...] = ("This thread has been waiting for `", "Termination timeout for `", _GOES_ON)
    awake: bool = False
    _waiting: dict[Who, list[Trouble]] = field(default_factory=dict)

    def feed(self, line: Line) -> Iterable[Fact]:
        waiting = self._waiting.setdefault(line.who, []) if len(self._waiting) < _MOST else []
        found = _ENDS.search(line.text)
        if found or _GOES_ON in line.text:
            del waiting[:1]
        if found:
            yield _trouble(line, found, "it ends its process")
        elif (found := _WAITS.search(line.text)) and len(waiting) < _MOST:
            waiting.append(_trouble(line, found, "and goes on to wait"))

    def end(self) -> Iterator[Fact]:
        for waiting in self._waiting.values():
            yield from waiting


def _trouble(line: Line, found: re.Match[str], then: str) -> Trouble:
    what = re.split(r"[;\s]{1,3}(?:clique|run_id)=", found["what"])[0][:80]
    missing = "all have come, and their leader does not go on" if _ALL_CAME in line.text else "not all came"
    words = f"a thread of XLA waited {found['seconds']} s in `{what}`, {then}: {missing}"
    return Trouble(line.who, line.place(), Level.TIMEOUT, words, remedy=_REMEDY, known_as="xla.rendezvous")


ROWS = (
    Known(
        "xla.memory", "RESOURCE_EXHAUSTED",
        r"RESOURCE_EXHAUSTED: (?:.{0,200}\b[Oo]ut of memory|.{0,200}[Rr]an out of memory|Failed to allocate)",
        Level.INITIATING, "the memory of its device is full", "resource", "speaker",
        ("`nvidia-smi` there: other processes on the device; XLA_PYTHON_CLIENT_MEM_FRACTION; then a smaller batch",),
    ),
    Known(
        "jax.incarnation", "tried to connect with a different incarnation",
        r"(?:/task:|\b)(?P<rank>\d{1,7}) unexpectedly tried to connect with a different incarnation", Level.TRANSPORT,
        "task {rank} of JAX has come a second time: it was started again, or another job speaks to the same "
        "coordinator", "crashed", "speaker",
        ("why task {rank} ended before it was started again (preemption, eviction, an error of its own)",
         "whether two jobs use one coordinator address and port"),
    ),
    Known(
        "jax.leader_gone", "Failed to send RPC to coordination service",
        r"Failed to send RPC to coordination service", Level.CASCADE,
        "the coordinator, in the process of task 0, does not answer any more",
        remedy=("why the process of task 0 has ended, or what lies between",),
    ),
    Known(
        "jax.terminating", "the JAX distributed service detected fatal errors",
        r"the JAX distributed service detected fatal errors", Level.TEARDOWN,
        "it ends its process, since another one has failed",
    ),
    Known(
        "jax.preempted", "preemption_notifier.cc", r"preemption_notifier\.cc:\d{1,6}\] SIGTERM caught", Level.TEARDOWN,
        "it was told to end: preemption, eviction or the end of the job",
    ),
)  # fmt: skip
"""Of memory, and of tasks that others lose."""
