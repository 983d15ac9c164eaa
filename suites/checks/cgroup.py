"""Rules about what a control group leaves of the host. May import: rule, equipment, sizes, report."""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.equipment import accelerators, graver
from suites.checks.rule import Case, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.checks.sizes import binary
from suites.report import Status

_GIB = 1 << 30


def _cpu_quota(case: Case) -> Iterator[Judged]:
    """A quota matters only against the CPUs it is shared out to."""
    quota, allowed = case.facts["cgroup"]["cpu_quota"], case.facts["cpu"]["allowed_cpus"]
    cpus = len(allowed) if allowed else None
    evidence = {"value": quota, "threshold": cpus, "source": "cpu.max or cpu.cfs_quota_us of the control group"}
    if quota is None or cpus is None:
        yield unknown("the CPU quota or the allowed CPUs could not be read", evidence)
    elif quota == "unlimited" or quota >= cpus:
        yield ok()
    else:
        message = f"the CPU quota is {quota:g} of {cpus} CPUs: with more busy ranks all of them are paused now and then"
        remedy = f"keep the number of ranks here to {max(1, int(quota))}, or raise the container's CPU limit"
        yield broken(message, evidence, remedy=remedy)


def _memory_limit(case: Case) -> Iterator[Judged]:
    """Per device, since every rank holds its model's parts and its loaders' data in the host's memory for a while."""
    facts = case.facts["cgroup"]
    limit, source = facts["memory_limit_bytes"], facts["memory_source"]
    devices = sum(accelerators(case.facts).values())
    least = case.limits["least"] + devices * case.limits["each"]
    if limit is None:
        return
    if limit == "unlimited" or limit >= least:
        yield ok()
        return
    beside = f", and there are {devices} devices" if devices else ""
    message = f"the control group may use {binary(limit)} of memory{beside}: past that a rank is ended"
    yield broken(message, {"file": source, "value": limit, "threshold": least}, status=graver(case.facts))


def _headroom(case: Case) -> Iterator[Judged]:
    left, least = case.facts["cgroup"]["memory_headroom_bytes"], case.limits["least"]
    if left is None:
        return
    if left == "unlimited" or left >= least:
        yield ok()
        return
    message = f"{binary(left)} are left of what the control group may use: the next process may be ended for it"
    yield broken(message, {"file": case.facts["cgroup"]["memory_source"], "value": left, "threshold": least})


def _oom_kills(case: Case) -> Iterator[Judged]:
    kills = case.facts["cgroup"]["oom_kills"]
    if kills:
        message = f"the kernel has ended {kills} processes of this control group for want of memory, at some time"
        yield broken(message, {"file": "memory.events", "value": kills, "threshold": 0})
    elif kills == 0:
        yield ok()


def _oom_killed(case: Case) -> Iterator[Judged]:
    before, after = case.earlier["cgroup"]["oom_kills"], case.facts["cgroup"]["oom_kills"]
    if before is None or after is None or after < before:
        return
    if after == before:
        yield ok()
        return
    message = f"the kernel has ended {after - before} processes of this control group since then, for want of memory"
    yield broken(message, {"file": "memory.events", "value": after, "threshold": before})


def _cpus(case: Case) -> Iterator[Judged]:
    granted, online = case.facts["cgroup"]["cpus"], case.facts["cpu"]["logical_cpus"]
    if not granted or online is None:
        return
    if len(granted) >= online:
        yield ok()
    else:
        message = f"the control group grants {len(granted)} of the host's {online} CPUs"
        yield broken(message, {"file": "cpuset.cpus.effective", "value": len(granted), "threshold": online})


def _pids(case: Case) -> Iterator[Judged]:
    limit, least = case.facts["cgroup"]["pids_limit"], case.limits["least"]
    if limit is None:
        return
    if limit == "unlimited" or limit >= least:
        yield ok()
    else:
        message = f"the control group may have {limit} threads: ranks start hundreds each, and then none any more"
        yield broken(message, {"file": "pids.max", "value": limit, "threshold": least}, status=graver(case.facts))


RULES = (
    Rule(
        name="cgroup.cpu_quota",
        summary="the CPU quota covers all CPUs that ranks may run on",
        why="Past the quota the kernel pauses all threads of the group for the rest of a period, and every rank waits.",
        remedy="keep the number of busy ranks below the quota, or raise the container's CPU limit",
        status=Status.INFO,
        needs=("cgroup", "cpu"),
        judge=_cpu_quota,
    ),
    Rule(
        name="cgroup.memory_limit",
        summary="the control group leaves enough memory",
        why="The limit of a job or container may be far below the host's memory, and sits on any of its groups; past "
        "it the kernel ends a process of the group.",
        remedy="ask for more: srun --mem, docker run --memory, resources.limits.memory of the pod",
        status=Status.WARN,
        needs=("cgroup",),
        judge=_memory_limit,
        thresholds={
            "least": Threshold(2 * _GIB, "bytes", "a Python process with torch in it takes 1 GiB and more"),
            "each": Threshold(8 * _GIB, "bytes for each device", "a rank's pinned buffers and its data loaders"),
        },
    ),
    Rule(
        name="cgroup.memory_left",
        summary="memory is left of what the control group may use",
        why="A rank that allocates the last of it is ended by the kernel, and the others wait for it.",
        remedy="end what runs besides in this group, or ask for more memory",
        status=Status.WARN,
        needs=("cgroup",),
        judge=_headroom,
        thresholds={"least": Threshold(_GIB // 4, "bytes", "what one rank of opsdist takes, and as much again")},
    ),
    Rule(
        name="cgroup.oom_kills",
        summary="no process of the control group was ended for want of memory",
        why="The count is that of the group's whole life, so that it may tell of an earlier job.",
        remedy="see `dmesg | grep -i oom`; if it was this job ask for more memory, or use fewer data loaders",
        status=Status.INFO,
        needs=("cgroup",),
        judge=_oom_kills,
    ),
    Rule(
        name="cgroup.oom_killed",
        summary="the control group has not run out of memory between the two looks",
        why="The kernel ends a rank or a data loader without a word in the job's own log; the other ranks wait for it.",
        remedy="ask for more memory (srun --mem, docker run --memory), or use fewer data loaders or a smaller batch",
        status=Status.WARN,
        needs=("cgroup",),
        judge=_oom_killed,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="cgroup.cpus_restricted",
        summary="the control group grants all CPUs of the host",
        why="A job that was given a part of the CPUs runs there; ranks bound to others end up together on these.",
        remedy="nothing if the job was meant to have so many; else srun --cpus-per-task, docker run --cpuset-cpus",
        status=Status.INFO,
        needs=("cgroup", "cpu"),
        judge=_cpus,
    ),
    Rule(
        name="cgroup.pids_low",
        summary="the control group may have enough processes and threads",
        why="Containers of Kubernetes and docker may have a limit of some hundred or thousand; then no thread can be "
        "started, with 'Resource temporarily unavailable'.",
        remedy="docker run --pids-limit -1; podPidsLimit of the kubelet; TasksMax=infinity of the service",
        status=Status.WARN,
        needs=("cgroup",),
        judge=_pids,
        thresholds={"least": Threshold(4096, "threads", "some hundred threads for each of eight ranks")},
    ),
)
