"""What rules need that compare the ports of NPUs with each other. May import: agreement, readings, rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from suites.checks.agreement import Held, outliers
from suites.checks.readings import evidence, has_told, of_devices, untold
from suites.checks.rule import Case, Judged


def held(case: Case, query: str, name: str) -> tuple[list[Held], list[Judged]]:
    """The value of every port of the fleet, and judgements about those that tell nothing."""
    found, silent = [], []
    for host, facts in case.fleet.items():
        for label, device, reading in of_devices(facts, "ascend", query, name):
            if reading is not None:
                shown = evidence(reading, name)
                found.append(Held(host, label, shown.pop("value"), shown))
            elif not has_told(device["readings"][query]):
                silent.append(replace(untold(device, query, label), host=host))
    return found, silent


def alike(query: str, name: str, what: str, unit: str = "") -> Callable[[Case], Iterator[Judged]]:
    """A rule by which all ports of a fleet should have the same value."""

    def judge(case: Case) -> Iterator[Judged]:
        found, silent = held(case, query, name)
        yield from outliers(what, found, unit)
        yield from silent

    return judge
