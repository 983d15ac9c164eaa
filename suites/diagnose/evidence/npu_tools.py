"""Answers of hccn_tool and npu-smi that people put beside a log: a port that is down, TLS that differs, a sick NPU.

What all NPUs of a host show says nothing: ports that nothing is plugged into are down on many single servers.
May import: facts, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, Level, Subject, Trouble, Who

_PROMPT = re.compile(r"^\[?[\w.-]{1,32}@(?P<host>[A-Za-z][\w.-]{0,100})[ :\]]")
_ASKED = re.compile(r"hccn_tool -i (?P<device>\d{1,3})\b")
_LOOP = re.compile(r"\bfor \w{1,20} in (?:\{0\.\.\d{1,3}\}|\$?\(?`?seq 0 \d|0 1 2)")
_LINK = re.compile(r"(?:\[dev(?:id|ice) (?P<device>\d{1,3})\] ?)?\blink status: ?(?P<state>UP|DOWN)\b", re.IGNORECASE)
_TLS = re.compile(r"\btls switch\[(?P<state>[01])\]")
_HEALTH = re.compile(
    r"^\|\s{1,4}(?P<device>\d{1,3})\s{1,8}(?:Ascend ?)?[39]\d{2}\w{0,8}\s{1,24}\|\s{1,4}"
    r"(?P<state>OK|Warning|Alarm|Critical|UNKNOWN)\b"
)
_SICK = ("Alarm", "Critical")
_MOST = 4096


@dataclass(slots=True)
class _Answers:
    """`device` is asked at present; with `counts` one after the other is, from 0 on."""

    host: str | None = None
    device: int | None = None
    counts: bool = False
    links: list[tuple[Line, Who, str]] = field(default_factory=list)
    health: list[tuple[Line, Who, str]] = field(default_factory=list)
    tls: list[tuple[Line, str]] = field(default_factory=list)

    def who(self, line: Line, device: int | None) -> Who:
        return Who(host=self.host or line.who.host, device=None if device is None else f"npu{device}")


@dataclass(slots=True)
class NpuTools:
    """Gathers them, since only together they tell."""

    wakes: tuple[str, ...] = ("hccn_tool", "link status", "tls switch[", "| OK", "| Alarm", "| Critical", "| Warning")
    awake: bool = False
    _told: _Answers = field(default_factory=_Answers)

    def feed(self, line: Line) -> Iterable[Fact]:
        told, text = self._told, line.text
        if "hccn_tool" in text:
            prompt, asked = _PROMPT.match(text), _ASKED.search(text)
            told.host = prompt["host"] if prompt else None
            told.counts = _LOOP.search(text) is not None
            told.device = int(asked["device"]) if asked else 0 if told.counts else None
        elif (found := _LINK.search(text)) and len(told.links) < _MOST:
            device = int(found["device"]) if found["device"] else told.device
            told.links.append((line, told.who(line, device), found["state"].upper()))
            told.device = device + 1 if told.counts and device is not None else None
        elif (found := _HEALTH.match(text)) and len(told.health) < _MOST:
            told.health.append((line, Who(host=line.who.host, device=f"npu{found['device']}"), found["state"]))
        elif (found := _TLS.search(text)) and len(told.tls) < _MOST:
            told.tls.append((line, found["state"]))
        return ()

    def end(self) -> Iterable[Fact]:
        told = self._told
        yield from _odd(
            told.links,
            ("DOWN",),
            "the network port of the NPU is down",
            "npu.link_down",
            ("hccn_tool -i N -optical -g", "hccn_tool -i N -link_stat -g"),
        )
        yield from _odd(
            told.health,
            _SICK,
            "the NPU is not healthy",
            "npu.health",
            ("npu-smi info -t health -i N", "dmesg | grep -i -e devdrv -e hdc"),
        )
        if len({state for _, state in told.tls}) > 1:
            line = told.tls[0][0]
            what = "TLS is on for some NPUs, and off for others"
            remedy = ("hccn_tool -i N -tls -g on all hosts", "hccn_tool -i N -tls -s enable 0 where it is on")
            yield Trouble(line.who, line.place(), Level.TRANSPORT, what, "config", (), remedy, "npu.tls")


def _odd(
    answers: list[tuple[Line, Who, str]], bad: tuple[str, ...], what: str, name: str, remedy: tuple[str, ...]
) -> Iterator[Trouble]:
    """Those that are bad where others are not, or of which there is just one answer."""
    found = [(line, who) for line, who, state in answers if state in bad]
    if not found or (len(found) == len(answers) > 1):
        return
    line = found[0][0]
    about = tuple(Subject("device", who) for _, who in found if who.device is not None)
    yield Trouble(line.who, line.place(), Level.TRANSPORT, what, "device", tuple(dict.fromkeys(about)), remedy, name)
