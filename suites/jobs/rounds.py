"""A round on one rank: the cases of all backends that are compared, prepared together and measured in turns.

The iterations of each are cut into passes, and the passes go A B C, C B A, A B C ..., so that a machine that drifts,
throttles or is disturbed does so for all of them alike. A round of one case is measured in one go.
May import: caserun, pingpong, settings, launch.rank's context.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from suites.jobs.caserun import CaseRun
from suites.jobs.pingpong import HostClocks
from suites.jobs.settings import MOST_PASSES, Settings
from suites.launch.rank import RankContext


@dataclass(slots=True)
class Round:
    """Its members are of different backends."""

    number: int
    members: Sequence[CaseRun]
    settings: Settings
    context: RankContext
    ends: float | None
    """When the time budget is used up, on this host's monotonic clock."""
    clocks: HostClocks
    """Read before, at the end of the round before this one for instance, and after the measuring."""
    _at: CaseRun | None = None
    """Whose turn it is."""

    def run(self, left: int) -> None:
        """Measure and report every member. `left` is how many cases of the run are not done, these included."""
        ends, started = self.ends, time.monotonic()
        self._turn_to(self.members[0])
        if self.members[0].shared.agree(int(ends is not None and started >= ends))[0]:
            for member in self.members:
                reason = "the time budget was used up"
                self.context.report({"type": "skipped", "index": member.index, "reason": reason})
            return
        for member in self.members:
            self._turn_to(member)
            member.prepare()
            member.warm_up()
        seconds = None
        if ends is not None:
            # An equal share of the time for every case that is left.
            share = max(ends - started, 0) / left * len(self.members)
            seconds = (started + share - time.monotonic()) / len(self.members)
        for member in self.members:
            member.settle_on(seconds)
        reports = self._measure()
        # All ranks find the same, so all of them stop at the same member here.
        if any(member.implausible(report) for member, report in zip(self.members, reports, strict=True)):
            # All of them, so that they have taken turns again.
            reports = [{**report, "again": True} for report in self._measure()]
        self.clocks.read()
        for report in reports:
            self.context.report({"round": self.number, "clocks": self.clocks.report(), **report})

    def _measure(self) -> list[dict[str, Any]]:
        for member in self.members:
            self._turn_to(member)
            member.begin()
        passes = min(MOST_PASSES, *(member.batches for member in self.members)) if self._shared else 1
        for number in range(passes):
            for member in self.members if number % 2 == 0 else reversed(self.members):
                self._run_pass(member, number, passes)
        reports = []
        for member in self.members:
            self._turn_to(member)
            member.end()
            reports.append(member.report())
        return reports

    def _run_pass(self, member: CaseRun, number: int, passes: int) -> None:
        if self._turn_to(member):
            member.resume()
        for done in member.run_pass(number, passes):
            if member.comm.rank == 0:
                self.context.report({"type": "progress", "index": member.index, "done": done, "of": member.iterations})
        if self._shared:
            # A library may go on only while it is called: nobody turns away before all are through.
            member.comm.barrier()

    @property
    def _shared(self) -> bool:
        return len(self.members) > 1

    def _turn_to(self, member: CaseRun) -> bool:
        """Whether it was another's turn before. A fault is reported with whose turn it was."""
        changed = self._at is not member
        if changed:
            self._at = member
            self.context.phase(f"case {member.index} ({member.case.describe()})")
        return changed
