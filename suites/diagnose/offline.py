"""`diagnose deadlock PATH...`: from what others wrote to a record.

May import: gather, judge, record, suites.report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from suites.diagnose import record
from suites.diagnose.case import case_of
from suites.diagnose.gather import gather
from suites.diagnose.judge import judge
from suites.report import Report


def diagnose(
    paths: Sequence[str], command: Sequence[str], started: datetime, *, timeline: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Report:  # fmt: skip
    """Read everything that is there, and judge it."""
    evidence = gather(paths, progress)
    case = case_of(evidence.facts)
    verdict = judge(case)
    told = record.body(case, verdict, "recorded", evidence.notes)
    told["timeline"] = record.timeline(case) if timeline else []
    return Report(
        "diagnose",
        list(command),
        started,
        findings=[record.finding(told)],
        exit_code=record.exit_code(verdict),
        body=told,
    )
