"""Hosts that offer others one address: that of a bridge, which is the same on each of them.

Named only where somebody could not connect to that address: two names may be those of one host.
May import: complaints, facts, people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suites.diagnose.complaints import Complaint
from suites.diagnose.facts import Fact, HostAddress, Level, Subject, Trouble, Who
from suites.diagnose.people import People

_LOOPBACK = ("127.", "::1")
_REMEDY = (
    "NCCL_SOCKET_IFNAME: name the interface that hosts reach each other by, not docker0 or another bridge",
    "containers on several hosts need the host's network, or one that spans the hosts",
)


def shared_addresses(facts: Sequence[Fact], people: People) -> Sequence[Complaint]:
    """One for every address of several hosts that somebody could not connect to."""
    return list(_shared(facts, people))


def _shared(facts: Sequence[Fact], people: People) -> Iterator[Complaint]:
    tried = {address for fact in facts if isinstance(fact, Trouble) for address in _unreached(fact)}
    first: dict[str, Who] = {}
    told = set()
    for order, fact in enumerate(facts):
        if not isinstance(fact, HostAddress) or fact.who.address not in tried or fact.who.address in told:
            continue
        address, other = fact.who.address, first.setdefault(fact.who.address, fact.who)
        if other.host != fact.who.host:
            told.add(address)
            what = f"{other.host} and {fact.who.host} offer others the same address, {address}"
            about = tuple(Subject("host", Who(host=who.host)) for who in (other, fact.who))
            yield Complaint(
                people.number(fact.who), fact.place, Level.INITIATING, what, "config", about, _REMEDY, order
            )


def _unreached(fact: Trouble) -> Iterator[str]:
    """Addresses that could not be connected to, by a text about a path."""
    if fact.level == Level.TRANSPORT:
        for subject in fact.about:
            address = subject.peer.address if subject.kind == "link" and subject.peer else None
            if address is not None and not address.startswith(_LOOPBACK):
                yield address
