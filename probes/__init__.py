"""What a host is: facts read from files, commands and the environment; never judged, never printed.

PROBES maps a section of `opsdist info` to its module, in the order people read them. A module has `read(visit)` and is
imported when its section is asked for. Nothing here imports another package of opsdist, and only `host.py` touches the
machine, so every probe also runs on a folder of recorded files.
"""

from __future__ import annotations

PROBES: dict[str, str] = {
    "cpu": "probes.cpu",
    "memory": "probes.memory",
    "numa": "probes.numa",
    "cgroup": "probes.cgroup",
    "network": "probes.network",
    "rdma": "probes.rdma",
    "pcie": "probes.pcie",
    "accelerators": "probes.accelerators",
    "log": "probes.log",
    "clock": "probes.clock",
    "limits": "probes.limits",
    "software": "probes.software",
    "environment": "probes.environment",
}
