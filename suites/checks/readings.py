"""What rules need of readings: the answers of vendor tools as `probes.reading` has them, in the record's form.

May import: rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from suites.checks.rule import Facts, Judged, unknown

Reading = Mapping[str, Any]

VENDORS = ("ascend", "nvidia", "amd")
"""Of accelerators, as facts name them."""

_NO_WORD = frozenset({"absent", "unasked"})
"""Nobody was asked, so there is nothing to say: the rule does not apply here."""


def devices(facts: Facts, vendor: str) -> list[Mapping[str, Any]]:
    """The devices of a vendor; none where they are unknown."""
    return list(((facts.get("accelerators") or {}).get(vendor) or {}).get("devices") or ())


def label(vendor: str, device: Mapping[str, Any]) -> str:
    """How a device is called in findings: `npu3`, `gpu0`."""
    return f"{'npu' if vendor == 'ascend' else 'gpu'}{device['id']}"


def of_host(facts: Facts, vendor: str, query: str) -> Reading | None:
    """What the tool told of the host as a whole; None where it told nothing."""
    reading = (((facts.get("accelerators") or {}).get(vendor) or {}).get("readings") or {}).get(query)
    return reading if reading and has_told(reading) else None


def of_devices(
    facts: Facts, vendor: str, query: str, *names: str
) -> Iterator[tuple[str, Mapping[str, Any], Reading | None]]:
    """(label, device, reading) of every device that was asked `query`; the reading is None where it does not hold all
    of `names`. Use `untold` for those."""
    for device in devices(facts, vendor):
        reading = (device.get("readings") or {}).get(query)
        if reading is None or reading["state"] in _NO_WORD:
            continue
        complete = has_told(reading) and all(value(reading, name) is not None for name in names)
        yield label(vendor, device), device, reading if complete else None


def untold(device: Mapping[str, Any], query: str, name: str) -> Judged:
    """The judgement about a device whose reading lacks what was asked for."""
    reading = device["readings"][query]
    reason = reading["reason"] or f"`{reading['source']}` does not tell it"
    return unknown(reason, {"command": reading["source"]}, name)


def has_told(reading: Reading) -> bool:
    return bool(reading["values"] or reading["counters"] or reading["momentary"])


def value(reading: Reading, name: str) -> Any:
    """By name, whatever its kind."""
    return next((reading[kind][name] for kind in ("values", "counters", "momentary") if name in reading[kind]), None)


def evidence(reading: Reading, name: str, threshold: Any = None, source: str | None = None) -> dict[str, Any]:
    """Where a value comes from: the command and its line. With what it was compared, and who recommends that."""
    found: dict[str, Any] = {"command": reading["source"], "value": value(reading, name)}
    if name in reading["lines"]:
        found["line"] = reading["lines"][name]
    if threshold is not None:
        found["threshold"] = threshold
    if source is not None:
        found["source"] = source
    return found
