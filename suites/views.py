"""Views of `opsdist info`: a row a device, of what a collective library needs of it, with a verdict.

`-t hccl` and `-t nccl` name them like sections. npu-smi has no such type, so what stands in a row is chosen here: the
device, its links to its siblings, its way out of the host, and what is wrong with it.
May import: probes.topology, checks' readings, report, topology.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from probes.topology.told import is_accelerator, matrix_of
from suites.checks.readings import devices, has_told, label, value
from suites.report import Finding, Status
from suites.topology import summary

Facts = Mapping[str, Any]

_WORST = (Status.FAIL, Status.ERROR, Status.WARN)
_GPUS = ("nvidia", "amd")
IN_VAIN = ("refused", "taken", "late", "failed")
"""How questions end that are no answer, though there is one."""
_ASK = "look again as root, or see the findings about tools for what kept them from answering"


def hccl(facts: Facts, findings: Sequence[Finding]) -> list[dict[str, Any]] | None:
    """Ascend NPUs; None where they are unknown. Links are those of HCCS: how many there are and are up, their least
    lanes, retries and errors."""
    if not _are_known(facts, "ascend"):
        return None
    return [
        {
            "device": label("ascend", device), "card": device["card"], "chip": device["chip"],
            "name": device["name"], "bus": device["bus"], "health": health(device),
            **_hccs(device),
            "port": _told(device, "link", "status"), "mbps": _told(device, "speed", "mbps"),
            "net_health": _told(device, "net_health", "status"), "address": device["address"],
            "netmask": _told(device, "ip", "netmask"), "gateway": _told(device, "gateway", "address"),
            "netdetect": _told(device, "netdetect", "address"), "mtu": _told(device, "mtu", "mtu"),
            "fec": _told(device, "fec", "mode"), "tls": _told(device, "tls", "switch"),
            "switch_port": _told(device, "lldp", "port"),
            **_verdict("ascend", device, findings),
        }
        for device in devices(facts, "ascend")
    ]  # fmt: skip


def nccl(facts: Facts, findings: Sequence[Finding]) -> list[dict[str, Any]] | None:
    """NVIDIA and AMD GPUs, which NCCL and RCCL run on; None where they are unknown. Links are the kinds of paths to the
    siblings, with how many."""
    if not any(_are_known(facts, vendor) for vendor in _GPUS):
        return None
    return [
        {
            "device": label(vendor, device), "vendor": vendor, "name": device["name"], "bus": device["bus"],
            "links": _paths(facts, vendor, label(vendor, device)), "pcie": _pcie(facts, device["bus"]),
            **_verdict(vendor, device, findings),
        }
        for vendor in _GPUS
        for device in devices(facts, vendor)
    ]  # fmt: skip


def topology(facts: Facts, findings: Sequence[Finding]) -> dict[str, Any]:
    """How devices reach each other, as `opsdist topo` draws it."""
    return summary(facts)


def _are_known(facts: Facts, vendor: str) -> bool:
    return ((facts.get("accelerators") or {}).get(vendor) or {}).get("devices") is not None


def health(device: Facts) -> str | None:
    """Of an NPU: as it says itself, else as the table of all has it."""
    return next((told for query in ("health", "info") if (told := _told(device, query, "health"))), None)


def untold(vendor: str, device: Facts) -> str | None:
    """Why it is not known how a device is; None where enough was told. An NPU without a network port is not asked for
    it, or says that it has none."""
    readings: Mapping[str, Facts] = device["readings"]
    if not any(map(has_told, readings.values())):
        return next(
            (f"nothing was told of it: {each['reason']}" for each in readings.values()), "nothing was told of it"
        )
    if vendor != "ascend":
        return None
    port = readings.get("link")
    if health(device) is None:
        return "its health was not told"
    if port is not None and port["state"] in IN_VAIN:
        return f"its network port was not told: {port['reason']}"
    return None


def _told(device: Facts, query: str, name: str) -> Any:
    reading = device["readings"].get(query)
    return None if reading is None else value(reading, name)


def _hccs(device: Facts) -> dict[str, Any]:
    """Under either name that builds of the tool give these links."""
    reading = device["readings"].get("hccs") or device["readings"].get("xlink") or {}
    lanes = (reading.get("values") or {}).get("lane_mode")
    counters = reading.get("counters") or {}

    def total(kind: str) -> int | None:
        counts = [count for name, count in counters.items() if name.endswith(kind)]
        return sum(counts) if counts else None

    return {
        "hccs_links": None if lanes is None else len(lanes),
        "hccs_up": None if lanes is None else sum(lane > 0 for lane in lanes),
        "hccs_lanes": min(lanes) if lanes else None,
        "hccs_retries": total("retry_count"),
        "hccs_errors": total("error_count"),
    }


def paths(facts: Facts, vendor: str) -> Mapping[str, list[str]]:
    """Accelerator -> kinds of its paths to the others, as the vendor's tool has them; empty where it has not told."""
    told = matrix_of(facts, vendor)
    return {
        one: [kind for other, kind in row.items() if is_accelerator(other)]
        for one, row in told.items()
        if is_accelerator(one)
    }


def _paths(facts: Facts, vendor: str, name: str) -> dict[str, int]:
    return dict(Counter(paths(facts, vendor).get(name, ())))


def _pcie(facts: Facts, bus: str | None) -> dict[str, Any] | None:
    """Lanes in use and at most."""
    found = [device for device in (facts.get("pcie") or {}).get("devices") or () if device["id"] == bus]
    return {name: found[0][name] for name in ("width", "width_max")} if found else None


def _verdict(vendor: str, device: Facts, findings: Sequence[Finding]) -> dict[str, Any]:
    """not ready or degraded, by the worst that was found about it; unknown, when too little was told; else ready."""
    name = label(vendor, device)
    about = [finding for finding in findings if finding.subject.get("device") == name and finding.status in _WORST]
    about.sort(key=lambda finding: _WORST.index(finding.status))
    why = [finding.message for finding in about]
    if about and about[0].status is not Status.WARN:
        return {"state": "not ready", "why": why, "remedy": about[0].remedy}
    missing = untold(vendor, device)
    if missing is not None:
        return {"state": "unknown", "why": [missing, *why], "remedy": _ASK}
    return {"state": "degraded" if about else "ready", "why": why, "remedy": about[0].remedy if about else None}
