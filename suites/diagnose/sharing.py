"""Two ranks of one group on one device, by what they say of themselves.

May import: facts, people, verdict, words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from suites.diagnose.facts import Fact, Identity, Place, Subject, Who
from suites.diagnose.people import People
from suites.diagnose.verdict import Verdict
from suites.diagnose.words import everybody

_WHOLE = "npu"
"""Devices that are named alike by all processes of a host; a GPU's number is one of those that its process may see."""


def shared_device(facts: Iterable[Fact], people: People) -> Verdict | None:
    """The first device that several ranks of a group have taken."""
    taken: dict[tuple[str, str, str], dict[int, Place]] = defaultdict(dict)
    for fact in facts:
        if isinstance(fact, Identity) and (fact.who.device or "").startswith(_WHOLE):
            who, number = fact.who, people.number(fact.who)
            if who.host and who.device and who.group and who.group_rank is not None and number is not None:
                taken[who.host, who.device, who.group].setdefault(number, fact.place)
    for (host, device, _), ranks in taken.items():
        if len(ranks) > 1:
            return Verdict(
                "config", "certain", f"{everybody(people, ranks)} have taken one device, {device} of {host}",
                frozenset(ranks), (Subject("device", Who(host=host, device=device)),), place=max(ranks.items())[1],
                next_checks=("how ranks choose their device: local rank, ASCEND_RT_VISIBLE_DEVICES, ranks a host",),
            )  # fmt: skip
    return None
