"""All that is known of a job, worked out from its facts.

May import: everything of this package but evidence and what judges.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from suites.diagnose.addresses import shared_addresses
from suites.diagnose.aliases import united
from suites.diagnose.calls import SYNCHRONISING
from suites.diagnose.complaints import Complaint, complaints
from suites.diagnose.devices import shared_devices
from suites.diagnose.facts import Fact, Track
from suites.diagnose.failures import all_heard, has_gone_on
from suites.diagnose.graph import Ends, ends
from suites.diagnose.guesses import settled
from suites.diagnose.mismatch import Mismatch, mismatches
from suites.diagnose.old_logs import without_old_logs
from suites.diagnose.people import People, meet
from suites.diagnose.runs import of_latest_attempt, of_latest_run, without_just_begun
from suites.diagnose.stale import of_the_job
from suites.diagnose.standing import Standings, standings, telling
from suites.diagnose.waits import Waits, blockers, waits


@dataclass(frozen=True, slots=True)
class Case:
    """All that is known of a job."""

    facts: Sequence[Fact]
    people: People
    table: Standings
    telling: frozenset[int]
    waits: Waits
    ends: Ends
    complaints: Sequence[Complaint]
    mismatches: Sequence[Mismatch]

    @property
    def unsure(self) -> frozenset[int]:
        """They may be but victims: they wait for somebody of whom there is no evidence, may have left a call that
        failed on one, are in one that only such have left, or what they are in longest is not known. What a rank comes
        to only after a call that it is in already does not count."""
        oldest = blockers(self.table)
        return self.cut | self._of_open_groups() | self._of_failed_calls() | frozenset(
            waiter
            for wait in self.waits.unseen
            for waiter in wait.waiters
            if wait.group is None or (call := oldest.get(waiter)) is None or call.entered is None
            or (call.group, call.peer is None and call.seq) in ((wait.group, wait.seq), (wait.group, False))
        )  # fmt: skip

    @property
    def cut(self) -> frozenset[int]:
        """What they are in longest was overwritten: it is not known whom they wait for."""
        return frozenset(person for table in self.table.values() for person, standing in table.items() if standing.cut)

    def _of_failed_calls(self) -> frozenset[int]:
        loose = {group for group in self._loose() if not all_heard(group, self.people, self.telling)}
        return self.waits.failed | frozenset(
            person
            for group, table in self.table.items()
            for person, standing in table.items()
            if standing.pending
            and (through := {other for other in table if table[other].passed(standing.front or 0)})
            and (through <= self.waits.failed or (group in loose and self._may_have_failed(group, person, through)))
        )

    def _may_have_failed(self, group: str, person: int, through: Set[int]) -> bool:
        """Whether the call that it is in may have failed for all who are through: they have begun nothing since but
        what it has begun as well without coming out."""
        seq = self.table[group][person].front or 0
        together = {
            (call.group, call.seq) for table in self.table.values() if person in table for call in table[person].pending
        }
        return not any(has_gone_on(other, group, seq, self.table, together) for other in through)

    def _of_open_groups(self) -> frozenset[int]:
        """They are in a call of a group of which it is not told how many it has, and nothing shows that all came to it.

        Where others are through they are taken to have, but not in a broadcast, which others leave before all are in,
        by recordings that tell nothing of failures: who died before it has left none."""
        loose = self._loose()
        return frozenset(
            person
            for group, table in self.table.items()
            if not self.people.counted(group)
            for person, standing in table.items()
            if standing.pending
            and (
                (group in loose and standing.pending[0].signature.op not in SYNCHRONISING)
                or not any(other.passed(standing.front or 0) for other in table.values())
            )
        )

    def _loose(self) -> set[str]:
        """Groups by whose recordings a call that failed is one that ended."""
        return {fact.group for fact in self.facts if isinstance(fact, Track) and fact.failures_end}

    @property
    def unseen(self) -> frozenset[int]:
        """They are waited for, and there is no evidence of them."""
        return frozenset(waited for wait in self.waits.unseen for waited in wait.waited)


def case_of(facts: Sequence[Fact]) -> Case:
    facts, notes = of_latest_run(facts)
    facts, earlier = of_latest_attempt(facts)
    facts, old = without_old_logs(facts)
    facts, strange = of_the_job(facts)
    facts = united(settled(without_just_begun(facts)))
    people = meet(facts)
    people.notes += [*notes, *earlier, *old, *strange]
    table = standings(facts, people)
    tell = frozenset(telling(facts, people)) | {person for group in table.values() for person in group}
    found = waits(facts, people, table, tell)
    several = (*shared_devices(facts, people), *shared_addresses(facts, people))
    told = sorted((*complaints(facts, people), *several), key=lambda complaint: complaint.key)
    return Case(facts, people, table, tell, found, ends(found.sure), told, mismatches(facts, people, table))
