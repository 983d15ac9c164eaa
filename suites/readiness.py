"""Which collective library can run on which devices over which links, and what stands in the way.

A row a backend: ready; degraded, when something is wrong with a part of what it uses; not ready; or unknown, when
nobody told how its devices are, or whether it is installed. May import: checks, report, views.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suites.checks.readings import devices, has_told, label
from suites.checks.tools import VENDORS
from suites.report import Finding, Status, by_host
from suites.views import IN_VAIN, paths, untold

Facts = Mapping[str, Any]

_LIBRARIES = {
    "hccl": ("ascend", "NPU", ("cann",), ("torch_npu",)),
    "nccl": ("nvidia", "GPU", ("nccl",), ("torch",)),
    "rccl": ("amd", "GPU", ("rccl",), ("torch",)),
}
"""backend -> (vendor, what its devices are, readings that tell of the library, packages that bring it)."""

_DRIVERS = ("driver", "table", "info")
"""Readings of a host that tell the version of the driver, the surest first."""

_SUBJECTS = ("pcie", "rdma", "topology", "log")
"""Rules about these concern every library whose device they name; those of the vendor always do."""
_BAD = (Status.FAIL, Status.ERROR, Status.WARN)


def readiness(hosts: Mapping[str, Facts], findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Rows {hosts, backend, devices, link, state, why}; hosts of which all is the same share one."""
    bad = by_host(finding for finding in findings if finding.status in _BAD)
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, facts in hosts.items():
        for row in [*_accelerated(facts, bad.get(name, ())), *_plain(facts)]:
            rows.setdefault(row, []).append(name)
    return [
        {"hosts": names, "backend": backend, "devices": on, "link": link, "state": state, "why": why or None}
        for (backend, on, link, state, why), names in rows.items()
    ]


def _accelerated(facts: Facts, findings: Sequence[Finding]) -> Iterator[tuple[str, str, str, str, str]]:
    for backend, (vendor, kind, *_) in _LIBRARIES.items():
        known = devices(facts, vendor)
        about = [finding for finding in findings if vendor in (finding.check.split(".")[0], _vendor_of_tool(finding))]
        if known or any(finding.status is not Status.WARN for finding in about) or _asked_in_vain(facts, vendor):
            names = {label(vendor, device) for device in known}
            about += [
                finding
                for finding in findings
                if finding.check.partition(".")[0] in _SUBJECTS and finding.subject.get("device") in names
            ]
            state, why = _state(facts, backend, known, about)
            on = _devices(known, "unknown" if state == "unknown" else f"no {kind}", kind)
            yield backend, on + _driver(facts, vendor), _links(facts, vendor, known), state, why


def _vendor_of_tool(finding: Finding) -> str | None:
    """Whose devices are unknown when that was found about a tool."""
    is_about = finding.check.startswith("tools.")
    return VENDORS.get(str(finding.evidence.get("command")).split(" ")[0]) if is_about else None


def _asked_in_vain(facts: Facts, vendor: str) -> list[str]:
    """What its tools said instead of an answer, where it is unknown for that which devices there are."""
    told = (facts.get("accelerators") or {}).get(vendor) or {}
    if told.get("devices") is not None:
        return []
    readings = (told.get("readings") or {}).values()
    return [f"`{each['source']}`: {each['reason']}" for each in readings if each["state"] in IN_VAIN]


def _state(facts: Facts, backend: str, known: Sequence[Facts], about: Sequence[Finding]) -> tuple[str, str]:
    vendor, *_ = _LIBRARIES[backend]
    names = {label(vendor, device) for device in known}
    lost = {finding.subject.get("device") for finding in about if finding.status is Status.FAIL}
    if None in lost or (lost and names <= lost):
        return "not ready", _why([finding.message for finding in _worst_first(about)])
    unknown = {label(vendor, device): why for device in known if (why := untold(vendor, device))}
    dark = (
        [finding.message for finding in about if finding.status is Status.ERROR]
        or [f"{name}: {why}" for name, why in unknown.items()]
        or _asked_in_vain(facts, vendor)
    )
    if names <= {*unknown, *lost}:
        return "unknown", _why(dark)
    missing = _library(facts, backend)
    if missing is not None and not about:
        return missing
    wrong = [finding.message for finding in _worst_first(about)] or dark
    return ("degraded", _why(wrong)) if wrong else ("ready", "")


