"""The processor: model, cores and threads, caches, and which of its cores this process may really use.

Sources: /proc/cpuinfo, /sys/devices/system/cpu, /proc/self/status (affinity) and the control group's CPU quota; where
a recording has none of them, `lscpu`.
May import: probes.
"""

from __future__ import annotations

from dataclasses import dataclass

from probes import cgroup, frequency, lscpu
from probes.cpu_model import flags, model
from probes.frequency import Frequency
from probes.host import Host
from probes.kernel_text import count, cpu_list, fields, word
from probes.virtual_machine import virtual_machine

_CPUS = "/sys/devices/system/cpu"


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache, as seen from one CPU; `shared_by` counts the logical CPUs that share it."""

    level: int
    type: str
    size_bytes: int | None
    shared_by: int | None


@dataclass(frozen=True, slots=True)
class CpuFacts:
    """`logical_cpus` and `installed_cores` are the host's, online; `offline_cpus` are there, and switched off.
    `allowed_cpus` is the affinity of this process.

    `governor` names all that are in force. `virtual_machine` is the kind of machine, None where it is a real one.
    `core_cpus` has one logical CPU per allowed physical core, for pinning. `physical_cores` is how many of them can
    run at once: their number, or less where the CPU quota is smaller (a quota of 2 on 64 cores gives 2).
    """

    model: str | None
    architecture: str | None
    sockets: int | None
    installed_cores: int | None
    logical_cpus: int | None
    offline_cpus: tuple[int, ...] | None
    threads_per_core: int | None
    allowed_cpus: tuple[int, ...] | None
    core_cpus: tuple[int, ...] | None
    physical_cores: int | None
    caches: tuple[Cache, ...] | None
    last_level_cache_bytes: int | None
    last_level_cache_shared_by: int | None
    governor: str | None
    frequency: Frequency | None
    virtual_machine: str | None
    flags: tuple[str, ...] | None


def read(host: Host) -> CpuFacts:
    if recorded := lscpu.recorded(host):
        return _of_lscpu(recorded)
    cpuinfo = host.read("/proc/cpuinfo")
    runtime = host.runtime()
    online = cpu_list(host.read(f"{_CPUS}/online"))
    allowed = cpu_list(fields(host.read("/proc/self/status")).get("Cpus_allowed_list"))
    if allowed is not None and online is not None:
        # The affinity may name CPUs that could one day be plugged in.
        allowed = tuple(cpu for cpu in allowed if cpu in set(online))
    siblings = {cpu: _siblings(host, cpu) for cpu in online or ()}
    cores = first_of_each(online, siblings)
    core_cpus = first_of_each(allowed, siblings)
    caches = _caches(host, allowed or online or ())
    last = max(caches or (), key=lambda cache: cache.level, default=None)
    speed = frequency.read(host, online or ())
    return CpuFacts(
        model=model(cpuinfo),
        architecture=runtime.architecture if runtime else None,
        sockets=_sockets(host, online),
        installed_cores=None if cores is None else len(cores),
        logical_cpus=None if online is None else len(online),
        offline_cpus=_offline(cpu_list(host.read(f"{_CPUS}/present")), online),
        threads_per_core=max((len(group) for group in siblings.values() if group), default=None),
        allowed_cpus=allowed,
        core_cpus=core_cpus,
        physical_cores=within_quota(core_cpus, cgroup.read(host).cpu_quota),
        caches=caches,
        last_level_cache_bytes=last.size_bytes if last else None,
        last_level_cache_shared_by=last.shared_by if last else None,
        governor=", ".join(speed.governors) if speed.governors else None,
        frequency=speed if speed != frequency.UNKNOWN else None,
        virtual_machine=virtual_machine(host, cpuinfo),
        flags=flags(cpuinfo),
    )


def first_of_each(cpus: tuple[int, ...] | None, siblings: dict[int, tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """The lowest of `cpus` on each physical core; None when it is not known which share a core."""
    cores: dict[tuple[int, ...], int] = {}
    for cpu in cpus or ():
        core = siblings.get(cpu)
        if core is None:
            return None
        cores.setdefault(core, cpu)
    return tuple(cores.values()) or None


def within_quota(core_cpus: tuple[int, ...] | None, quota: float | str | None) -> int | None:
    """How many cores can run at once; a quota below one CPU still runs one, at times."""
    if core_cpus is None:
        return None
    return min(len(core_cpus), max(1, int(quota))) if isinstance(quota, float) else len(core_cpus)


def parse_cache_size(text: str | None) -> int | None:
    """`32768K` in bytes."""
    size = count((text or "").strip().removesuffix("K"))
    return None if size is None else size * 1024


def _offline(present: tuple[int, ...] | None, online: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if present is None or online is None:
        return None
    return tuple(sorted(set(present) - set(online)))


def _siblings(host: Host, cpu: int) -> tuple[int, ...] | None:
    return cpu_list(host.read(f"{_CPUS}/cpu{cpu}/topology/thread_siblings_list"))


def _sockets(host: Host, online: tuple[int, ...] | None) -> int | None:
    """Some ARM machines answer -1 for every CPU: unknown."""
    ids = {count(host.read(f"{_CPUS}/cpu{cpu}/topology/physical_package_id")) for cpu in online or ()}
    return len(ids) if ids and None not in ids else None


def _caches(host: Host, cpus: tuple[int, ...]) -> tuple[Cache, ...] | None:
    """Those of the first CPU."""
    folder = f"{_CPUS}/cpu{cpus[0]}/cache" if cpus else ""
    names = host.listdir(folder) if folder else None
    caches = [_cache(host, f"{folder}/{name}") for name in names or () if name.startswith("index")]
    known = [cache for cache in caches if cache]
    return tuple(sorted(known, key=lambda cache: (cache.level, cache.type))) or None


def _cache(host: Host, folder: str) -> Cache | None:
    level, kind = count(host.read(f"{folder}/level")), word(host.read(f"{folder}/type"))
    if level is None or kind is None:
        return None
    shared = cpu_list(host.read(f"{folder}/shared_cpu_list"))
    return Cache(level, kind.lower(), parse_cache_size(host.read(f"{folder}/size")), len(shared) if shared else None)


def _of_lscpu(said: lscpu.Processor) -> CpuFacts:
    """What lscpu tells of a host, which is nothing of the process that asked it."""
    return CpuFacts(
        model=said.model,
        architecture=said.architecture,
        sockets=said.sockets,
        installed_cores=said.cores,
        logical_cpus=said.logical_cpus,
        offline_cpus=said.offline_cpus,
        threads_per_core=said.threads_per_core,
        allowed_cpus=None,
        core_cpus=None,
        physical_cores=None,
        caches=None,
        last_level_cache_bytes=said.last_level_cache_bytes,
        last_level_cache_shared_by=None,
        governor=None,
        frequency=None,
        virtual_machine=said.virtual_machine,
        flags=said.flags,
    )
