"""Hosts that are set up differently, by what their processes say when they start.

May import: facts, people, verdict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from suites.diagnose.facts import Fact, Setting, Subject, Who
from suites.diagnose.people import People
from suites.diagnose.verdict import Verdict

_ALIKE = ("nccl.network", "nccl.devices", "nccl.version")
"""Hosts that differ in these do not work together well, though nobody may complain."""
_OF_PATHS: Mapping[str, tuple[str, str]] = {
    "nccl.direct": ("no", "`lsmod | grep -e nvidia_peermem -e nv_peer_mem` on that host; `modprobe nvidia-peermem`"),
}
"""What both ends of a path tell of it, which value is a fault where the other end has another one, and what to check
then. The path follows in the key; where more than two hosts tell of it, it is the name of several."""

_LINK_LOCAL = "nccl.link_local"
"""Interface by whose link-local address a host offers to be reached first."""

Values = Mapping[str, Mapping[str, Setting]]
"""By key and host."""


def differing_settings(facts: Iterable[Fact], people: People) -> Verdict | None:
    """The first key of which hosts say different things, those first that are known to matter; the minority is named,
    of two nobody is."""
    values = _values(facts, people)
    keys = sorted((key for key in values if key != _LINK_LOCAL), key=lambda key: key not in _ALIKE)
    return _unlike_ends(values) or _differing(values, keys)


def unlike_hosts(facts: Iterable[Fact], people: People) -> Verdict | None:
    """The same where nobody is known to wait: only of what is known to matter, and but as a hypothesis."""
    values = _values(facts, people)
    found = _differing(values, [key for key in _ALIKE if key in values])
    if found is not None:
        found = replace(found, confidence="hypothesis")
    return _unlike_ends(values) or found or _of_one_link(values)


def _values(facts: Iterable[Fact], people: People) -> Values:
    values: dict[str, dict[str, Setting]] = defaultdict(dict)
    for fact in facts:
        if isinstance(fact, Setting):
            number = people.number(fact.who, fact.place.file)
            host = fact.who.host or (people.persons[number].host if number is not None else None) or fact.place.file
            values[fact.key].setdefault(host, fact)
    return values


def _of_one_link(values: Values) -> Verdict | None:
    """Hosts that offer an address which counts on one link only, and of which no communicator is known to be there."""
    by_host = values.get(_LINK_LOCAL)
    if not by_host:
        return None
    told = ", ".join(f"{host} ({setting.value})" for host, setting in sorted(by_host.items()))
    return Verdict(
        "config", "hypothesis", f"the first address that is offered to others is a link-local one: {told}",
        about=tuple(Subject("host", Who(host=host)) for host in sorted(by_host)),
        place=next(iter(by_host.values())).place,
        next_checks=("NCCL_SOCKET_IFNAME: name the interface that hosts reach each other by",),
    )  # fmt: skip


def _unlike_ends(values: Values) -> Verdict | None:
    for key, by_host in values.items():
        faulty, check = _OF_PATHS.get(key.partition(" ")[0], ("", ""))
        lacking = [host for host, setting in by_host.items() if setting.value == faulty]
        if faulty and len(by_host) == 2 and len(lacking) == 1:
            found = _verdict(key, by_host, lacking, sorted(by_host.items(), key=lambda one: one[0] in lacking))
            return replace(found, next_checks=(check,))
    return None


def _differing(values: Values, keys: Iterable[str]) -> Verdict | None:
    for key in keys:
        by_host = values[key]
        sides: dict[str, list[str]] = defaultdict(list)
        for host, setting in by_host.items():
            sides[setting.value].append(host)
        if len(sides) > 1 and key.partition(" ")[0] not in _OF_PATHS:
            ordered = sorted(sides.values(), key=lambda hosts: (-len(hosts), hosts))
            clear = len(ordered[0]) > len(by_host) / 2
            minority = [host for hosts in ordered[1:] for host in hosts] if clear else []
            return _verdict(key, by_host, minority, [(host, by_host[host]) for hosts in ordered for host in hosts])
    return None


def _verdict(
    key: str, by_host: Mapping[str, Setting], culprits: Sequence[str], ordered: Sequence[tuple[str, Setting]]
) -> Verdict:
    """`ordered` are all hosts, with what they say, those last who are more likely to be wrong."""
    sides: dict[str, list[str]] = defaultdict(list)
    for host, setting in ordered:
        sides[setting.value].append(host)
    told = "; ".join(f"{', '.join(hosts)}: {value}" for value, hosts in sides.items())
    last = ordered[-1][1].value
    return Verdict(
        "config", "likely" if culprits else "hypothesis", f"hosts differ in {key}: {told}",
        about=tuple(Subject("host", Who(host=host)) for host in culprits),
        place=next(setting.place for setting in by_host.values() if setting.value == last),
        next_checks=(f"make {key} the same on all hosts; `opsdist info --hosts` compares them",),
    )  # fmt: skip
