"""Hosts that are set up differently, by what their processes say when they start.

May import: facts, people, verdict, words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from suites.diagnose.facts import Fact, Setting, Subject, Who
from suites.diagnose.people import People
from suites.diagnose.verdict import Verdict


def differing_settings(facts: Iterable[Fact], people: People) -> Verdict | None:
    """The first key of which hosts say different things; the minority is named, of two nobody is."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    first: dict[tuple[str, str], Setting] = {}
    for fact in facts:
        if isinstance(fact, Setting):
            number = people.number(fact.who, fact.place.file)
            host = fact.who.host or (people.persons[number].host if number is not None else None) or fact.place.file
            values[fact.key].setdefault(host, fact.value)
            first.setdefault((fact.key, fact.value), fact)
    for key, by_host in values.items():
        sides: dict[str, list[str]] = defaultdict(list)
        for host, value in by_host.items():
            sides[value].append(host)
        if len(sides) < 2:
            continue
        ordered = sorted(sides.items(), key=lambda side: (-len(side[1]), side[1]))
        minority = [host for _, hosts in ordered[1:] for host in hosts] if len(ordered[0][1]) > len(by_host) / 2 else []
        told = "; ".join(f"{', '.join(hosts)}: {value}" for value, hosts in ordered)
        return Verdict(
            "config", "likely" if minority else "hypothesis", f"hosts differ in {key}: {told}",
            about=tuple(Subject("host", Who(host=host)) for host in minority), place=first[key, ordered[-1][0]].place,
            next_checks=(f"make {key} the same on all hosts; `opsdist info --hosts` compares them",),
        )  # fmt: skip
    return None
