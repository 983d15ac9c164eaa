"""Rules about the processor: how fast it may run, and whether hosts have the same. May import: rule, alike, equipment,
report.
"""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.alike import Trait, alike, at
from suites.checks.equipment import graver, virtual
from suites.checks.rule import Case, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_CPUFREQ = "/sys/devices/system/cpu/cpu*/cpufreq"


def _governor(case: Case) -> Iterator[Judged]:
    """Virtual machines have none, and nothing is said of them."""
    frequency = case.facts["cpu"]["frequency"]
    governors = frequency["governors"] if frequency else None
    if not governors:
        return
    best = case.limits["best"]
    others = {name: count for name, count in governors.items() if name != best}
    if not others:
        yield ok()
        return
    named = ", ".join(f"{name} on {count} CPUs" for name, count in others.items())
    evidence = {"file": f"{_CPUFREQ}/scaling_governor", "value": governors, "threshold": best}
    message = f"the governor is {named}: a CPU that was idle takes its time to run at full speed"
    yield broken(message, evidence, status=graver(case.facts))


def _capped(case: Case) -> Iterator[Judged]:
    frequency = case.facts["cpu"]["frequency"]
    if not frequency or not frequency["most"] or not frequency["hardware"]:
        return
    most, hardware, share = frequency["most"], frequency["hardware"], case.limits["share"]
    if most >= share * hardware:
        yield ok()
        return
    evidence = {"file": f"{_CPUFREQ}/scaling_max_freq", "value": most, "threshold": hardware}
    message = f"a CPU may run at {most / 1e9:.2f} GHz at most, of {hardware / 1e9:.2f} GHz that it can"
    yield broken(message, evidence, status=graver(case.facts))


def _offline(case: Case) -> Iterator[Judged]:
    """Where one thread of each core is off somebody wanted it so; a hypervisor may keep CPUs for later."""
    facts = case.facts["cpu"]
    offline = facts["offline_cpus"]
    if offline is None:
        return
    if not offline:
        yield ok()
        return
    threads_off = facts["threads_per_core"] == 1 and len(offline) == facts["logical_cpus"]
    evidence = {"file": "/sys/devices/system/cpu/offline", "value": offline, "threshold": []}
    message = f"{len(offline)} CPUs are switched off, {facts['logical_cpus']} are on"
    meant = threads_off or virtual(case.facts)
    yield broken(message, evidence, status=Status.INFO if meant else Status.WARN)


def _trait(what: str, name: str) -> Trait:
    return Trait(what, at("cpu", name), "/proc/cpuinfo, /sys/devices/system/cpu")


RULES = (
    Rule(
        name="cpu.governor",
        summary="the processor runs at full speed whenever it is needed",
        why="The thread that drives a network card or starts kernels is idle between messages; a governor that saves "
        "power lets every message wait until the CPU is fast again.",
        remedy="cpupower frequency-set -g performance; for good in tuned (tuned-adm profile throughput-performance) "
        "or the firmware's power profile",
        status=Status.WARN,
        needs=("cpu",),
        judge=_governor,
        thresholds={"best": Threshold("performance", "", "the node checks of GCM, imbue and sichek")},
    ),
    Rule(
        name="cpu.frequency_capped",
        summary="no setting keeps the processor below what it can",
        why="A limit that was set to save power, or for a measurement, stays until somebody takes it back.",
        remedy="cpupower frequency-set -u with the processor's maximum; see the firmware's power limit too",
        status=Status.WARN,
        needs=("cpu",),
        judge=_capped,
        thresholds={"share": Threshold(0.9, "of the maximum", "a tenth is what boost states may make of it")},
    ),
    Rule(
        name="cpu.offline",
        summary="no CPU is switched off",
        why="A CPU that firmware or somebody has switched off is missing to the rank that was to be bound to it, and "
        "bindings that fit other hosts fail here.",
        remedy="echo 1 > /sys/devices/system/cpu/cpuN/online; if that fails see `dmesg` and the firmware's log for why",
        status=Status.WARN,
        needs=("cpu",),
        judge=_offline,
    ),
    Rule(
        name="cpu.differs",
        summary="hosts have the same processors",
        why="Another model, fewer CPUs or hyper-threading switched off makes one host slower than its peers, and lets "
        "bindings that fit the others fail there.",
        remedy="see `lscpu` and the firmware's settings of cores and hyper-threading on the host named",
        status=Status.WARN,
        needs=("cpu",),
        judge=alike(
            _trait("the processor's model", "model"),
            _trait("the number of sockets", "sockets"),
            _trait("the number of cores", "installed_cores"),
            _trait("the number of CPUs", "logical_cpus"),
            _trait("the number of threads of a core", "threads_per_core"),
            _trait("the governor", "governor"),
            _trait("the kind of virtual machine", "virtual_machine"),
        ),
        scope=Scope.FLEET,
    ),
)
