"""Rules about the driver of NVIDIA GPUs, and whether all GPUs are there and answer.

Texts: nvidia-smi, as it says them. May import: agreement, nvidia_facts, readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from suites.checks.agreement import Held, outliers
from suites.checks.nvidia.facts import STATE, Told, alike, driver, each, first_of_host, host_readings, told
from suites.checks.readings import Reading, devices, evidence, has_told, label, value
from suites.checks.rule import Case, Facts, Judged, Outcome, Rule, Scope, broken, ok, unknown
from suites.report import Status

_COUNTING = ("table", "state", "details", "dcgm_discovery", "topology")
"""Questions whose answers have every GPU."""


def _fault(which: str, message: str) -> Callable[[Case], Iterator[Judged]]:
    """That no answer about the host is this fault; `message` says what it means."""

    def judge(case: Case) -> Iterator[Judged]:
        readings = [reading for reading in host_readings(case.facts).values() if "nvidia-smi" in reading["source"]]
        faulty = next((reading for reading in readings if reading["values"].get("fault") == which), None)
        silent = next((reading for reading in readings if reading["state"] == "refused"), None)
        if faulty:
            yield broken(message, evidence(faulty, "fault"))
        elif any(map(_speaks, readings)):
            yield ok()
        elif silent:
            yield unknown(silent["reason"] or "nvidia-smi told nothing", {"command": silent["source"]})

    return judge


def _speaks(reading: Reading) -> bool:
    return reading["state"] == "told" and "fault" not in reading["values"]


def _lost(case: Case) -> Iterator[Judged]:
    named: set[str] = set()
    for reading in host_readings(case.facts).values():
        for lost in reading["values"].get("lost") or ():
            name = _who(case.facts, lost["bus"], lost["index"])
            if name not in named:
                named.add(name)
                shown = {"command": reading["source"], "value": lost["bus"], "line": lost["line"]}
                yield broken(f"the driver has lost {name}", shown, name)
    for device in devices(case.facts, "nvidia"):
        if label("nvidia", device) not in named and any(map(has_told, device["readings"].values())):
            yield ok(label("nvidia", device))


def _who(facts: Facts, bus: str | None, index: int | None) -> str:
    """The device's name where it is known, else its address."""
    for device in devices(facts, "nvidia"):
        if bus is not None and device["bus"] == bus:
            return label("nvidia", device)
    return f"gpu{index}" if index is not None else bus or "a GPU"


def _reset(case: Case) -> Iterator[Judged]:
    """One judgement a GPU: newer drivers say it in several ways."""
    found: dict[str, Judged] = {}
    for what, judge in (("needs_reset", _needed), ("recovery_action", _action), ("reset_recommended", _recommended)):
        for judged in each(what, *STATE, judge=judge)(case):
            if judged.device and (judged.device not in found or found[judged.device].outcome is Outcome.OK):
                found[judged.device] = judged
    yield from found.values()


def _needed(case: Case, one: Told) -> Judged:
    if not one.value:
        return ok(one.name)
    return broken(f"{one.name} does not work until it is reset", one.evidence(), one.name)


def _action(case: Case, one: Told) -> Judged:
    """None, which is no value, or Reset, Reboot, Drain P2P, Drain and Reset; also as GPU Reset and Node Reboot."""
    status = Status.WARN if "drain" in one.value.lower() else None
    message = f"the driver asks for this to recover {one.name}: {one.value}"
    return broken(message, one.evidence("None"), one.name, status=status)


def _recommended(case: Case, one: Told) -> Judged:
    if not one.value:
        return ok(one.name)
    message = f"the driver recommends to drain {one.name} and to reset it"
    return broken(message, one.evidence(), one.name, status=Status.WARN)


def _inforom(case: Case) -> Iterator[Judged]:
    named: set[str] = set()
    for reading in host_readings(case.facts).values():
        for bus in reading["values"].get("inforom") or ():
            name = _who(case.facts, bus, None)
            if name not in named:
                named.add(name)
                yield broken(f"the infoROM of {name} is corrupted", evidence(reading, "inforom"), name)


def _unreadable(case: Case, one: Told) -> Judged:
    return broken(f"nvidia-smi could not read the {one.value} of {one.name}", one.evidence(), one.name)


def _breaks_off(case: Case) -> Iterator[Judged]:
    for one in told(case.facts, "name", "details"):
        if one.reading is None:
            yield one.untold()
            continue
        values = one.reading["values"]
        shown = evidence(one.reading, "odd" if "odd" in values else "breaks_off")
        if values.get("breaks_off"):
            yield broken(f"what `nvidia-smi -q` tells of {one.name} breaks off", shown, one.name)
        elif "odd" in values:
            yield broken(f"`nvidia-smi -q` tells '{values['odd']}' of {one.name}", shown, one.name)
        else:
            yield ok(one.name)


