"""What one question to a host brought: an answer that was understood, or why there is none.

The output of a tool is parsed into a `Said`, which keeps for each value the line it stood in, so that whoever judges
it can show where it comes from. Values are of three kinds: those that stay (a version, a link's state), those that only
grow (counters), and those of a moment (a temperature). Hosts are compared by the first, snapshots by the second.
May import: the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

_LONGEST_LINE = 200


class State(StrEnum):
    """How a question ended. Only `TOLD` says anything about the device; the others are no verdict on it."""

    TOLD = "told"
    REFUSED = "refused"
    """The tool would not say: no permission, busy."""
    TAKEN = "taken"
    """Another process kept the tools to itself for so long that this one was not asked."""
    UNSUPPORTED = "unsupported"
    """This tool, device or virtual machine does not know the question."""
    ABSENT = "absent"
    """There is no such tool or file here."""
    LATE = "late"
    """No end within the deadline: it was killed, or not asked again after that."""
    UNASKED = "unasked"
    """Left out, because what takes long was not wanted."""
    FAILED = "failed"
    """It ended without anything that could be understood."""


@dataclass(slots=True)
class Said:
    """What a parser understood. The first value of a name stays: some tools repeat a block for a helper chip."""

    values: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    momentary: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)

    def value(self, name: str, value: Any, line: str = "") -> None:
        self._put(self.values, name, value, line)

    def counter(self, name: str, value: int, line: str = "") -> None:
        self._put(self.counters, name, value, line)

    def moment(self, name: str, value: Any, line: str = "") -> None:
        self._put(self.momentary, name, value, line)

    def _put(self, among: dict[str, Any], name: str, value: Any, line: str) -> None:
        if name not in among:
            among[name] = value
            if line.strip():
                self.lines[name] = line.strip()[:_LONGEST_LINE]

    def __bool__(self) -> bool:
        return bool(self.values or self.counters or self.momentary)


@dataclass(frozen=True, slots=True)
class Reading:
    """`source`: the command or file, as it could be typed. `reason`: the tool's words or ours, where it told nothing or
    told it in an odd way. `lines`: value -> the line it stood in. `identities`: serial numbers and the like, where they
    are asked for."""

    source: str
    state: State
    reason: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    momentary: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)
    identities: Mapping[str, str] = field(default_factory=dict)


def told(source: str, said: Said, reason: str | None = None) -> Reading:
    return Reading(source, State.TOLD, reason, said.values, said.counters, said.momentary, said.lines)


def silent(readings: Iterable[Reading]) -> bool:
    """Whether somebody was asked and nobody told anything: then that nothing is known does not mean "none"."""
    states = {reading.state for reading in readings}
    return State.TOLD not in states and bool(states & {State.REFUSED, State.TAKEN, State.LATE, State.FAILED})
