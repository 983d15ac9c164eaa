"""What a host has that decides how grave a finding is: accelerators, RDMA devices; or whether it is a virtual machine.

Advice for clusters of accelerators is no warning for a plain host. May import: rule, report.
"""

from __future__ import annotations

from suites.checks.rule import Facts
from suites.report import Status

VENDORS = ("ascend", "nvidia", "amd")
_SOFTWARE = frozenset({"smi", "soft"})


def accelerators(facts: Facts) -> dict[str, int]:
    """Vendor -> how many devices; none of a vendor that has none here, or of whom nothing is known."""
    section = facts.get("accelerators") or {}
    counts = {vendor: len((section.get(vendor) or {}).get("devices") or ()) for vendor in VENDORS}
    return {vendor: count for vendor, count in counts.items() if count}


def rdma_devices(facts: Facts) -> tuple[str, ...] | None:
    """Names of RDMA devices but for those made of software; None where they are unknown."""
    devices = (facts.get("rdma") or {}).get("devices")
    if devices is None:
        return None
    return tuple(device["name"] for device in devices if device.get("virtual") not in _SOFTWARE)


def port_rate(facts: Facts, slot: str) -> float | None:
    """Bits per second of the fastest port of the card at this PCI address; None where no port tells."""
    adapters = (facts.get("rdma") or {}).get("devices") or ()
    interfaces = (facts.get("network") or {}).get("interfaces") or ()
    rates = [port["rate_bits_per_second"] for each in adapters if each["pci_slot"] == slot for port in each["ports"]]
    rates += [8 * (each["speed_bytes_per_second"] or 0) for each in interfaces if each["pci_slot"] == slot]
    return max(filter(None, rates), default=None)


def virtual(facts: Facts) -> bool:
    return bool((facts.get("cpu") or {}).get("virtual_machine"))


def graver(facts: Facts) -> Status:
    """A warning where accelerators are, else a remark: what slows a job down, and does no harm elsewhere."""
    return Status.WARN if accelerators(facts) else Status.INFO
