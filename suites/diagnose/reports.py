"""What was seen and heard of opsdist's own ranks when a run went wrong, as facts: live, and of a run that was kept.

May import: facts, suites.verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

from suites.diagnose.facts import Ended, Fact, Level, Place, Raised, Subject, Trouble, Waiting, Who
from suites.verdict import WHO_STOPPED, Fault

_MISMATCH = "MismatchError"
_STOPPED = ("T", "t")


def of_fault(fault: Fault, who: Who, place: Place) -> Iterator[Fact]:
    """Of one rank."""
    match fault.kind:
        case "exit":
            yield Ended(who, place, fault.code, fault.signal)
        case "failure" if fault.waiting_for:
            yield Waiting(who, place, tuple(Who(rank=rank) for rank in fault.waiting_for))
        case "failure" if fault.error != _MISMATCH:
            yield Raised(who, place, fault.error, fault.message)
        case "silent" if (fault.state or "").startswith(_STOPPED):
            yield Trouble(
                who, place, Level.INITIATING, f"its process is stopped (state {fault.state})", "stuck",
                (Subject("rank", who),), (WHO_STOPPED,), "opsdist.stopped",
            )  # fmt: skip