def _dcgm(case: Case) -> Iterator[Judged]:
    whole = first_of_host(case.facts, "health", "dcgm_health")
    sick = [one for one in told(case.facts, "health", "dcgm_health") if one.reading and one.value.lower() != "healthy"]
    for one in sick:
        more = value(one.reading, "problems") if one.reading else None
        status = Status.FAIL if "fail" in one.value.lower() else None
        message = f"DCGM's health watches see {one.name} as {one.value}" + (f": {more}" if more else "")
        yield broken(message, one.evidence("Healthy"), one.name, status=status)
    if whole and not sick:
        health = value(whole, "health")
        shown = evidence(whole, "health", "Healthy")
        yield ok() if health.lower() == "healthy" else broken(f"DCGM's health watches see {health}", shown)


def _driver_differs(case: Case) -> Iterator[Judged]:
    found = [(host, driver(facts)) for host, facts in case.fleet.items()]
    held = [
        Held(host, None, value(reading, "driver"), evidence(reading, "driver")) for host, reading in found if reading
    ]
    yield from outliers("the NVIDIA driver", held)


def _models_differ(case: Case) -> Iterator[Judged]:
    held = []
    for host, facts in case.fleet.items():
        names = sorted({device["name"] for device in devices(facts, "nvidia") if device["name"]})
        if names and not any(name.endswith("...") for name in names):
            held.append(Held(host, None, ", ".join(names), {"source": "nvidia-smi"}))
    yield from outliers("the model of the GPUs", held)


def _counts(facts: Facts) -> dict[str, tuple[int, Reading]]:
    """By question: how many GPUs are told of, with an answer about one of them."""
    found: dict[str, tuple[int, Reading]] = {}
    for query in _COUNTING:
        told_of = [device["readings"][query] for device in devices(facts, "nvidia") if query in device["readings"]]
        told_of = [reading for reading in told_of if has_told(reading)]
        if told_of:
            found[query] = len(told_of), told_of[0]
        elif first_of_host(facts, "fault", query):
            found[query] = 0, host_readings(facts)[query]
    if whole := first_of_host(facts, "attached", "details"):
        found["details"] = value(whole, "attached"), whole
    return found


def _count_differs(case: Case) -> Iterator[Judged]:
    """By the first question that more than one host has answered."""
    counts = {host: _counts(facts) for host, facts in case.fleet.items()}
    for query in _COUNTING:
        held = [
            Held(host, None, found[query][0], {"command": found[query][1]["source"]})
            for host, found in counts.items()
            if query in found
        ]
        if len(held) > 1:
            yield from outliers("the number of GPUs", held)
            return


def _gone(case: Case) -> Iterator[Judged]:
    now, before = _counts(case.facts), _counts(case.earlier)
    for query in _COUNTING:
        if query in now and query in before:
            count, reading = now[query]
            shown = {"command": reading["source"], "value": count, "threshold": before[query][0]}
            if count < before[query][0]:
                yield broken(f"{count} GPUs are left of the {before[query][0]} of the earlier snapshot", shown)
            else:
                yield ok()
            return


_REBOOT = "see `dmesg | grep -i -e xid -e NVRM` for the cause, drain the host and restart it"

