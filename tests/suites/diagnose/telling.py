"""Facts in a few words, and what is said of them."""

from __future__ import annotations

from suites.diagnose.case import case_of
from suites.diagnose.facts import (
    Call,
    Class,
    Fact,
    Group,
    Level,
    Place,
    Seen,
    Signature,
    State,
    Subject,
    Trouble,
    Who,
)
from suites.diagnose.judge import judge
from suites.diagnose.verdict import Verdict


def group(key: str, *ranks: int) -> Group:
    return Group(key, Place("0.log", 1), ranks=ranks)


def call(
    rank: int, key: str, seq: int, op: str = "allreduce", *, state: State = "pending", at: float | None = None
) -> Call:
    return Call(Who(rank), Place(f"{rank}.log", seq), key, seq, Signature(op), state, entered=at)


def says(
    rank: int, level: Level, cause: Class | None = None, about: tuple[Subject, ...] = (), line: int = 90
) -> Trouble:
    return Trouble(Who(rank), Place(f"{rank}.log", line), level, "it complains", cause, about)


def verdict(*facts: Fact, telling: int = 0) -> Verdict:
    """`telling` ranks have logs that tell of calls."""
    logs = [Seen(Place(f"{rank}.log", 1), "log", Who(rank), verbose=True) for rank in range(telling)]
    return judge(case_of([Seen(Place("0.log", 1), "a log"), *logs, *facts]))
