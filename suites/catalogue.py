"""SUITES: named lists of checks, as name -> ("module:function", summary). A function takes a Setting.

May import: crew, report; suites are imported when used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from suites.hostinfo import Looked, Wanted
from suites.inforeport import Measure
from suites.launch.crew import Crew
from suites.report import Finding

SUITES: dict[str, tuple[str, str]] = {
    "smoke": ("suites.smoke:run", "for CI: proofs, every collective verified, performance looked at, faults caught"),
    "node": ("suites.node:run", "is a host whole? all rules of `opsdist checks`, fit for prologs and monitors"),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What a suite is run with. `budget` in seconds for all of it; `ranks` None is the suite's own choice; `hosts`
    gives the hosts of a run, anew for each; `look` looks at them. `hurry`: only what is quick to tell."""

    budget: float
    ranks: int | None
    command: Sequence[str]
    hosts: Callable[[], Crew]
    look: Callable[[Wanted], Looked]
    measure: Measure = field(default_factory=Measure)
    hurry: bool = False


Suite = Callable[[Setting], Iterator[list[Finding]]]
"""Yields the findings of each check as it ends."""


def suite_named(name: str) -> Suite:
    """Raises KeyError."""
    module, function = SUITES[name][0].split(":")
    suite: Suite = getattr(import_module(module), function)
    return suite
