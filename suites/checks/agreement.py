"""What several of a kind hold, and who has something else than most: how rules over a fleet judge.

May import: rule, report.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from suites.checks.rule import Judged, broken, ok

_PEERS = 4
"""With fewer there is no telling what is usual."""


@dataclass(frozen=True, slots=True)
class Held:
    """A value, and where it was found. `evidence` has the file or command, and the line."""

    host: str
    device: str | None
    value: Any
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"{self.host} {self.device}"


def grouped(found: Iterable[tuple[Any, Held]]) -> list[list[Held]]:
    """What may be compared, by its key."""
    groups: dict[Any, list[Held]] = {}
    for key, held in found:
        groups.setdefault(key, []).append(held)
    return list(groups.values())


def outliers(what: str, held: Sequence[Held], unit: str = "") -> Iterator[Judged]:
    """Those that do not have what more than half of them have. Where there is no such half nobody is the culprit: one
    judgement says that they differ. `what` is the subject of the sentence, as "the MTU of eth0"."""
    if len(held) < 2:
        return
    counts = Counter(_text(one.value) for one in held)
    usual, most = counts.most_common(1)[0]
    if len(counts) == 1:
        yield ok()
    elif 2 * most <= len(held):
        yield _differ(what, held, unit)
    else:
        for one in held:
            if _text(one.value) != usual:
                message = f"{what} is {_text(one.value)}{unit}, and {usual}{unit} on {most} of {len(held)}"
                yield broken(
                    message, {"value": one.value, "threshold": usual, **one.evidence}, one.device, host=one.host
                )


def far_above(what: str, held: Sequence[Held], limits: Mapping[str, Any]) -> Iterator[Judged]:
    """Counts that are far above those of their peers; see `bound`. Of too few nobody can tell."""
    counts = [one.value for one in held]
    most = bound(counts, limits)
    if most is None:
        return
    odd = [one for one in held if one.value > most]
    for one in odd:
        message = f"{one.device} has {one.value} {what}, half of its {len(held)} peers have {median(counts):g} or less"
        yield broken(message, {**one.evidence, "threshold": most}, one.device, host=one.host)
    if not odd:
        yield ok()


def bound(counts: Sequence[int], limits: Mapping[str, Any]) -> float | None:
    """Above it a count is far from what peers have: `least`, and `deviations` times their median absolute deviation,
    above their median. None of fewer than four."""
    if len(counts) < _PEERS:
        return None
    middle = median(counts)
    spread = median(abs(count - middle) for count in counts)
    return float(middle + max(limits["least"], limits["deviations"] * spread))


def _differ(what: str, held: Sequence[Held], unit: str) -> Judged:
    devices = {one.device for one in held}
    device = held[0].device if len(devices) == 1 else None
    by_value: dict[str, list[str]] = {}
    for one in held:
        by_value.setdefault(_text(one.value), []).append(one.host if device or not one.device else one.place)
    told = "; ".join(f"{_some(places)}: {text}{unit}" for text, places in by_value.items())
    message = f"{what} differs, and no value is that of most: {told}"
    return broken(message, {**held[0].evidence, "value": by_value}, device)


def _some(places: Sequence[str]) -> str:
    return ", ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
