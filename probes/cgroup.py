"""What the control group grants this process: memory, CPU time, CPUs and processes; and whether it is in a container.

A limit may sit on any ancestor while the process's own group says "max", so the tightest one on the way up counts.
May import: probes.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Literal

from probes.cgroup_tree import Group, groups
from probes.host import Host
from probes.kernel_text import UNLIMITED, Bound, bound, count, cpu_list

_UNLIMITED_V1 = 1 << 62
"""Version 1 writes "no memory limit" as the largest multiple of the page size below 2^63."""
_OOM_KILL = re.compile(r"\boom_kill ([0-9]{1,20})\b")


@dataclass(frozen=True, slots=True)
class CgroupFacts:
    """None is unknown; "unlimited" was read.

    `memory_source` is the file that holds the tightest memory limit. `memory_headroom_bytes` is what may still be
    taken: the least of limit - use on the way up, where file cache that the kernel would rather drop is no use.
    `cpu_quota` is in CPUs: 2.0 is the time of two. `oom_kills`: processes of the group that the kernel ever ended for
    want of memory. `container` is the kind, None where no sign of one was seen.
    """

    version: str | None
    memory_limit_bytes: Bound | None
    memory_source: str | None
    memory_used_bytes: int | None
    memory_headroom_bytes: Bound | None
    cpu_quota: float | Literal["unlimited"] | None
    cpus: tuple[int, ...] | None
    pids_limit: Bound | None
    oom_kills: int | None
    container: str | None


def read(host: Host) -> CgroupFacts:
    version, ours = groups(host)
    memory = ours.get("memory")
    limits = _bounds(host, memory, _name(memory, "memory.max", "memory.limit_in_bytes"))
    limit, source = _tightest(limits, memory, host)
    return CgroupFacts(
        version=version,
        memory_limit_bytes=limit,
        memory_source=source,
        memory_used_bytes=_memory_used(host, memory, memory.folders[0]) if memory else None,
        memory_headroom_bytes=_headroom(host, memory, limits) if isinstance(limit, int) else limit,
        cpu_quota=_cpu_quota(host, ours.get("cpu")),
        cpus=_cpus(host, ours.get("cpuset")),
        pids_limit=_tightest(_bounds(host, ours.get("pids"), "pids.max"), ours.get("pids"), host)[0],
        oom_kills=_oom_kills(host, memory),
        container=container(host),
    )


def container(host: Host) -> str | None:
    """The kind of container this process is in, by the marks that the engines leave."""
    if "KUBERNETES_SERVICE_HOST" in host.environ:
        return "kubernetes"
    if host.exists("/.dockerenv"):
        return "docker"
    if host.exists("/run/.containerenv"):
        return "podman"
    group = host.read("/proc/self/cgroup") or ""
    marks = {"kubepods": "kubernetes", "docker": "docker", "libpod": "podman", "lxc": "lxc"}
    return next((kind for mark, kind in marks.items() if mark in group), None)


def parse_quota_v2(text: str | None) -> float | Literal["unlimited"] | None:
    """`200000 100000` (microseconds of time, of period) is 2.0 CPUs; `max 100000` is unlimited."""
    time, _, period = (text or "").strip().partition(" ")
    return _cpus_of(bound(time, "max"), count(period))


def _cpus_of(time: Bound | None, period: int | None) -> float | Literal["unlimited"] | None:
    if time is None or isinstance(time, str):
        return time
    return time / period if period and time > 0 else None


def _name(group: Group | None, v2: str, v1: str) -> str:
    return v2 if group and group.version == 2 else v1


def _bounds(host: Host, group: Group | None, name: str) -> dict[str, Bound]:
    """{file: limit} of the folders that have the file; the topmost group of version 2 has none."""
    found: dict[str, Bound] = {}
    for folder in group.folders if group else ():
        limit = bound(host.read(f"{folder}/{name}"), "max")
        if limit is not None:
            found[f"{folder}/{name}"] = UNLIMITED if isinstance(limit, int) and limit >= _UNLIMITED_V1 else limit
    return found


def _tightest(limits: dict[str, Bound], group: Group | None, host: Host) -> tuple[Bound | None, str | None]:
    """(the least limit, its file). No limit anywhere is UNLIMITED, as long as the folders could be seen at all."""
    numbers = {path: limit for path, limit in limits.items() if isinstance(limit, int)}
    if numbers:
        source = min(numbers, key=lambda path: numbers[path])
        return numbers[source], source
    return (UNLIMITED if limits or _visible(host, group) else None), None


def _visible(host: Host, group: Group | None) -> bool:
    return group is not None and host.listdir(group.folders[0]) is not None


def _headroom(host: Host, group: Group | None, limits: dict[str, Bound]) -> int | None:
    """Where use cannot be read the limit itself is the bound: less is left than that, more never."""
    rests = [
        max(0, limit - (_memory_used(host, group, posixpath.dirname(path)) or 0))
        for path, limit in limits.items()
        if group and isinstance(limit, int)
    ]
    return min(rests, default=None)


def _memory_used(host: Host, group: Group, folder: str) -> int | None:
    use = count(host.read(f"{folder}/{_name(group, 'memory.current', 'memory.usage_in_bytes')}"))
    if use is None:
        return None
    words = (host.read(f"{folder}/memory.stat") or "").split()
    statistics = dict(zip(words[::2], words[1::2], strict=False))
    cache = count(statistics.get(_name(group, "inactive_file", "total_inactive_file")))
    return max(0, use - (cache or 0))


def _oom_kills(host: Host, group: Group | None) -> int | None:
    """Of the nearest group that counts them; it counts those of the groups below, too."""
    for folder in group.folders if group else ():
        events = host.read(f"{folder}/{_name(group, 'memory.events', 'memory.oom_control')}") or ""
        if match := _OOM_KILL.search(events):
            return count(match[1])
    return None


def _cpu_quota(host: Host, group: Group | None) -> float | Literal["unlimited"] | None:
    quotas = [_quota_of(host, group, folder) for folder in group.folders] if group else []
    numbers = [quota for quota in quotas if isinstance(quota, float)]
    if numbers:
        return min(numbers)
    return UNLIMITED if UNLIMITED in quotas or _visible(host, group) else None


def _quota_of(host: Host, group: Group, folder: str) -> float | Literal["unlimited"] | None:
    if group.version == 2:
        return parse_quota_v2(host.read(f"{folder}/cpu.max"))
    time = bound(host.read(f"{folder}/cpu.cfs_quota_us"), "-1")
    return _cpus_of(time, count(host.read(f"{folder}/cpu.cfs_period_us")))


def _cpus(host: Host, group: Group | None) -> tuple[int, ...] | None:
    """The CPUs of the nearest group that says; an effective list already holds every ancestor's."""
    for folder in group.folders if group else ():
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            if cpus := cpu_list(host.read(f"{folder}/{name}")):
                return cpus
    return None
