"""What kubectl and operators tell of pods whose containers have ended: tables of pods, events, descriptions.

Pods that a Deployment has made are no ranks of a job, as their names show: operators and servers are such. Nor is the
launcher of an MPIJob, which ends because of a rank.
May import: facts, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Ended, Fact, Level, Subject, Trouble, Who

_ANY = r"(?P<host>[a-z\d][a-z\d.-]{0,252})"
_POD = rf"(?!\S{{1,200}}-[\da-f]{{8,10}}-[a-z\d]{{5}}\b|\S{{0,200}}-launcher\b){_ANY}"
_NAMESPACE = r"(?:(?!kube-|monitoring\s|\S{1,60}-system\s)[a-z\d][a-z\d-]{0,62}\s{1,60})?"
_SINCE = r"\s{1,40}\d{1,6}(?: \([^)]{1,30} ago\))?\s{1,40}\d{1,6}[smhdy]"
"""How often it has begun again, and for how long there is such a pod."""
_SHORT_ROW = re.compile(rf"^{_NAMESPACE}{_ANY}\s{{1,90}}\d{{1,3}}/\d{{1,3}}\s{{1,40}}(?:Init:)?OOMKilled{_SINCE}")
_ROW = re.compile(
    rf"^{_NAMESPACE}{_POD}\s{{1,90}}\d{{1,3}}/\d{{1,3}}\s{{1,40}}(?:Init:)?(?:CrashLoopBackOff|Error){_SINCE}"
)
_EVENTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\bBack-off restarting failed container \S{{1,253}} in pod {_POD}_[\w.-]{{1,253}}\(",
        rf"\bBackOff\s{{1,40}}pod/{_POD}\s{{1,40}}Back-off restarting failed container",
        rf"\bPod: [a-z\d-]{{1,63}}\.{_POD} exited with code (?P<code>\d{{1,3}})\b",
    )
)
_NAME = re.compile(rf"^Name:\s{{2,60}}{_ANY}\s*$")
_TERMINATED = re.compile(r"^\s{1,20}(?:State|Last State):\s{1,60}Terminated\s*$")
_REASON = re.compile(r"^\s{1,20}Reason:\s{1,60}(?P<reason>\w{1,40})\s*$")
_CODE = re.compile(r"^\s{1,20}Exit Code:\s{1,60}(?P<code>\d{1,3})\s*$")
_SHORT = "a container was killed for want of memory"
_LIMITS = ("requests and limits of the pod, against what its ranks and data loaders take",)
_MOST_LINES = 400
"""Of the description of a pod."""


@dataclass(slots=True)
class Pods:
    """A pod that is told several times is told once."""

    wakes: tuple[str, ...] = (
        "CrashLoopBackOff",
        "Error ",
        "OOMKilled",
        "Back-off restarting",
        " exited with code ",
        "Name:  ",
    )
    awake: bool = False
    _told: set[str | None] = field(default_factory=set)
    _described: str | None = None
    _terminated: bool = False
    _lines: int = 0

    def feed(self, line: Line) -> Iterable[Fact]:
        text = line.text
        if found := _SHORT_ROW.match(text):
            yield from self._short(line, found["host"])
        elif found := _ROW.match(text):
            yield from self._ended(line, found["host"], None)
        elif found := next((found for pattern in _EVENTS if (found := pattern.search(text))), None):
            code = found.groupdict().get("code")
            yield from self._ended(line, found["host"], int(code) if code else None)
        elif (found := _REASON.match(text)) and found["reason"] == "OOMKilled":
            yield from self._short(line, self._described)
        elif found := _NAME.match(text):
            self._described, self._terminated, self._lines, self.awake = found["host"], False, 0, True
        elif self._described is not None:
            yield from self._within(line, self._described)

    def end(self) -> Iterable[Fact]:
        return ()

    def _within(self, line: Line, pod: str) -> Iterable[Fact]:
        self._lines += 1
        if _TERMINATED.match(line.text):
            self._terminated = True
        elif self._terminated and (found := _CODE.match(line.text)):
            self._terminated = False
            yield from self._ended(line, pod, int(found["code"]))
        if self._lines > _MOST_LINES:
            self._described, self.awake = None, False

    def _short(self, line: Line, pod: str | None) -> Iterable[Fact]:
        if pod in self._told:
            return
        who, about = (Who(host=pod), (Subject("host", Who(host=pod)),)) if pod else (line.who, ())
        self._told |= {pod} - {None}
        yield Trouble(who, line.place(), Level.INITIATING, _SHORT, "resource", about, _LIMITS, "kubernetes.oom")

    def _ended(self, line: Line, pod: str, code: int | None) -> Iterable[Fact]:
        if pod not in self._told and code != 0:
            self._told.add(pod)
            yield Ended(Who(host=pod), line.place(), code)
