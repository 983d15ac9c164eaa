"""What the kernel is set to, as far as communication depends on it: the switches of /proc/sys and of its command line.

May import: probes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import count

_SYS = "/proc/sys"
_FILTERS = f"{_SYS}/net/ipv4/conf"
_OPTION = re.compile(
    r"(?:(?:intel_|amd_)?iommu(?:\.passthrough|\.strict)?|isolcpus|nohz_full|rcu_nocbs|(?:default_)?hugepagesz?|mitigations"
    r"|transparent_hugepage|numa_balancing|(?:processor|intel_idle)\.max_cstate|idle|intel_pstate|amd_pstate"
    r"|cpufreq\.default_governor|clocksource|tsc|pcie_aspm|pci|nosmt|numa|nomodeset|maxcpus|nr_cpus|mem"
    r"|systemd\.unified_cgroup_hierarchy|cgroup_no_v1|swapaccount|audit|nmi_watchdog|nosoftlockup)(?:=[^\s/]{1,80})?"
)
"""Options that change how fast or how evenly a host runs. Others may name disks and hosts, and stay out."""
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")

Ports = tuple[int, int]
"""First and last."""


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """None is unknown. Bytes, connections and counts; `port_range` is what the kernel gives to outgoing connections,
    but for `reserved_ports`. `reverse_path_filter`: interface -> 0 off, 1 strict, 2 loose; "all" holds for each of
    them that is not stricter. `options`: those of the command line that change how the host runs."""

    somaxconn: int | None
    tcp_max_syn_backlog: int | None
    port_range: Ports | None
    reserved_ports: tuple[Ports, ...] | None
    rmem_max: int | None
    wmem_max: int | None
    reverse_path_filter: dict[str, int] | None
    pid_max: int | None
    threads_max: int | None
    max_map_count: int | None
    options: tuple[str, ...] | None


def read(host: Host) -> KernelSettings:
    def number(path: str) -> int | None:
        return count(host.read(f"{_SYS}/{path}"))

    interval = parse_ports((host.read(f"{_SYS}/net/ipv4/ip_local_port_range") or "").replace("\t", " "))
    return KernelSettings(
        somaxconn=number("net/core/somaxconn"),
        tcp_max_syn_backlog=number("net/ipv4/tcp_max_syn_backlog"),
        port_range=interval,
        reserved_ports=parse_reserved(host.read(f"{_SYS}/net/ipv4/ip_local_reserved_ports")),
        rmem_max=number("net/core/rmem_max"),
        wmem_max=number("net/core/wmem_max"),
        reverse_path_filter=_filters(host),
        pid_max=number("kernel/pid_max"),
        threads_max=number("kernel/threads-max"),
        max_map_count=number("vm/max_map_count"),
        options=parse_options(host.read("/proc/cmdline")),
    )


def parse_ports(text: str) -> Ports | None:
    """`32768 60999` as the kernel writes a range."""
    parts = [count(part) for part in text.split()]
    match parts:
        case [int(first), int(last)] if first <= last < 1 << 16:
            return first, last
    return None


def parse_reserved(text: str | None) -> tuple[Ports, ...] | None:
    """`8080,60000-60031`; an empty list is ()."""
    if text is None:
        return None
    found = []
    for part in filter(None, text.strip().split(",")):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return None
        found.append((int(match[1]), int(match[2] or match[1])))
    return tuple(found)


def parse_options(text: str | None) -> tuple[str, ...] | None:
    """Those that are known to matter, in their order, which may decide."""
    return None if text is None else tuple(word for word in text.split() if _OPTION.fullmatch(word))


def _filters(host: Host) -> dict[str, int] | None:
    names = host.listdir(_FILTERS)
    if names is None:
        return None
    told = {name: count(host.read(f"{_FILTERS}/{name}/rp_filter")) for name in names}
    return {name: value for name, value in told.items() if value is not None}
