"""Rules by which all hosts of a fleet should have the same of something. May import: agreement, rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from suites.checks.agreement import Held, outliers
from suites.checks.rule import Case, Facts, Judged


@dataclass(frozen=True, slots=True)
class Trait:
    """`what` is the subject of a sentence. `read` gives None where a host does not tell. `file`: where it is kept."""

    what: str
    read: Callable[[Facts], Any]
    file: str
    unit: str = ""


def alike(*traits: Trait) -> Callable[[Case], Iterator[Judged]]:
    def judge(case: Case) -> Iterator[Judged]:
        for trait in traits:
            told = ((host, trait.read(facts)) for host, facts in case.fleet.items())
            held = [Held(host, None, value, {"file": trait.file}) for host, value in told if value is not None]
            yield from outliers(trait.what, held, trait.unit)

    return judge


def at(*path: str) -> Callable[[Facts], Any]:
    """A fact by its keys; None where one of them leads nowhere."""

    def read(facts: Facts) -> Any:
        found: Any = facts
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    return read
