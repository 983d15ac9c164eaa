"""Rules about each NVIDIA GPU: its clocks, temperature, its place on PCI Express and how it is set.

Bits and words: nvml.h and the manual of nvidia-smi. May import: agreement, nvidia_facts, readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.agreement import Held, far_above
from suites.checks.nvidia.facts import STATE, Told, by_model, each, told, told_in_fleet, unlike, usual_of
from suites.checks.readings import value
from suites.checks.rule import Case, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_SLOWDOWNS = {
    "hardware_power_brake": ("its power brake is on: the host's power supply asks for less", Status.FAIL),
    "hardware_thermal": ("it is too hot", Status.FAIL),
    "hardware_slowdown": ("its hardware slows it down", Status.WARN),
    "software_thermal": ("the driver keeps it from getting too hot", Status.WARN),
}
"""Reasons for low clocks that are none of a healthy GPU, the most exact first. Idle, a power cap and clocks that
somebody has set are not among them."""


def _clocks(case: Case, one: Told) -> Judged:
    for reason, (message, status) in _SLOWDOWNS.items():
        if reason in one.value:
            return broken(f"{one.name} is slowed down: {message}", one.evidence(), one.name, status=status)
    return ok(one.name)


def _width(case: Case) -> Iterator[Judged]:
    for alike_ones in by_model(told_in_fleet(case, "pcie_width", "state", "details")):
        usual = usual_of(alike_ones)
        for one in alike_ones:
            own = value(one.reading, "pcie_width_max") if one.reading else None
            if own is not None and one.value < own:
                message = f"{one.name} has {one.value} of its {own} PCI Express lanes"
                yield broken(message, one.evidence(own, "the GPU and its slot"), one.name, host=one.host)
            elif usual is not None and one.value < usual:
                message = f"{one.name} has {one.value} PCI Express lanes, and most of its model have {usual}"
                status = None if own is None else Status.WARN  # its slot has no more
                yield broken(message, one.evidence(usual, "its peers"), one.name, host=one.host, status=status)
            else:
                yield ok(one.name, one.host)


def _generation(case: Case) -> Iterator[Judged]:
    """Only of GPUs at work: an idle one goes down to generation 1 by itself."""
    for one in told(case.facts, "pcie_generation", "state", "details"):
        if one.reading is None:
            yield one.untold()
            continue
        most, busy = value(one.reading, "pcie_generation_max"), value(one.reading, "utilization")
        if most is None or busy is None or busy < case.limits["busy"]:
            continue
        if one.value < most:
            message = f"{one.name} is at work with PCI Express generation {one.value} of {most}"
            yield broken(message, one.evidence(most), one.name)
        else:
            yield ok(one.name)


def _hot(case: Case, one: Told) -> Judged:
    slowdown = value(one.reading, "slowdown_temperature") if one.reading else None
    limit = slowdown or case.limits["critical"]
    if one.value >= limit:
        return broken(f"{one.name} has {one.value:g} °C and slows down", one.evidence(limit), one.name)
    if one.value >= case.limits["hot"]:
        limit = case.limits["hot"]
        return broken(f"{one.name} has {one.value:g} °C", one.evidence(limit), one.name)
    return ok(one.name)


def _replays(case: Case) -> Iterator[Judged]:
    found = told_in_fleet(case, "pcie_replays", "details", "state")
    held = [Held(one.host, one.name, one.value, one.evidence()) for one in found]
    yield from far_above("repeated PCI Express packets", held, case.limits)


def _power_limit(case: Case, one: Told) -> Judged:
    own = value(one.reading, "power_limit_default") if one.reading else None
    if own is None or one.value >= own:
        return ok(one.name)
    message = f"{one.name} may take {one.value:g} W, {own:g} W by default"
    return broken(message, one.evidence(own, "the GPU"), one.name)


def _memory_hot(case: Case, one: Told) -> Judged:
    own = value(one.reading, "memory_max_temperature") if one.reading else None
    limit = own or case.limits["most"]
    if one.value <= limit:
        return ok(one.name)
    return broken(f"the memory of {one.name} has {one.value:g} °C", one.evidence(limit), one.name)


def _mode(case: Case, one: Told) -> Judged:
    mode = one.value.lower()
    if "prohibited" in mode:
        return broken(f"{one.name} takes no compute work", one.evidence(), one.name)
    if "exclusive" in mode or mode.startswith("e."):
        message = f"{one.name} takes one process only"
        return broken(message, one.evidence(), one.name, status=Status.INFO)
    return ok(one.name)


def _processes(case: Case) -> Iterator[Judged]:
    used = {one.name: one for one in told(case.facts, "memory_used_mib", *STATE) if one.reading is not None}
    busy = {one.name: one for one in told(case.facts, "processes", "processes", "table") if one.reading is not None}
    for name, one in busy.items():
        count = len(one.value)
        others = "a process of others uses" if count == 1 else f"{count} processes of others use"
        yield broken(f"{others} {name}", one.evidence(), name)
    for name, one in used.items():
        if name not in busy and one.value > case.limits["idle"]:
            message = f"{one.value} MiB of {name} are in use, and no process is seen that uses it"
            yield broken(message, one.evidence(case.limits["idle"]), name)
        elif name not in busy:
            yield ok(name)


RULES = (
    Rule(
        name="nvidia.slowed_down",
        summary="no GPU is slowed down by heat or for want of power",
        why="One GPU at a fraction of its clock makes every collective wait for it, and no error tells of it.",
        remedy="see fans, power supplies and inlet temperature in the BMC (`ipmitool sdr`), and "
        "`nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER -i N`; power brake: look for a failed or overloaded supply",
        status=Status.WARN,
        needs=("accelerators",),
        judge=each("clock_reasons", "state", "details", judge=_clocks),
    ),
    Rule(
        name="nvidia.hot",
        summary="no GPU is hot",
        why="A GPU lowers its clocks when it gets too hot, and its collectives with it.",
        remedy="see fans, inlet temperature and dust; compare with the other GPUs of the host",
        status=Status.WARN,
        needs=("accelerators",),
        judge=each("temperature", "details", "state", "table", judge=_hot),
        thresholds={
            "hot": Threshold(87, "°C", "between the target temperature and the slowdown of NVIDIA's data centre GPUs"),
            "critical": Threshold(95, "°C", "sichek; the GPU's own slowdown temperature counts where it is told"),
        },
    ),
    Rule(
        name="nvidia.memory_hot",
        summary="the memory of no GPU is hot",
        why="Memory that is too hot is read and refreshed more slowly, and has more errors.",
        remedy="see fans, inlet temperature and dust; compare with the other GPUs of the host",
        status=Status.WARN,
        needs=("accelerators",),
        judge=each("memory_temperature", "details", "state", judge=_memory_hot),
        thresholds={"most": Threshold(105, "°C", "opsdist: what the GPUs themselves have as their limit is 95 to 105")},
    ),
    Rule(
        name="nvidia.pcie_width",
        summary="every GPU has all its PCI Express lanes",
        why="Lanes that did not train halve what the host and the network card can exchange with the GPU. Unlike the "
        "generation, the width does not change with load.",
        remedy="see `lspci -vv -s BUS | grep LnkSta`; reseat the GPU or its riser, restart the host, and move it to "
        "another slot to see what is broken",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_width,
        scope=Scope.FLEET,
    ),
    Rule(
        name="nvidia.pcie_replays_stand_out",
        summary="no GPU has repeated far more PCI Express packets than the others",
        why="Packets are repeated when they arrive damaged: a bad contact, slot or riser.",
        remedy="look again after a while (`nvidia-smi -q -i N | grep -i replay`); reseat the GPU and its riser; look "
        "into `dmesg | grep -i aer`",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_replays,
        scope=Scope.FLEET,
        thresholds={
            "least": Threshold(1000, "packets", "opsdist: some hundred come when a link trains"),
            "deviations": Threshold(5, "median absolute deviations", "opsdist: far outside of what peers have"),
        },
    ),
    Rule(
        name="nvidia.pcie_generation",
        summary="GPUs at work use the full speed of PCI Express",
        why="An idle GPU lowers it by itself, a busy one should not.",
        remedy="look again under load: `nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.gen.max --format=csv -l "
        "1`; if it stays, see the slot's setting in the BIOS",
        status=Status.INFO,
        needs=("accelerators",),
        judge=_generation,
        thresholds={"busy": Threshold(20, "%", "more than a desktop or a monitoring tool causes")},
    ),
    Rule(
        name="nvidia.power_limit",
        summary="no GPU has a lower power limit than by default",
        why="Somebody has set it, perhaps for all; under load the GPU is slower than others, and all wait for it.",
        remedy="`nvidia-smi -i N -pl WATTS`, where nobody wants it so",
        status=Status.INFO,
        needs=("accelerators",),
        judge=each("power_limit", "details", "state", judge=_power_limit),
    ),
    Rule(
        name="nvidia.compute_mode",
        summary="every GPU takes work of several processes",
        why="A GPU in mode Prohibited takes none at all, and in an exclusive mode a second process, as of a profiler, "
        "gets 'all CUDA-capable devices are busy or unavailable'.",
        remedy="`nvidia-smi -i N -c DEFAULT`",
        status=Status.WARN,
        needs=("accelerators",),
        judge=each("compute_mode", *STATE, judge=_mode),
    ),
    Rule(
        name="nvidia.persistence_off",
        summary="the driver stays loaded between jobs",
        why="Without it the first use of a GPU takes seconds, and counts of errors start anew each time.",
        remedy="`systemctl enable --now nvidia-persistenced`, or `nvidia-smi -pm 1`",
        status=Status.INFO,
        needs=("accelerators",),
        judge=each("persistence", *STATE, judge=unlike(False, "the driver forgets {gpu} whenever nobody uses it")),
    ),
    Rule(
        name="nvidia.mig_on",
        summary="no GPU is divided into instances",
        why="Instances (MIG) have no NVLink and no direct access to each other: NCCL goes by the host's memory.",
        remedy="`nvidia-smi -i N -mig 0` and a reset of the GPU, where it shall work as a whole",
        status=Status.INFO,
        needs=("accelerators",),
        judge=each("mig", *STATE, judge=unlike(True, "{gpu} is divided into instances (MIG)")),
    ),
    Rule(
        name="nvidia.in_use",
        summary="nobody else uses the GPUs",
        why="What is measured beside another job is not what the machine can do, and memory that somebody left behind "
        "is missing.",
        remedy="`nvidia-smi --query-compute-apps=gpu_bus_id,pid,process_name,used_memory --format=csv` names them; "
        "wait, or end what was left behind",
        status=Status.INFO,
        needs=("accelerators",),
        judge=_processes,
        thresholds={"idle": Threshold(2048, "MiB", "Primus: the driver itself takes some hundred MiB")},
    ),
)
