"""Rules about environment variables: values they do not take, names nobody reads, leftovers that slow a job down.

May import: rule, variables, settings, equipment, agreement, leftovers, report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from suites.checks.agreement import Held, outliers
from suites.checks.environment.leftovers import LEFTOVERS, Leftover
from suites.checks.environment.settings import Setting, names, number, settings
from suites.checks.environment.variables import UNREAD, VARIABLES, meant
from suites.checks.equipment import VENDORS, accelerators, rdma_devices
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_OWN = re.compile(
    r"(?:^|_)RANK$|^RANK_ID$|_RANK_|PROCID|LOCALID|NODEID|NODE_ID|DEVICE_ID|JOB_?ID|VPID|PID$|GTIDS|HOSTNAME"
    r"|(?:^|_)IP$|URI$|NAMESPACE|SESSION|TMPDIR|_FILE_NUM$"
    r"|^SLURM_STEP|^OMPI_(?:ARGV|COMMAND|APP|FILE)|^PRTE_|^OMPI_MCA_(?:ess|orte|pmix|prte)_",
    re.IGNORECASE,
)
"""Names of variables that every rank or host has for itself."""
_NOT_SET = "not set"


def _invalid(case: Case) -> Iterator[Judged]:
    for name, setting in settings(case.facts).items():
        variable = VARIABLES.get(name)
        if variable is None or not setting.value.strip():  # what is empty is as good as not set
            continue
        allowed = variable.allowed
        if allowed.allows(setting.value):
            yield ok()
        else:
            yield broken(
                f"{setting.text}: it may be {allowed.text}; {variable.why}",
                setting.evidence(allowed.text, variable.source),
                status=variable.status,
                remedy=f"give {name} a value that it takes ({allowed.text}), or {setting.removal}",
            )


def _unread(case: Case) -> Iterator[Judged]:
    for setting in names(case.facts):
        if works := UNREAD.get(setting.name):
            message = f"{setting.name} is set, and no library reads a variable of that name"
            yield broken(message, setting.evidence(), remedy=f"{setting.removal}; what works instead: {works}")
        elif known := meant(setting.name):
            message = f"{setting.name} is set, which nobody reads: {known} may be meant"
            yield broken(message, setting.evidence(known), remedy=f"set {known} instead, and {setting.removal}")
        else:
            yield ok()


def _leftovers(case: Case) -> Iterator[Judged]:
    found = settings(case.facts)
    for name, setting in found.items():
        for leftover in LEFTOVERS.get(name, ()):
            if leftover.fits(setting.value) and _applies(leftover, case.facts):
                yield broken(
                    f"{setting.text}: {leftover.effect}",
                    setting.evidence(source=leftover.source),
                    status=_gravity(name, leftover, case.facts),
                    remedy=f"{setting.removal}, unless this job needs it{leftover.unless}",
                )


def _applies(leftover: Leftover, facts: Facts) -> bool:
    """What turns RDMA off does no harm where there is none."""
    return not leftover.rdma or rdma_devices(facts) != ()


def _gravity(name: str, leftover: Leftover, facts: Facts) -> Status:
    """On a host that is known to have none of the accelerators that it is about it slows nothing down."""
    if facts.get("accelerators") is None:
        return leftover.status
    makers = next((makers for family, makers in _MAKERS.items() if name.startswith(family)), VENDORS)
    return leftover.status if any(maker in accelerators(facts) for maker in makers) else Status.INFO


_MAKERS = {"NCCL_": ("nvidia", "amd"), "CUDA_": ("nvidia",), "HCCL_": ("ascend",), "ASCEND_": ("ascend",)}
"""Beginning of a name -> the makers whose libraries read it."""


def _timeout(case: Case) -> Iterator[Judged]:
    found = settings(case.facts)
    world = number(found, "RANK_SIZE", "WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
    if world is None or "ascend" not in accelerators(case.facts):
        return
    needed = 0.0
    for size, seconds in (("some_ranks", "some"), ("large_ranks", "large")):
        needed = case.limits[seconds] if world >= case.limits[size] else needed
    waits = number(found, "HCCL_CONNECT_TIMEOUT") or case.limits["default"]
    if waits < needed:
        yield broken(
            f"HCCL_CONNECT_TIMEOUT is {waits:g} s, and {world} ranks can take {needed:g} s to link",
            {"variable": "HCCL_CONNECT_TIMEOUT", "value": waits, "threshold": needed},
            remedy=f"export HCCL_CONNECT_TIMEOUT={needed:g} on all ranks",
        )
    else:
        yield ok()


def _differs(case: Case) -> Iterator[Judged]:
    held: dict[str, dict[str, Setting]] = {}
    fleet = {host: facts for host, facts in case.fleet.items() if facts["environment"]["told"]}
    for host, facts in fleet.items():
        for setting in names(facts):
            if not _OWN.search(setting.name):
                held.setdefault(setting.name, {})[host] = setting
    for name, by_host in sorted(held.items()):
        yield from outliers(name, [_held(host, name, by_host) for host in fleet])


def _held(host: str, name: str, by_host: Mapping[str, Setting]) -> Held:
    value = by_host[host].value if host in by_host else _NOT_SET
    return Held(host, None, value, {"variable": name})


def _seconds(value: float, source: str) -> Threshold:
    return Threshold(value, "s", source)


RULES = (
    Rule(
        name="environment.invalid_value",
        summary="variables of communication libraries have values that these take",
        why="HCCL ends with EI0001 for a value out of range, NCCL goes on with another one than was meant, and ranks "
        "with different values wait for each other.",
        remedy="give the variable a value that it takes, or unset it",
        status=Status.WARN,
        needs=("environment",),
        judge=_invalid,
    ),
    Rule(
        name="environment.unread_name",
        summary="variables have names that a library reads",
        why="A misspelt variable has no effect and no library complains about it, so that the job runs otherwise than "
        "whoever set it believes.",
        remedy="set the variable that is read instead",
        status=Status.WARN,
        needs=("environment",),
        judge=_unread,
    ),
    Rule(
        name="environment.slows_down",
        summary="no variable turns a fast path off, or makes a library check and log more",
        why="Switches that once helped to find a fault stay in scripts and in /etc/nccl.conf, and cost bandwidth "
        "without anybody noticing.",
        remedy="unset the variable, and set it again for the run that needs it",
        status=Status.WARN,
        needs=("environment",),
        judge=_leftovers,
    ),
    Rule(
        name="environment.connect_timeout",
        summary="HCCL waits long enough for the links of a job of this size",
        why="All ranks of a large job do not start together; those that come first give up with EI0006 while others "
        "are still loading.",
        remedy="export a longer HCCL_CONNECT_TIMEOUT on all ranks",
        status=Status.WARN,
        needs=("environment",),
        judge=_timeout,
        thresholds={
            "default": _seconds(120, "HCCL user guide: the default"),
            "some": _seconds(240, "HCCL user guide: 3000 ranks and more"),
            "some_ranks": Threshold(3000, "ranks", "HCCL user guide"),
            "large": _seconds(600, "HCCL user guide: 5000 ranks and more"),
            "large_ranks": Threshold(5000, "ranks", "HCCL user guide"),
        },
    ),
    Rule(
        name="environment.differs",
        summary="variables of communication libraries are the same on all hosts",
        why="Ranks must agree on timeouts, algorithms, traffic classes and buffers; one host with another value makes "
        "all of them slow, or wait.",
        remedy="set the variable in what starts the job (srun --export, mpirun -x, torchrun's environment), not in the "
        "shell of one host",
        status=Status.WARN,
        needs=("environment",),
        judge=_differs,
        scope=Scope.FLEET,
    ),
)
