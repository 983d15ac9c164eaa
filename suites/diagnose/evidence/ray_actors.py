"""What Ray tells of an actor that has died, in lines of `name: value` below a sentence.

The form is that of ActorDiedError in python/ray/exceptions.py, and the reasons are those of its GCS and raylet.
May import: facts, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import NOBODY, Fact, Level, Subject, Trouble, Who

_HEAD = "The actor died unexpectedly before finishing this task"
_FIELD = re.compile(r"^\s{0,9}(?P<name>pid|ip): (?P<value>[\w.:]{1,60})\s*$")
_OTHER = re.compile(r"^\s{0,9}(?:class_name|actor_id|namespace|name|repr): ")
_WORKER = re.compile(r"its worker process has died\.(?: Worker exit type: (?P<kind>[A-Z_]{1,40}))?")
_NODE = "The actor died because its node has died"
_BADLY = frozenset((None, "SYSTEM_ERROR", "USER_ERROR", "NODE_OUT_OF_MEMORY"))
_WHY = ("the worker's log in /tmp/ray/session_latest/logs, `dmesg | grep -i oom` on its host",)
_MOST_LINES = 12


@dataclass(slots=True)
class RayActors:
    """By speaker. What it does not follow to its reason proves nothing."""

    wakes: tuple[str, ...] = (_HEAD,)
    awake: bool = False
    _open: dict[Who, tuple[Who, int]] = field(default_factory=dict)

    def feed(self, line: Line) -> Iterable[Fact]:
        if _HEAD in line.text:
            self._open[line.who] = NOBODY, 0
        elif (within := self._open.get(line.who)) is not None:
            actor, lines = within
            self._open[line.who] = actor, lines + 1
            if found := _FIELD.match(line.text):
                told = replace(actor, pid=int(found["value"])) if found["name"] == "pid" else None
                self._open[line.who] = told or replace(actor, address=found["value"]), lines + 1
            elif not _OTHER.match(line.text):
                yield from _died(line, actor)
                del self._open[line.who]
            elif lines > _MOST_LINES:
                del self._open[line.who]
        self.awake = bool(self._open)

    def end(self) -> Iterable[Fact]:
        return ()


def _died(line: Line, actor: Who) -> Iterable[Fact]:
    if _NODE in line.text and actor.address:
        host = Who(address=actor.address)
        what = f"its node {actor.address} is gone for Ray"
        remedy = (f"whether {actor.address} is up, and its raylet.out in /tmp/ray/session_latest/logs",)
        about = (Subject("host", host),)
        yield Trouble(host, line.place(), Level.TRANSPORT, what, "transport", about, remedy, "ray.actor_node")
    elif (found := _WORKER.search(line.text)) and found["kind"] in _BADLY and actor != NOBODY:
        what = f"a worker of Ray has died{': ' + found['kind'] if found['kind'] else ''}"
        about = (Subject("rank", actor),)
        yield Trouble(actor, line.place(), Level.INITIATING, what, "crashed", about, _WHY, "ray.actor_worker")
