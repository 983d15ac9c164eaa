"""What `opsdist info` judges about one host: facts in, findings out, nothing read.

A check is silent when all is well or its section was not asked for, and a skip when the fact is unknown: missing data
is never a pass. May import: suites.report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from suites.report import Finding, Status

Facts = Mapping[str, Any]
"""The record's facts of one host: section -> facts; absent or None where unknown."""

LEAST_SHM = 1 << 30
"""NCCL, MPI and data loaders put tens of MiB a rank there; containers start with 64 MiB in all. (The built-in backend
does not: its memory is anonymous.)"""

LEAST_FILES = 4096
"""Every pair of ranks takes sockets and descriptors; 1024, the usual default, ends at a few dozen ranks."""


def shm(host: str, facts: Facts) -> list[Finding]:
    if "memory" not in facts:
        return []
    size = facts["memory"]["shm_bytes"]
    evidence = {"value": size, "threshold": LEAST_SHM, "source": "statvfs /dev/shm"}
    if size is None:
        return [_skip("memory.shm_small", host, "the size of /dev/shm could not be read", evidence)]
    if size >= LEAST_SHM:
        return []
    remedy = (
        "start the container with --shm-size=8g or --ipc=host (Kubernetes: an emptyDir of medium Memory at /dev/shm); "
        "on a host: mount -o remount,size=8G /dev/shm"
    )
    message = "/dev/shm is smaller than 1 GiB: ranks exchange data there and fail with 'No space left on device'"
    return [_finding("memory.shm_small", Status.WARN, host, message, remedy, evidence)]


def open_files(host: str, facts: Facts) -> list[Finding]:
    if "limits" not in facts:
        return []
    limit = facts["limits"]["nofile"] or {"soft": None, "hard": None}
    soft, hard = limit["soft"], limit["hard"]
    evidence = {"value": soft, "threshold": LEAST_FILES, "source": "/proc/self/limits"}
    if soft is None:
        return [_skip("limits.nofile_low", host, "the limit of open files could not be read", evidence)]
    if soft == "unlimited" or soft >= LEAST_FILES:
        return []
    enough = hard == "unlimited" or (hard or 0) >= LEAST_FILES
    here = f"ulimit -n {65536 if hard == 'unlimited' else hard} before starting ranks; " if enough else ""
    remedy = (
        f"{here}for good: nofile in /etc/security/limits.conf, LimitNOFILE= of the service, or --ulimit nofile=65536"
    )
    message = f"only {soft} files may be open: with many ranks connections fail with 'Too many open files'"
    return [_finding("limits.nofile_low", Status.WARN, host, message, remedy, evidence)]


def cpu_quota(host: str, facts: Facts) -> list[Finding]:
    """Needs both sections: a quota matters only against the CPUs it is shared out to."""
    if "cgroup" not in facts or "cpu" not in facts:
        return []
    quota, allowed = facts["cgroup"]["cpu_quota"], facts["cpu"]["allowed_cpus"]
    cpus = len(allowed) if allowed else None
    evidence = {"value": quota, "threshold": cpus, "source": "cpu.max or cpu.cfs_quota_us of the control group"}
    if quota is None or cpus is None:
        return [_skip("cgroup.cpu_quota", host, "the CPU quota or the allowed CPUs could not be read", evidence)]
    if quota == "unlimited" or quota >= cpus:
        return []
    message = f"the CPU quota is {quota:g} of {cpus} CPUs: with more busy ranks all of them are paused now and then"
    remedy = f"keep the number of ranks here to {max(1, int(quota))}, or raise the container's CPU limit"
    return [_finding("cgroup.cpu_quota", Status.INFO, host, message, remedy, evidence)]


def backends(host: str, facts: Facts) -> list[Finding]:
    """Those that are ready, with something amiss."""
    return [
        _finding(
            f"backends.{backend['name']}", Status.WARN, host, backend["reason"], backend["remedy"] or "",
            {"value": backend["name"], "threshold": None, "source": "the backend itself"},
        )
        for backend in facts.get("backends") or ()
        if backend["ready"] and backend["reason"]
    ]  # fmt: skip


CHECKS: tuple[Callable[[str, Facts], list[Finding]], ...] = (shm, open_files, cpu_quota, backends)


def _finding(check: str, status: Status, host: str, message: str, remedy: str, evidence: Facts) -> Finding:
    return Finding(check, status, message, {"host": host}, remedy, evidence)


def _skip(check: str, host: str, message: str, evidence: Facts) -> Finding:
    return Finding(check, Status.SKIP, message, {"host": host}, None, evidence)
