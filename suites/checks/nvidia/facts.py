"""What rules about NVIDIA GPUs need of their facts: values that several outputs tell, and which models have NVLink.

May import: agreement, readings, rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from suites.checks.agreement import Held, outliers
from suites.checks.readings import Reading, devices, evidence, has_told, label, value
from suites.checks.rule import Case, Facts, Judged, broken, ok, unknown

Device = Mapping[str, Any]
STATE = ("state", "details", "table")
"""Questions whose answers tell of a GPU in general, the most exact first."""
_UNSPOKEN = ("absent", "unasked")
_ON_BOARDS = re.compile(r"SXM|\b(?:H100|H200|H800) \d+GB HBM3|\b(?:H200|H800|H20|B200|B300|GB200|GB300)\b(?! NVL)")
_ON_CARDS = re.compile(r"PCIe|\bNVL\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of one value of a GPU. `reading` is None where its tools were asked, and told nothing at all."""

    host: str
    name: str
    device: Device
    reading: Reading | None
    asked: Reading
    what: str

    @property
    def value(self) -> Any:
        return None if self.reading is None else value(self.reading, self.what)

    def evidence(self, threshold: Any = None, source: str | None = None) -> dict[str, Any]:
        return evidence(self.reading or self.asked, self.what, threshold, source)

    def untold(self) -> Judged:
        return unknown(self.asked["reason"] or "no tool tells it", {"command": self.asked["source"]}, self.name)


def told(facts: Facts, what: str, *queries: str, host: str = "") -> Iterator[Told]:
    """Of each GPU the first answer that has the value. A GPU of a kind that has no such value is left out."""
    for device in devices(facts, "nvidia"):
        readings = [device["readings"][query] for query in queries if query in device["readings"]]
        asked = [reading for reading in readings if reading["state"] not in _UNSPOKEN]
        reading = next((reading for reading in asked if value(reading, what) is not None), None)
        if reading is not None or (asked and not any(map(has_told, asked))):
            yield Told(host, label("nvidia", device), device, reading, asked[0], what)


def told_in_fleet(case: Case, what: str, *queries: str) -> list[Told]:
    """Of all GPUs of all hosts that tell it."""
    found = [one for host, facts in case.fleet.items() for one in told(facts, what, *queries, host=host)]
    return [one for one in found if one.reading is not None]


def each(what: str, *queries: str, judge: Callable[[Case, Told], Judged]) -> Callable[[Case], Iterator[Judged]]:
    """The judgement of every GPU that tells the value, and why the others do not tell."""

    def judge_all(case: Case) -> Iterator[Judged]:
        for one in told(case.facts, what, *queries):
            yield one.untold() if one.reading is None else judge(case, one)

    return judge_all


def unlike(when: object, message: str) -> Callable[[Case, Told], Judged]:
    """For `each`: that a property is not what it must not be."""

    def judge(case: Case, one: Told) -> Judged:
        if one.value != when:
            return ok(one.name)
        return broken(message.format(gpu=one.name), one.evidence(), one.name)

    return judge


def alike(subject: str, what: str, *queries: str) -> Callable[[Case], Iterator[Judged]]:
    """That all GPUs of one model in a fleet have the same value. `subject` begins the sentence that tells of others."""

    def judge_all(case: Case) -> Iterator[Judged]:
        for alike_ones in by_model(told_in_fleet(case, what, *queries)):
            held = [Held(one.host, one.name, _word(one.value), one.evidence()) for one in alike_ones]
            yield from outliers(subject, held)

    return judge_all


def by_model(found: list[Told]) -> list[list[Told]]:
    groups: dict[str | None, list[Told]] = {}
    for one in found:
        groups.setdefault(one.device["name"], []).append(one)
    return list(groups.values())


def usual_of(found: list[Told]) -> Any:
    """The value that more than half of them have."""
    values = [one.value for one in found]
    usual = max(set(values), key=values.count)
    return usual if 2 * values.count(usual) > len(values) else None


def host_readings(facts: Facts) -> Mapping[str, Reading]:
    return ((facts.get("accelerators") or {}).get("nvidia") or {}).get("readings") or {}


def first_of_host(facts: Facts, what: str, *queries: str) -> Reading | None:
    """The first answer about the host that tells the value."""
    readings = host_readings(facts)
    found = (readings[query] for query in queries if query in readings)
    return next((reading for reading in found if value(reading, what) is not None), None)


def driver(facts: Facts) -> Reading | None:
    """An answer that tells the version of the driver, as `driver`."""
    own = first_of_host(facts, "driver", "driver", "table", "details")
    return own or next((one.reading for one in told(facts, "driver", "state") if one.reading is not None), None)


def linked_by_board(name: str | None) -> bool:
    """Whether a model sits on a board that joins GPUs by NVLink. Cards have it only where somebody put a bridge."""
    return name is not None and bool(_ON_BOARDS.search(name)) and not _ON_CARDS.search(name)


def _word(held: Any) -> Any:
    return {True: "enabled", False: "disabled"}[held] if isinstance(held, bool) else held