RULES = (
    Rule(
        name="nvidia.no_devices",
        summary="the NVIDIA driver has found a GPU",
        why="The driver is loaded and has no GPU that it could use: all fell off the bus or failed to initialise, or "
        "this container was given none.",
        remedy="compare `lspci -d 10de:` with what is installed and see `dmesg | grep -i NVRM`; in a container start "
        "it with --gpus all; else power-cycle the host and reseat the board",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_fault("no_devices", "nvidia-smi finds no GPU"),
    ),
    Rule(
        name="nvidia.driver_mismatch",
        summary="the NVIDIA driver in the kernel fits to its libraries",
        why="After an upgrade the old kernel module goes on until it is replaced, and no CUDA program starts: "
        "'Driver/library version mismatch'.",
        remedy="stop what uses the GPUs and reload the module (rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia, then "
        "modprobe nvidia) or restart the host; compare /proc/driver/nvidia/version with the package",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_fault("driver_mismatch", "the NVIDIA driver in the kernel has another version than its libraries"),
    ),
    Rule(
        name="nvidia.driver_unreachable",
        summary="nvidia-smi reaches the NVIDIA driver",
        why="Without the driver no CUDA program finds a GPU: it is not loaded, was not built for this kernel, or this "
        "container has lost its access to the devices.",
        remedy="see `dkms status` and `dmesg | grep -i NVRM`, then `modprobe nvidia`; in a container restart it, and "
        "keep systemd from taking the devices away (native.cgroupdriver=cgroupfs, or --device for each)",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_fault("driver_unreachable", "nvidia-smi does not reach the NVIDIA driver"),
    ),
    Rule(
        name="nvidia.gpu_lost",
        summary="the NVIDIA driver reaches every GPU",
        why="A GPU that fell off the bus (Xid 79) or whose firmware does not answer (Xid 119) takes every job with it "
        "that is started on it.",
        remedy=_REBOOT + "; if it comes back, reseat the GPU, look at its power and cooling, or have it replaced",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_lost,
    ),
    Rule(
        name="nvidia.needs_reset",
        summary="no GPU waits for a reset",
        why="After some errors a GPU does no work until it is reset.",
        remedy="stop what uses it and run `nvidia-smi --gpu-reset -i N` (all GPUs together where they are joined by "
        "NVLink), or restart the host",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_reset,
    ),
    Rule(
        name="nvidia.inforom_corrupted",
        summary="nvidia-smi complains of no infoROM",
        why="There the GPU keeps its settings and the count of its errors, so retired pages and ECC may be forgotten.",
        remedy="`nvidia-smi -q -i N | grep -A4 -i inforom`, restart the host; if it stays, have the GPU replaced",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_inforom,
    ),
    Rule(
        name="nvidia.unreadable",
        summary="nvidia-smi can read every property of a GPU",
        why="'[Unknown Error]' and 'ERR!' stand where the GPU did not answer the driver, often shortly before it is "
        "lost.",
        remedy=_REBOOT,
        status=Status.WARN,
        needs=("accelerators",),
        judge=each("unreadable", *STATE, "remapped_rows", judge=_unreadable),
    ),
    Rule(
        name="nvidia.answer_breaks_off",
        summary="nvidia-smi -q tells of every GPU to the end",
        why="Where the text breaks off the tool was killed, crashed or was stuck in the driver; what is not in there "
        "is unknown.",
        remedy="run `nvidia-smi -q -i N` again and see `dmesg | grep -i -e xid -e NVRM`; where it breaks off again, "
        "restart the host",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_breaks_off,
    ),
    Rule(
        name="nvidia.dcgm_health",
        summary="the health watches of DCGM see nothing",
        why="DCGM watches PCI Express, NVLink, memory, power and heat of the GPUs all the time, so it also knows of "
        "what was over before anybody looked.",
        remedy="see `dcgmi health -g 0 -c` for what it has seen, and run `dcgmi diag -r 2` on the drained host",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_dcgm,
    ),
    Rule(
        name="nvidia.driver_differs",
        summary="all hosts have the same NVIDIA driver",
        why="CUDA, NCCL and the fabric manager come in versions that fit to a driver; a job over hosts with several "
        "fails or hangs on some of them only.",
        remedy="install the same driver, with the fabric manager of that version, on all hosts",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_driver_differs,
        scope=Scope.FLEET,
    ),
    Rule(
        name="nvidia.count_differs",
        summary="all hosts have the same number of GPUs",
        why="A launcher that counts on a GPU that is not there fails, or puts two ranks on one GPU.",
        remedy="compare `lspci -d 10de:` and `nvidia-smi -L` with a host that has all; a GPU that lspci does not show "
        "needs a power cycle or a look at the board",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_count_differs,
        scope=Scope.FLEET,
    ),
    Rule(
        name="nvidia.count_fell",
        summary="no GPU has gone since the earlier snapshot",
        why="A GPU that was there before a job and is not after it fell off the bus during the job.",
        remedy=_REBOOT,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_gone,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="nvidia.model_differs",
        summary="all hosts have the same model of GPU",
        why="A collective is as fast as its slowest rank, and memory that suffices on one model does not on another.",
        remedy="put jobs on hosts of one model, by a partition or a constraint of the scheduler",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_models_differ,
        scope=Scope.FLEET,
    ),
    Rule(
        name="nvidia.vbios_differs",
        summary="all GPUs of one model have the same firmware",
        why="Another VBIOS can mean other power limits and clocks, and explains a rank that is always late.",
        remedy="compare `nvidia-smi --query-gpu=index,vbios_version --format=csv` and have the vendor's firmware "
        "update applied to all",
        status=Status.INFO,
        needs=("accelerators",),
        judge=alike("the VBIOS", "vbios", *STATE),
        scope=Scope.FLEET,
    ),
)