def _library(facts: Facts, backend: str) -> tuple[str, str] | None:
    """None where the library is there; else the state without it, and why."""
    told = {row["name"]: row for row in facts.get("backends") or ()}.get(backend)
    if told:
        return None if told["ready"] else ("not ready", told["reason"] or "")
    vendor, _, readings, packages = _LIBRARIES[backend]
    found = ((facts.get("accelerators") or {}).get(vendor) or {}).get("readings") or {}
    software = facts.get("software") or {}
    installed = software.get("packages")
    if any(name in found and has_told(found[name]) for name in readings) or any(
        (installed or {}).get(package) for package in packages
    ):
        return None
    if installed is None:
        return "unknown", f"nothing told whether {backend.upper()} is installed"
    return "not ready", f"{backend.upper()} was not found: no {' and no '.join((*readings, *packages))}"


def _plain(facts: Facts) -> Iterator[tuple[str, str, str, str, str]]:
    """Backends that run on CPUs, which only a living host has told of."""
    cores = (facts.get("cpu") or {}).get("physical_cores")
    for row in facts.get("backends") or ():
        if row["name"] not in _LIBRARIES:
            state = "ready" if row["ready"] and not row["reason"] else "degraded" if row["ready"] else "not ready"
            yield (
                row["name"],
                "CPUs" if cores is None else f"{cores} cores",
                _network(facts),
                state,
                row["reason"] or "",
            )


def _devices(known: Sequence[Facts], none: str, kind: str) -> str:
    models = Counter(device["name"] or kind for device in known)
    return ", ".join(f"{count} x {model}" for model, count in models.items()) or none


def _driver(facts: Facts, vendor: str) -> str:
    readings = ((facts.get("accelerators") or {}).get(vendor) or {}).get("readings") or {}
    told = (readings[name]["values"] for name in _DRIVERS if name in readings)
    version = next((values[key] for values in told for key in ("driver_version", "version") if values.get(key)), None)
    return "" if version is None else f", driver {version}"


def _links(facts: Facts, vendor: str, known: Sequence[Facts]) -> str:
    """The kinds of paths between the devices, the commonest first, and their ports."""
    kinds = Counter(kind for row in paths(facts, vendor).values() for kind in row)
    ports = Counter((device["readings"].get("link") or {}).get("values", {}).get("status") for device in known)
    told = [kind for kind, _ in kinds.most_common()]
    if ports["UP"] or ports["DOWN"]:
        told.append(f"{ports['UP']} of {ports['UP'] + ports['DOWN']} ports up")
    return ", ".join([*told, *_ports(facts, vendor)]) or "unknown"


def _ports(facts: Facts, vendor: str) -> list[str]:
    """RDMA ports, over which GPUs reach other hosts."""
    if vendor == "ascend":
        return []
    found = [port for device in (facts.get("rdma") or {}).get("devices") or () for port in device["ports"]]
    active = sum(port["state"] == "ACTIVE" for port in found)
    return [f"{active} of {len(found)} RDMA ports active"] if found else []


def _network(facts: Facts) -> str:
    interfaces = (facts.get("network") or {}).get("interfaces") or ()
    wires = [each["name"] for each in interfaces if each["state"] == "up" and not each["loopback"]]
    return ", ".join(["shared memory", *wires])


def _worst_first(about: Sequence[Finding]) -> list[Finding]:
    return sorted(about, key=lambda finding: _BAD.index(finding.status))


def _why(reasons: Sequence[str]) -> str:
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return reasons[0] + more if reasons else "no device was found"
