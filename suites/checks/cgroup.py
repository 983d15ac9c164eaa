"""Rules about what a control group leaves of the host. May import: rule, report."""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.rule import Case, Judged, Rule, broken, ok, unknown
from suites.report import Status


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
)
