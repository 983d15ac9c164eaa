"""Whether the host is a virtual machine, and whose.

x86 processors say so in /proc/cpuinfo; what the maker of the machine is called, in /sys/class/dmi/id. Cloud providers
give their bare-metal hosts the same maker, so on x86 only the processor's word counts. May import: probes.
"""

from __future__ import annotations

from probes.host import Host
from probes.kernel_text import fields, word

SOME = "of unknown kind"
_DMI = "/sys/class/dmi/id"
_MAKERS = (
    ("VMware", "vmware"), ("innotek", "virtualbox"), ("VirtualBox", "virtualbox"), ("Parallels", "parallels"),
    ("Virtual Machine", "hyper-v"), ("Xen", "xen"), ("HVM domU", "xen"), ("QEMU", "kvm"), ("KVM", "kvm"),
    ("OpenStack", "kvm"), ("Bochs", "kvm"), ("RHEV", "kvm"), ("Google Compute Engine", "google"),
    ("Amazon EC2", "amazon"), ("Alibaba Cloud", "alibaba"),
)  # fmt: skip
"""Words in the names of maker and product, as systemd-detect-virt knows them."""
_METAL = "metal"
"""Part of the product's name where a cloud provider lends a whole machine."""


def virtual_machine(host: Host, cpuinfo: str | None) -> str | None:
    """The kind, None where no sign of one was seen."""
    features = fields(cpuinfo).get("flags")
    if word(host.read("/sys/hypervisor/type")) == "xen":
        return "xen"
    if host.exists("/proc/device-tree/hypervisor") or "hypervisor" in (features or "").split():
        return _maker(host) or SOME
    return _maker(host) if features is None else None


def _maker(host: Host) -> str | None:
    names = " ".join(word(host.read(f"{_DMI}/{name}")) or "" for name in ("sys_vendor", "product_name"))
    if _METAL in names:
        return None
    return next((kind for mark, kind in _MAKERS if mark in names), None)
