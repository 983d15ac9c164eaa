"""Ranks that wait for each other in a circle, and what holds up a call that all have begun.

May import: everything of this package but evidence and judge.
"""

from __future__ import annotations

from collections.abc import Sequence

from suites.diagnose.blaming import blamed
from suites.diagnose.calls import COLLECTIVES
from suites.diagnose.case import Case
from suites.diagnose.graph import Wait, ends, reaching
from suites.diagnose.holding import decisive_call, held_in
from suites.diagnose.verdict import At, Verdict
from suites.diagnose.waits import ASIDE, MISSED, PASSED_OR_NOT, order_waits
from suites.diagnose.words import call, everybody, verb


def circular(case: Case) -> Verdict | None:
    """Each of a circle is held up by the oldest of what it waits in: what was handed to its device after that is no
    reason for where it stands."""
    edges = _of_calls(held_in(case, case.waits.sure))
    circle = next((one for one in ends(edges).cycles if not _one_collective(one, edges)), None)
    return None if circle is None else _cycle(case, circle, edges)


def _of_calls(edges: Sequence[Wait]) -> list[Wait]:
    """That two do not hear of each other is no circle: the way between them is cut."""
    return [wait for wait in edges if wait.why != MISSED or wait.group or wait.op]


def _one_collective(circle: frozenset[int], edges: Sequence[Wait]) -> bool:
    """Inside of one ranks wait for each other by its plan: that all of them do is no circle of the program's making."""
    inner = {(wait.group, wait.seq, wait.op) for wait in edges if wait.waiters & circle and wait.waited & circle}
    return len(inner) == 1 and all(group is not None and op in COLLECTIVES for group, _, op in inner)


def _may_be_open(case: Case, cycle: frozenset[int], inner: Sequence[Wait]) -> bool:
    """Whether one of a circle is in a message, as far as its recording tells, and in something else that one comes to
    of whom there is no evidence: it may be that, and the other end may have the message behind itself. Or whether all
    have begun what is waited for, in streams that need not wait for each other; or what one is in longest is not
    known."""
    if cycle & case.cut or all(wait.why == ASIDE for wait in inner):
        return True
    in_messages = {waiter for wait in inner if wait.why == PASSED_OR_NOT for waiter in wait.waiters & cycle}
    return any(wait.waiters & in_messages and wait.waited - cycle for wait in case.waits.unseen)


def _cycle(case: Case, cycle: frozenset[int], edges: Sequence[Wait]) -> Verdict:
    inner = [wait for wait in edges if wait.waiters & cycle and wait.waited & cycle]
    if _may_be_open(case, cycle, inner):
        return Verdict(
            "undecided", "hypothesis",
            f"{everybody(case.people, cycle)} seem to wait for each other in messages, and these may be over, or go on "
            "side by side",
            suspects=cycle | case.unseen, waiting=frozenset(reaching(cycle, edges)),
            at=decisive_call(case, cycle, inner), waits=edges,
        )  # fmt: skip
    steps = []
    for wait in inner[:4]:
        at = At(wait.group, wait.seq, wait.op) if wait.group else None
        waiters, waited = wait.waiters & cycle, wait.waited & cycle
        steps.append(
            f"{everybody(case.people, waiters)} in {call(case.people, at)} {verb(waiters, 'waits', 'wait')} for "
            f"{everybody(case.people, waited)}"
        )
    more = "" if len(inner) <= 4 else f"; and {len(inner) - 4} more"
    return Verdict(
        "cycle", "likely", f"{everybody(case.people, cycle)} wait for each other in a circle: {'; '.join(steps)}{more}",
        cycle, waiting=frozenset(reaching(cycle, edges)), at=decisive_call(case, cycle, inner), waits=edges,
    )  # fmt: skip


def ordered(case: Case) -> Verdict | None:
    """All have begun all, but some are held up in a call before it: in a circle, or by one of them. A circle may lead
    through calls that some have not come to as well: who leaves out one goes on to the next."""
    edges = order_waits(case.table, case.people)
    found = ends(edges)
    if found.cycles:
        return _cycle(case, found.cycles[0], edges)
    held = held_in(case, case.waits.sure)
    roots = found.roots - case.unsure - {waiter for wait in held for waiter in wait.waiters}
    if roots:
        return blamed(case, roots, edges, "likely")
    every = [*_of_calls(held), *edges]
    circle = next((one for one in ends(every).cycles if not _one_collective(one, every)), None)
    return None if circle is None else _cycle(case, circle, every)
