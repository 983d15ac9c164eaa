"""What rules about RDMA need of its facts: ports with where they are, who their like are, and which value most have.

May import: agreement, growth, rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from suites.checks.agreement import Held
from suites.checks.growth import grown
from suites.checks.rule import Case, Facts, Judged

Device = Mapping[str, Any]
NO_ADAPTERS = frozenset({"smi", "soft"})
"""What is made of software, or for management: its state says nothing about a cable."""


@dataclass(frozen=True, slots=True)
class Port:
    """A port with its device and host."""

    host: str
    device: Device
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        """As findings call it: the device, and the number where there are several."""
        several = len(self.device["ports"]) > 1
        return f"{self.device['name']}/{self.facts['id']}" if several else str(self.device["name"])

    @property
    def place(self) -> tuple[str, int]:
        return self.device["name"], self.facts["id"]

    @property
    def active(self) -> bool:
        return bool(self.facts["state"] == "ACTIVE")

    def evidence(self, value: str, threshold: Any = None, source: str | None = None) -> dict[str, Any]:
        return evidence(self.facts, value, threshold, source)

    def held(self, value: str) -> Held:
        return Held(self.host, self.name, self.facts[value], self.evidence(value))


def evidence(facts: Mapping[str, Any], value: str, threshold: Any = None, source: str | None = None) -> dict[str, Any]:
    """Where a value of a device or port stood, and what it was compared with."""
    found: dict[str, Any] = {}
    if place := facts["sources"].get(value):
        found["file" if place.startswith("/") else "command"] = place
    found["value"] = facts[value]
    if line := facts["lines"].get(value):
        found["line"] = line
    if threshold is not None:
        found["threshold"] = threshold
    if source is not None:
        found["source"] = source
    return found


def devices(facts: Facts) -> list[Device]:
    """Adapters, real or a function of one; none where they are unknown."""
    found = (facts.get("rdma") or {}).get("devices") or ()
    return [device for device in found if device["virtual"] not in NO_ADAPTERS]


def ports(facts: Facts, host: str = "") -> list[Port]:
    return [Port(host, device, port) for device in devices(facts) for port in device["ports"]]


def all_ports(case: Case) -> list[Port]:
    """Of all hosts of a fleet."""
    return [port for host, facts in case.fleet.items() for port in ports(facts, host)]


def model(device: Device) -> tuple[str, str] | None:
    """Its type and board; None where nothing tells either. Adapters of one model should be alike."""
    found = device["kind"] or "", device["board"] or ""
    return found if any(found) else None


def likes(found: Iterable[Port]) -> list[list[Port]]:
    """Ports in groups of the same make: model, link layer, how many devices are on the card. One that serves storage is
    often another card than those that serve accelerators. Those whose model nothing tells are in none."""
    found = list(found)
    on_card = Counter((port.host, port.device["card"], port.facts["id"]) for port in found)
    groups: dict[Any, list[Port]] = {}
    for port in found:
        if made := model(port.device):
            beside = on_card[port.host, port.device["card"], port.facts["id"]]
            groups.setdefault((made, port.facts["link_layer"], beside), []).append(port)
    return list(groups.values())


def same_places(found: Iterable[Port]) -> list[list[Port]]:
    """Ports of several hosts that have the same name and number."""
    groups: dict[Any, list[Port]] = {}
    for port in found:
        groups.setdefault(port.place, []).append(port)
    return [group for group in groups.values() if len({port.host for port in group}) > 1]


def majority(values: Sequence[Any]) -> Any:
    """What more than half of them are; None where there is no such value."""
    if not values:
        return None
    value, times = Counter(values).most_common(1)[0]
    return value if 2 * times > len(values) else None


def named(judged: Judged) -> Judged:
    """With the device that it is about in its sentence."""
    return replace(judged, message=f"{judged.device}: {judged.message}") if judged.device and judged.message else judged


def where(port: Port, several_hosts: bool) -> str:
    return f"{port.host} {port.name}" if several_hosts else port.name


def gigabits(rate: float) -> str:
    return f"{rate / 1e9:g} Gb/s"


def grew(case: Case, names: Iterable[str]) -> Iterator[tuple[Port, dict[str, tuple[int, int]] | None]]:
    """Of every port of which such counters are known at both looks: which of them grew, from and to; None where they
    were reset."""
    before = {port.place: port.facts["counters"] for port in ports(case.earlier)}
    for port in ports(case.facts):
        now, then = port.facts["counters"], before.get(port.place, {})
        both = [name for name in names if name in then and name in now]
        if both:
            yield port, grown({name: then[name] for name in both}, {name: now[name] for name in both})
