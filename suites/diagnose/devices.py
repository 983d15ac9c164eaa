"""Two ranks of one group on one device, by what they say of themselves when they start.

Only where a device's own number is told with its server: numbers of GPUs, and logical ones of NPUs, count what a
process is let see, so that many ranks have the same.
May import: complaints, facts, people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from suites.diagnose.complaints import Complaint
from suites.diagnose.facts import Fact, Identity, Level, Subject, Who
from suites.diagnose.people import People

_REMEDY = ("how ranks choose their device: local rank, ASCEND_RT_VISIBLE_DEVICES, ranks a host",)


def shared_devices(facts: Iterable[Fact], people: People) -> Sequence[Complaint]:
    """One for every device that has two ranks."""
    return list(_shared(facts, people))


def _shared(facts: Iterable[Fact], people: People) -> Iterator[Complaint]:
    first: dict[tuple[str, str, str], Who] = {}
    for order, fact in enumerate(facts):
        if not isinstance(fact, Identity):
            continue
        who = fact.who
        if who.host is None or who.device is None or who.group is None or not who.device.startswith("npu"):
            continue
        other = first.setdefault((who.host, who.device, who.group), who)
        if other.group_rank != who.group_rank and other.pid != who.pid:
            what = f"ranks {other.group_rank} and {who.group_rank} are both on {who.device} of {who.host}"
            about = (Subject("rank", other), Subject("rank", who))
            yield Complaint(people.number(who), fact.place, Level.INITIATING, what, "config", about, _REMEDY, order)
