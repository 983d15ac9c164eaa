"""Rules about the fabric of NVSwitches and its manager, and about the topology that NCCL is given.

Error numbers and states: NVIDIA's Fabric Manager user guide. May import: nvidia_facts, readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from suites.checks.nvidia.facts import Told, driver, each, first_of_host, host_readings, linked_by_board, told
from suites.checks.readings import devices, evidence, value
from suites.checks.rule import Case, Facts, Judged, Rule, Threshold, broken, ok, unknown
from suites.report import Status

_MOST_WITHOUT_SWITCH = 4
"""Boards with so many GPUs join them directly, larger ones by NVSwitches; but DGX-1 had eight of V100 without."""
_GENERATION_5 = 90
"""Compute capability, in tenths, from which on GPUs have PCI Express 5: Hopper."""


_TROUBLES = {
    "route_unhealthy": ("the way of {gpu} through its fabric is unhealthy", Status.FAIL),
    "access_timeout_recovery": ("{gpu} recovers from accesses over its fabric that ended too late", Status.WARN),
    "route_recovery": ("the way of {gpu} through its fabric is being recovered", Status.WARN),
}


def _state(case: Case, one: Told) -> Judged:
    status = value(one.reading, "fabric_status") if one.reading else None
    if one.value.lower() != "completed":
        return broken(f"the fabric of {one.name} is not ready: {one.value}", one.evidence("Completed"), one.name)
    if one.reading and status is not None and status.lower() not in ("success", "nvml_success"):
        shown = evidence(one.reading, "fabric_status", "Success")
        return broken(f"{one.name} could not join its fabric: {status}", shown, one.name)
    return _health(one)


def _health(one: Told) -> Judged:
    """Newer drivers tell more than whether it has joined."""
    for what in ("fabric_health", "fabric_bandwidth"):
        health = value(one.reading, what) if one.reading else None
        if one.reading and health is not None and health.lower() not in ("healthy", "full", "true", "false"):
            shown = evidence(one.reading, what)
            return broken(f"the fabric of {one.name} is {health.lower()}", shown, one.name)
    for what, (message, status) in _TROUBLES.items():
        if one.reading and value(one.reading, what):
            return broken(message.format(gpu=one.name), evidence(one.reading, what), one.name, status=status)
    return ok(one.name)


def _manager(case: Case) -> Iterator[Judged]:
    reading = host_readings(case.facts).get("fabric_manager")
    needed = _has_switches(case.facts)
    if reading is None:
        return
    state = reading["values"].get("state")
    if state is None:
        if needed:
            yield unknown(reading["reason"] or "systemctl told nothing", {"command": reading["source"]})
    elif state == "active":
        yield ok()
    elif needed or state == "failed":
        yield broken(f"the fabric manager is {state}", evidence(reading, "state", "active"))


def _has_switches(facts: Facts) -> bool:
    """Whether anything tells of NVSwitches: a fabric, the manager's log, or so many GPUs on one board."""
    if "fabric_log" in host_readings(facts) or any(
        one.reading for one in told(facts, "fabric_state", "state", "details")
    ):
        return True
    names = [device["name"] or "" for device in devices(facts, "nvidia")]
    joined = [name for name in names if linked_by_board(name) and "V100" not in name and "P100" not in name]
    return len(joined) > _MOST_WITHOUT_SWITCH


def _log(case: Case) -> Iterator[Judged]:
    reading = host_readings(case.facts).get("fabric_log")
    if reading is None:
        return
    errors = reading["momentary"].get("switch_errors") or ()
    fatal = [error for error in errors if error["fatal"]]
    others = reading["momentary"].get("errors") or 0
    if errors:
        shown = evidence(reading, "switch_errors")
        last = (fatal or errors)[-1]
        port = "" if last["port"] is None else f", port {last['port']}"
        kind = "fatal" if fatal else "non-fatal"
        message = f"the fabric manager has logged {kind} NVSwitch error {last['error']}{port}"
        name = f"nvswitch {last['switch']}" if last["switch"] else None
        yield broken(message, shown, name, status=Status.FAIL if fatal else None)
    elif others:
        yield broken(f"the log of the fabric manager has {others} errors", evidence(reading, "errors"))
    else:
        yield ok()


def _version(case: Case) -> Iterator[Judged]:
    own, kernel = first_of_host(case.facts, "version", "fabric_log"), driver(case.facts)
    version = None if own is None else value(own, "version")
    wanted = value(kernel, "driver") if kernel else own and value(own, "wanted")
    if own is None or wanted is None:
        return
    if version == wanted:
        yield ok()
    else:
        message = f"the fabric manager has version {version}, the driver {wanted}"
        yield broken(message, evidence(own, "version", wanted, (kernel or own)["source"]))


