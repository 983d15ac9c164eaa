"""What the hosts of a fleet are: every host is asked by its agent.

A host that cannot be reached is a finding, and the others are reported all the same.
May import: clocks, hostinfo, launch.crew, report.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from suites.clocks import Exchange
from suites.clocks import read as read_clock
from suites.hostinfo import Seen, Wanted
from suites.launch.crew import Crew
from suites.launch.job import Output
from suites.report import Finding, Status
from suites.verdict import words

LOOK_SECONDS = 120.0
"""Without a word of any host: longer than a tool may take to answer, and another opsdist to let it be asked."""


_EXCHANGES = 5
"""The time of each host is asked so many times; the shortest round trip tells it best."""


@dataclass(slots=True)
class Survey:
    """One look at all hosts of a crew. Use: take all of `events`, then `seen` and `unreached`."""

    wanted: Wanted
    crew: Crew
    seen: list[Seen] = field(default_factory=list)

    def events(self, timeout: float) -> Iterator[Output]:
        """Reach the hosts and have them look. Raises UsageError before anything starts."""
        self.wanted.chosen()
        yield from self.crew.greet(timeout)
        clocks: list[list[Exchange]] = [[] for _ in self.crew.names]
        for _ in range(_EXCHANGES if "clock" in self.wanted.chosen() else 0):
            asked = time.time_ns()
            yield from self.crew.ask("clock", [{"type": "clock"} for _ in self.crew.names], LOOK_SECONDS)
            for exchanges, answer in zip(clocks, self.crew.answers, strict=True):
                if answer:
                    exchanges.append(Exchange(asked, answer["nanoseconds"], answer["heard"]))
        question = {"type": "look", "wanted": asdict(self.wanted)}
        yield from self.crew.ask("look", [{**question, "name": name} for name in self.crew.names], LOOK_SECONDS)
        for name, answer, exchanges in zip(self.crew.names, self.crew.answers, clocks, strict=True):
            if answer:
                _tell_clock(answer["facts"], exchanges)
                found = [Finding(**{**each, "status": Status(each["status"])}) for each in answer["findings"]]
                self.seen.append(Seen(name, answer["facts"], found, answer["texts"]))

    def unreached(self) -> list[Finding]:
        """About the hosts that could not be looked at."""
        return [
            Finding("fleet.reach", Status.ERROR, words(fault), {"host": fault.host}, "; ".join(fault.notes) or None)
            for fault in self.crew.faults
        ]


def _tell_clock(facts: dict[str, Any], exchanges: Sequence[Exchange]) -> None:
    """By how much the host's clock is ahead of this one's, and how far that may be wrong, in seconds."""
    if exchanges and facts.get("clock"):
        found = read_clock(exchanges)
        facts["clock"]["momentary"] = {"ahead_seconds": found.offset / 1e9, "ahead_error_seconds": found.error / 1e9}
