"""What Flux tells of a job: which task has ended first, what its tasks ended with, and why it ended them.

The texts are those of flux-core's job shell (doom, oom), of its job-exec and job-manager, and of `flux job attach`.
May import: exits, facts, known, line.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field

from suites.diagnose.evidence.exits import SIGNALS
from suites.diagnose.evidence.known import Known, people
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Ended, Fact, Level, Trouble, Who

_HOST = r"(?P<host>[\w.-]{1,255})"
_FIRST = re.compile(
    rf"\brank (?P<rank>\d{{1,9}}) on host {_HOST} (?:failed and exit-on-error is set|exited and exit-timeout=)"
)
_ALL = re.compile(
    rf"^flux-job: task\(s\) (?:(?P<name>{'|'.join(SIGNALS)})|exited with exit code (?P<code>\d{{1,3}}))\s*$"
)
_OF_PROGRAMS = frozenset((signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL))

ROWS = (
    Known("flux.start", "start failed: ", r"task \d{1,9}: start failed: (?P<file>\S{1,200}): (?P<why>[\w ]{1,60})",
          Level.INITIATING, "{file} cannot be run: {why}", "launch",
          remedy=("`ls -l` of the program on every node: same path, executable",)),
    Known("flux.oom", "Memory cgroup out of memory: killed", rf"out of memory: killed \d{{1,9}} tasks? on {_HOST}\.$",
          Level.INITIATING, "the kernel killed a task on {host} for want of memory", "resource", "host",
          ("fewer tasks or data loaders a node, or more nodes",)),
    Known("flux.lost", "lost contact with job shell", rf"lost contact with job shell on (?:broker )?{_HOST}",
          Level.TRANSPORT, "Flux has lost {host}", "transport", "host",
          ("`flux resource list` and `flux overlay status`, and whether {host} is up",)),
    Known("flux.shell", "job shell exec error", rf"job shell exec error on (?:broker )?{_HOST} \(rank \d{{1,9}}\)"
          r"(?:: (?P<why>.{1,100}))?", Level.INITIATING, "Flux could not start its job shell on {host}: {why}",
          "launch", "host", ("`flux dmesg` on {host}",)),
    Known("flux.no_nodes", "type=alloc", r"type=alloc severity=0 (?P<why>.{1,100})", Level.INITIATING,
          "Flux gives no nodes: {why}", "launch", remedy=("flux resource list",)),
    Known("flux.ended", "job.exception",
          r"job\.exception .{0,60}\btype=(?:timeout|cancel) severity=0 (?P<why>.{1,100})", Level.TEARDOWN,
          "Flux ended the job: {why}"),
    Known("flux.first_left", "timeout after first task exit", r"timeout after first task exit", Level.CASCADE,
          "a task has left, and others did not follow it in time: Flux does not tell which",
          remedy=("flux job eventlog -p exec JOB: its `shell.task-exit` names the task",)),
)  # fmt: skip


@dataclass(slots=True)
class FluxEnds:
    """Flux tells the first to end by its rank, and what the tasks ended with for all of them together."""

    wakes: tuple[str, ...] = ("exit-on-error is set", "exit-timeout=", "flux-job: task(s) ")
    awake: bool = False
    _first: dict[Who, Line] = field(default_factory=dict)

    def feed(self, line: Line) -> Iterable[Fact]:
        if found := _FIRST.search(line.text):
            self._first.setdefault(people(found), line)
        elif found := _ALL.match(line.text):
            number = _signal(found["name"], found["code"])
            if self._first:
                yield from self._ended(number if number in _OF_PROGRAMS else None)
            else:
                yield _of_nobody(line, number, found)

    def end(self) -> Iterable[Fact]:
        yield from self._ended(None)

    def _ended(self, number: int | None) -> Iterable[Fact]:
        """What all together ended with is the greatest of their codes: mostly that of those who were ended then."""
        for who, line in self._first.items():
            yield Ended(who, line.place(), signal=number if len(self._first) == 1 else None)
        self._first.clear()


def _signal(name: str | None, code: str | None) -> int | None:
    if name:
        return int(SIGNALS[name])
    number = int(code or 0) - 128
    return number if number > 0 else None


def _of_nobody(line: Line, number: int | None, found: re.Match[str]) -> Trouble:
    told = found["name"] or f"exit {found['code']}"
    what = f"Flux tells that a task ended with {told}, and not which"
    remedy = ("flux run -o exit-on-error, which names it; flux job eventlog -p exec JOB",)
    if number in _OF_PROGRAMS:
        return Trouble(line.who, line.place(), Level.INITIATING, what, "crashed", (), remedy, "flux.task")
    if number == signal.SIGKILL:
        return Trouble(line.who, line.place(), Level.TRANSPORT, what, "crashed", (), remedy, "flux.task")
    level = Level.TEARDOWN if number in (signal.SIGTERM, signal.SIGINT) else Level.CASCADE
    return Trouble(line.who, line.place(), level, what, None, (), remedy, "flux.task")
