"""`lscpu`: what it prints of the processor, for recordings that hold nothing else of it.

Some rows say "-" for what the machine does not tell, as "Socket(s): -" on ARM. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probes import cpu_model
from probes.host import Host
from probes.kernel_text import count, cpu_list, fields
from probes.printed import printed

_NODE = re.compile(r"NUMA node([0-9]{1,4}) CPU\(s\)")
_UNITS = {"": 0, "K": 10, "KiB": 10, "M": 20, "MiB": 20, "G": 30, "GiB": 30}
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([KMG]?(?:iB)?)(?: \(([0-9]{1,6}) instances?\))?")


@dataclass(frozen=True, slots=True)
class Processor:
    """`cores` of all sockets together. `nodes`: NUMA node -> its CPUs; empty where they are not told."""

    model: str | None
    architecture: str | None
    sockets: int | None
    cores: int | None
    threads_per_core: int | None
    logical_cpus: int | None
    offline_cpus: tuple[int, ...] | None
    last_level_cache_bytes: int | None
    virtual_machine: str | None
    flags: tuple[str, ...] | None
    nodes: Mapping[int, tuple[int, ...]]


def recorded(host: Host) -> Processor | None:
    """None where the kernel's own files are there, which tell more, or no output of lscpu is."""
    text = printed(host, ["lscpu"])
    if text is None or host.exists("/proc/cpuinfo") or host.exists("/sys/devices/system/cpu"):
        return None
    return parse(text)


def parse(text: str) -> Processor:
    """Rows of `key: value`; what is not among them is unknown."""
    rows = {key: value for key, value in fields(text).items() if value not in ("", "-")}
    logical, threads = count(rows.get("CPU(s)")), count(rows.get("Thread(s) per core"))
    online = cpu_list(rows.get("On-line CPU(s) list"))
    sockets, each = count(rows.get("Socket(s)")), count(rows.get("Core(s) per socket"))
    return Processor(
        model=rows.get("Model name") or rows.get("Vendor ID"),
        architecture=rows.get("Architecture"),
        sockets=sockets,
        cores=sockets * each if sockets and each else logical // threads if logical and threads else None,
        threads_per_core=threads,
        logical_cpus=len(online) if online else logical,
        offline_cpus=cpu_list(rows.get("Off-line CPU(s) list", "" if online else None)),
        last_level_cache_bytes=parse_size(rows.get("L3 cache") or rows.get("L2 cache")),
        virtual_machine=rows.get("Hypervisor vendor", "").lower() or None,
        flags=cpu_model.flags(f"flags: {rows['Flags']}") if "Flags" in rows else None,
        nodes={int(node[1]): cpu_list(rows[key]) or () for key in rows if (node := _NODE.fullmatch(key))},
    )


def parse_size(text: str | None) -> int | None:
    """Bytes of one cache of `280 MiB (4 instances)`; older versions print the size of one, as `36864K`."""
    match = _SIZE.match(text or "")
    if match is None or match[2] not in _UNITS:
        return None
    bits = _UNITS[match[2]]
    return int(float(match[1]) * (1 << bits)) // max(1, int(match[3] or 1))