def _flat(case: Case) -> Iterator[Judged]:
    reading = host_readings(case.facts).get("nccl_topology")
    if reading is None:
        return
    values = reading["values"]
    certain, hints = list(_certain_signs(values)), list(_hints(values))
    if certain or len(hints) >= case.limits["hints"]:
        message = "the topology that NCCL is given is not that of the machine: " + "; ".join(certain + hints)
        yield broken(message, {"file": reading["source"], "value": certain + hints})
    else:
        yield ok()


def _certain_signs(values: Mapping[str, Any]) -> Iterator[str]:
    gpus, cards = values.get("gpus") or (), values.get("cards") or ()
    for name, bad in (
        ("link width 0", [_gpu(gpu) for gpu in gpus if gpu["width"] == 0]),
        ("no GPUDirect RDMA", [_gpu(gpu) for gpu in gpus if gpu["gdr"] is False]),
        (
            "no GPUDirect RDMA",
            [card["name"] for card in cards if card["gdr"] is False and card["name"].startswith("mlx")],
        ),
        ("slower than its peers", [_gpu(gpu) for gpu in _slower(gpus, "transfers")]),
        ("fewer lanes than its peers", [_gpu(gpu) for gpu in _slower(gpus, "width") if gpu["width"]]),
    ):
        if bad:
            yield f"{', '.join(bad[:4])}{' and more' if len(bad) > 4 else ''}: {name}"


def _hints(values: Mapping[str, Any]) -> Iterator[str]:
    """What is also true of small machines, and only together tells of a virtual one."""
    gpus, cards = values.get("gpus") or (), values.get("cards") or ()
    if any(node < 0 for node in values.get("numa") or ()):
        yield "no NUMA node is told"
    if gpus and all(gpu["bridges"] == 0 for gpu in gpus):
        yield "no PCI Express switch is above any GPU"
    if any((gpu["architecture"] or 0) >= _GENERATION_5 and (gpu["transfers"] or 32) < 32 for gpu in gpus):
        yield "GPUs of PCI Express 5 have less than 32 GT/s"
    if any(card["width"] == 0 for card in cards):
        yield "network cards have link width 0"
    if slow := _slower(cards, "speed"):
        yield f"{slow[0]['name']} is slower than its peers"


def _slower(alike: Any, what: str) -> list[Mapping[str, Any]]:
    """Those below what more than half of them have."""
    known = [one[what] for one in alike if one[what] is not None]
    usual = max(set(known), key=known.count) if known else None
    if usual is None or 2 * known.count(usual) <= len(known):
        return []
    return [one for one in alike if one[what] is not None and one[what] < usual]


def _gpu(gpu: Mapping[str, Any]) -> str:
    return f"gpu{gpu['index']}" if gpu["index"] is not None else str(gpu["bus"])


_RESTART = (
    "`systemctl restart nvidia-fabricmanager` with no job running, see `journalctl -u nvidia-fabricmanager` and "
    "/var/log/fabricmanager.log; reset all GPUs or restart the host if that does not help"
)

RULES = (
    Rule(
        name="nvidia.fabric_state",
        summary="every GPU has joined its NVLink fabric",
        why="Until then CUDA does not start on it (error 802, 'system not yet initialized'), or it has no NVLink.",
        remedy=_RESTART,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=each("fabric_state", "details", "state", judge=_state),
    ),
    Rule(
        name="nvidia.fabric_manager",
        summary="the fabric manager runs where there are NVSwitches",
        why="It sets up the switches; while it is away no GPU can join, and errors of a switch are not handled.",
        remedy="`systemctl enable --now nvidia-fabricmanager`, of the same version as the driver; see `journalctl -u "
        "nvidia-fabricmanager` where it does not start",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_manager,
    ),
    Rule(
        name="nvidia.fabric_errors",
        summary="the fabric manager has logged no errors",
        why="An error of an NVSwitch means data that was repeated or lost on the way between GPUs (SXid in the "
        "kernel's log); fatal ones end the jobs on all GPUs of that switch.",
        remedy="look up the number in the Fabric Manager user guide and `dmesg | grep SXid`; after a fatal error, and "
        "where one comes again, restart the host and have the board looked at",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_log,
    ),
    Rule(
        name="nvidia.fabric_version",
        summary="the fabric manager has the version of the driver",
        why="It does not start with a driver of another version, and after the next restart there is no NVLink.",
        remedy="install nvidia-fabricmanager of the driver's version and keep both together (apt-mark hold, or dnf "
        "versionlock)",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_version,
    ),
    Rule(
        name="nvidia.nccl_topology",
        summary="the topology that NCCL is given is that of a real machine",
        why="In a virtual machine NCCL sees all devices below one root, without switches and NUMA nodes, and sends the "
        "traffic of GPUs through the CPU (nccl-tests #256: 27 instead of 476 GB/s).",
        remedy="give NCCL the provider's file (NCCL_TOPO_FILE), or pass through NUMA nodes and switches; for GPUDirect "
        "load nvidia_peermem, turn on ATS and turn off ACS on the host",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_flat,
        thresholds={"hints": Threshold(2, "signs", "opsdist: each alone is also true of some small machines")},
    ),
)
