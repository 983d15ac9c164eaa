"""What can be said where the evidence does not decide: who waits, who cannot be excluded, and what is not told.

May import: case, and what a case is made of, holding, verdict, words.
"""

from __future__ import annotations

from suites.diagnose.case import Case
from suites.diagnose.facts import Level, Seen, Unread, World
from suites.diagnose.holding import common_call, complaining, left_behind, untold
from suites.diagnose.verdict import Verdict
from suites.diagnose.words import call, everybody, somebody, verb


def undecided(case: Case) -> Verdict:
    """The verdict of a case of which nobody can tell more."""
    waiting, unseen = case.waits.waiters | complaining(case, Level.TIMEOUT, Level.CASCADE), case.unseen
    alone = _alone(case)
    held, where = left_behind(case)
    if held and (silent := untold(case)):
        # A call that failed ends too: whoever is not heard may be why it did not for all.
        unseen, waiting, held = unseen | silent, waiting | held, frozenset()
    suspects = frozenset(unseen | (case.ends.roots & case.unsure) | alone | held)
    if not case.facts or not any(not isinstance(fact, Seen | Unread | World) for fact in case.facts):
        text = "no evidence of any rank was found"
    elif held:
        text = (
            f"{everybody(case.people, held)} {verb(held, 'does', 'do')} not come through {call(case.people, where)}, "
            "which others are through; nothing tells why"
        )
    elif case.complaints and case.complaints[0].level == Level.TRANSPORT:
        first = case.complaints[0]
        speaker = f"{somebody(case.people, first.person)}: " if first.person is not None else ""
        text = f"{speaker}{first.what}; nothing tells at whose end"
    elif suspects:
        who = frozenset(waiting - suspects or waiting)
        text = (
            f"{_held_up(case, who)}: there is no evidence of "
            f"{everybody(case.people, unseen) if unseen else 'the others'}"
        )
    elif in_vain := case.waits.waiters | complaining(case, Level.TIMEOUT):
        text = f"{everybody(case.people, in_vain)} waited in vain, and nothing tells for whom"
    elif waiting:
        text = (
            f"{everybody(case.people, waiting)} {verb(frozenset(waiting), 'tells', 'tell')} of a failure that follows "
            "from another, and nothing tells from which"
        )
    elif case.complaints and case.complaints[0].level == Level.CASCADE:
        text = f"{case.complaints[0].what}; that follows from another failure, and nothing tells from which"
    elif len(ended := [one for one in case.complaints if one.end]) > 1 and case.complaints[0].end:
        text = f"{len(ended)} processes have ended, and nothing tells which was the first"
    elif case.complaints and case.complaints[0].level >= Level.TIMEOUT:
        text = f"{case.complaints[0].what}; nothing that was seen tells more"
    else:
        text = "what was seen does not tell why the job hangs, or that it does"
    return Verdict(
        "undecided", "hypothesis", text, suspects=suspects, waiting=frozenset(waiting - suspects),
        at=where or common_call(case), waits=[*case.waits.sure, *case.waits.unseen],
    )  # fmt: skip


def _held_up(case: Case, who: frozenset[int]) -> str:
    if not who:
        return "ranks wait, and nothing tells for whom"
    everyone = everybody(case.people, who)
    if who <= case.waits.failed:
        return f"{everyone} may have left the last call because it failed, and nothing tells on whom"
    return f"{everyone} {verb(who, 'waits', 'wait')}, and nothing tells for whom"


def _alone(case: Case) -> set[int]:
    """Who waits for somebody of whom there is no evidence, and nobody else does."""
    waiters: dict[int, set[int]] = {}
    for wait in case.waits.unseen:
        for waited in wait.waited:
            waiters.setdefault(waited, set()).update(wait.waiters)
    unsure = case.unsure
    return {one for some in waiters.values() if len(some) == 1 for one in some & unsure}
