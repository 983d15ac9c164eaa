"""What stands between devices: an IOMMU, and whether all of this is a virtual machine. May import: probes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.host import Host
from probes.kernel_text import word

OFF, PASSTHROUGH, TRANSLATED = "off", "passthrough", "translated"

_PASSES = re.compile(r"(?:^|\s)(?:iommu=pt|iommu\.passthrough=1)(?:\s|$)")
_TRANSLATES = re.compile(r"(?:^|\s)(?:intel_iommu=on|iommu=(?:force|nopt)|iommu\.passthrough=0)(?:[,\s]|$)")
_MACHINES = re.compile(
    r"QEMU|KVM|VMware|VirtualBox|Xen|Virtual Machine|Google Compute Engine|OpenStack|HVM|Alibaba Cloud ECS",
    re.IGNORECASE,
)
_MADE_UP = ("virtio", "qemu", "vmware", "virtualbox", "hyper-v", "xen ")
"""In names of devices that only a hypervisor has."""


def iommu(host: Host, slots: Sequence[str]) -> str | None:
    """What the IOMMU does with the traffic of these devices; by the kernel's command line where no group tells."""
    classes = host.listdir("/sys/class")
    if classes is None:
        return None
    if not host.listdir("/sys/class/iommu"):
        return OFF
    types = {word(host.read(f"/sys/bus/pci/devices/{slot}/iommu_group/type")) for slot in slots} - {None}
    if types:
        return PASSTHROUGH if types == {"identity"} else TRANSLATED
    line = host.read("/proc/cmdline") or ""
    if _PASSES.search(line):
        return PASSTHROUGH
    return TRANSLATED if _TRANSLATES.search(line) else None


def virtual(host: Host, names: Sequence[str]) -> bool | None:
    """By the processor's flag, by what the firmware calls the machine, or by names of PCI devices; None where nothing
    tells."""
    flags = re.search(r"^flags\s*:(.*)$", host.read("/proc/cpuinfo") or "", re.MULTILINE)
    if flags:
        return "hypervisor" in flags[1].split()
    product = " ".join(
        filter(None, (host.read(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")))
    )
    if product.strip():
        return _MACHINES.search(product) is not None
    return True if any(mark in name.lower() for name in names for mark in _MADE_UP) else None
