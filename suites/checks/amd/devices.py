"""Rules about AMD GPUs: errors of memory and PCIe, throttling, their number, and the tools that tell of them.

May import: agreement, growth, readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from suites.checks.agreement import Held, far_above, outliers
from suites.checks.growth import RESET, grown
from suites.checks.readings import Reading, devices, evidence, label, of_devices, untold, value
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.report import Status

_LIMITS: Mapping[str, tuple[str, Status]] = {
    "prochot": ("the board says it is too hot", Status.WARN),
    "socket_thermal": ("its chip is too hot", Status.WARN),
    "vr_thermal": ("its voltage regulators are too hot", Status.WARN),
    "hbm_thermal": ("its memory is too hot", Status.WARN),
    "ppt": ("it is at its power cap, as it may be under load", Status.INFO),
}
"""What holds a GPU back, in the names of amd-smi."""
_HEAT = ("prochot", "socket_thermal", "vr_thermal", "hbm_thermal")


def _readings(facts: Facts) -> Mapping[str, Reading]:
    found: Mapping[str, Reading] = (facts["accelerators"].get("amd") or {}).get("readings") or {}
    return found


def _throttled(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "amd", "throttle"):
        if reading is None:
            yield untold(device, "throttle", name)
            continue
        active = [limit for limit in _LIMITS if value(reading, f"{limit}_active")]
        for limit in active:
            why, status = _LIMITS[limit]
            yield broken(f"{name} is held back: {why}", evidence(reading, f"{limit}_active"), name, status=status)
        if not active and any(value(reading, f"{limit}_active") is False for limit in _LIMITS):
            yield ok(name)


def _pcie_width(case: Case) -> Iterator[Judged]:
    for device in devices(case.facts, "amd"):
        now, most = (_first(device, what, ("pcie", "bus", "sysfs")) for what in ("width", "width_max"))
        if now is None or most is None:
            continue
        name, (reading, width), (_, widest) = label("amd", device), now, most
        if width < widest:
            message = f"{name} has {width} PCIe lanes of {widest}"
            yield broken(message, evidence(reading, "width", widest, "the GPU"), name)
        else:
            yield ok(name)


def _first(device: Mapping[str, Any], what: str, queries: tuple[str, ...]) -> tuple[Reading, Any] | None:
    """The first answer that has the value."""
    readings = (device["readings"][query] for query in queries if query in device["readings"])
    return next(((reading, found) for reading in readings if (found := value(reading, what)) is not None), None)


def _width_of_likes(case: Case) -> Iterator[Judged]:
    """Where nothing tells how many lanes there could be, the others do."""
    held = []
    for host, facts in case.fleet.items():
        for device in devices(facts, "amd"):
            if found := _first(device, "width", ("pcie", "sysfs")):
                held.append(Held(host, label("amd", device), found[1], evidence(found[0], "width")))
    yield from outliers("the number of PCIe lanes", held)


def _uncorrectable(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "amd", "ecc", "uncorrectable"):
        if reading is None:
            yield untold(device, "ecc", name)
        elif count := value(reading, "uncorrectable"):
            errors = "error" if count == 1 else "errors"
            message = f"{name} has had {count} {errors} of memory that could not be corrected"
            yield broken(message, evidence(reading, "uncorrectable", 0), name)
        elif count := value(reading, "deferred"):
            errors = "error" if count == 1 else "errors"
            message = (
                f"{name} has had {count} {errors} of memory that nobody has read yet, and that cannot be corrected"
            )
            yield broken(message, evidence(reading, "deferred", 0), name, status=Status.WARN)
        else:
            yield ok(name)


def _bad_pages(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "amd", "bad_pages"):
        if reading is None:
            yield untold(device, "bad_pages", name)
            continue
        stuck, pending, retired = (value(reading, what) or 0 for what in ("unreservable", "pending", "retired"))
        if stuck:
            message = f"{name} has {stuck} bad pages of memory that could not be taken out of use"
            yield broken(message, evidence(reading, "unreservable", 0), name)
        elif pending:
            message = f"{name} has {pending} bad pages of memory that wait to be taken out of use"
            yield broken(message, evidence(reading, "pending", 0), name)
        elif retired:
            message = f"{name} has {retired} bad pages of memory out of use"
            yield broken(message, evidence(reading, "retired", 0), name, status=Status.INFO)
        else:
            yield ok(name)


def _grew(query: str, *names: str) -> Callable[[Case], Iterator[Judged]]:
    """Which of these counters grew between two looks."""

    def judge(case: Case) -> Iterator[Judged]:
        before = {device["id"]: device["readings"].get(query) for device in devices(case.earlier, "amd")}
        for name, device, reading in of_devices(case.facts, "amd", query):
            then = (before.get(device["id"]) or {}).get("counters") or {}
            now = reading["counters"] if reading else {}
            both = [counter for counter in names if counter in then and counter in now]
            more = grown(then, {counter: now[counter] for counter in both})
            if more is None:
                yield unknown(RESET, device=name)
            elif reading and more:
                said = ", ".join(f"{counter} by {count - was}" for counter, (was, count) in more.items())
                first = next(iter(more))
                yield broken(f"of {name} grew {said}", evidence(reading, first, more[first][0]), name)
            elif both:
                yield ok(name)

    return judge


def _replays(case: Case) -> Iterator[Judged]:
    held = [
        Held(host, name, value(reading, "replays"), evidence(reading, "replays"))
        for host, facts in case.fleet.items()
        for name, _, reading in of_devices(facts, "amd", "pcie", "replays")
        if reading
    ]
    yield from far_above("repeated PCIe packets", held, case.limits)


def _hot(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "amd", "table", "temperature"):
        if reading is None:
            yield untold(device, "table", name)
        elif (degrees := value(reading, "temperature")) >= case.limits["most"]:
            shown = evidence(reading, "temperature", case.limits["most"])
            yield broken(f"{name} has {degrees:g} °C at its hottest spot", shown, name)
        else:
            yield ok(name)


def _device_count(case: Case) -> Iterator[Judged]:
    """Of hosts that have any, or should have: the others may be of another maker."""
    held = [
        Held(host, None, len(devices(facts, "amd")), {"command": "amd-smi list"})
        for host, facts in case.fleet.items()
        if devices(facts, "amd") or (facts["accelerators"].get("amd") or {}).get("on_pcie")
    ]
    yield from outliers("the number of AMD GPUs", held) if any(one.value for one in held) else ()


def _missing(case: Case) -> Iterator[Judged]:
    """On PCIe, and not in the list of amd-smi."""
    listed = _readings(case.facts).get("list")
    on_pcie = case.facts["accelerators"]["amd"].get("on_pcie")
    if listed is None or listed["state"] != "told" or not on_pcie:
        return
    known = {device["bus"] for device in devices(case.facts, "amd")}
    contained = bool((case.facts.get("cgroup") or {}).get("container"))
    for bus in on_pcie:
        if bus in known:
            yield ok(bus)
        elif contained:
            yield unknown("it is on PCIe, and this container may not have been given it", device=bus)
        else:
            message = f"the GPU at {bus} is on PCIe, and amd-smi does not know it"
            yield broken(message, {"command": listed["source"], "file": f"/sys/bus/pci/devices/{bus}"}, bus)


def _driver(case: Case) -> Iterator[Judged]:
    """A tool on a host that has no GPU is no fault."""
    if case.facts["accelerators"]["amd"].get("on_pcie") == []:
        return
    for reading in _readings(case.facts).values():
        if value(reading, "fault") == "no_driver":
            yield broken("the driver amdgpu is not loaded", evidence(reading, "fault"))
            return
        if value(reading, "fault") == "no_devices":
            yield broken("the tool finds no AMD GPU", evidence(reading, "fault"))
            return
        if reading["state"] == "told":
            yield ok()


def _versions(case: Case) -> Iterator[Judged]:
    for query, name, what in (("version", "rocm", "the version of ROCm"), ("version", "driver", "that of amdgpu")):
        held = []
        for host, facts in case.fleet.items():
            reading = _readings(facts).get(query)
            if reading and value(reading, name) is not None:
                held.append(Held(host, None, value(reading, name), evidence(reading, name)))
        yield from outliers(what, held)
    yield from outliers("the driver of GPUs", list(_drivers(case)))


def _drivers(case: Case) -> Iterator[Held]:
    for host, facts in case.fleet.items():
        for name, _, reading in of_devices(facts, "amd", "driver", "driver_version"):
            if reading:
                yield Held(host, name, value(reading, "driver_version"), evidence(reading, "driver_version"))


def _rule(
    name: str, status: Status, judge: Callable[[Case], Iterator[Judged]], scope: Scope = Scope.HOST, **words: Any
) -> Rule:
    return Rule(name=name, status=status, needs=("accelerators",), judge=judge, scope=scope, **words)


RULES = (
    _rule(
        "amd.throttled", Status.WARN, _throttled,
        summary="no AMD GPU is held back by heat or power",
        why="A GPU that lowers its clocks is late at every collective, and all others wait for it.",
        remedy="look at temperatures (`amd-smi metric --temperature`), fans and air flow; for the power cap "
        "at `amd-smi static --limit`",
    ),
    _rule(
        "amd.pcie_width", Status.FAIL, _pcie_width,
        summary="AMD GPUs have all their PCIe lanes",
        why="Each lane lost is bandwidth lost to the host, to storage and to the network, without any error.",
        remedy="reseat the GPU or its riser; compare LnkCap and LnkSta in `lspci -vv -s ADDRESS`, of it and the slot",
    ),
    _rule(
        "amd.pcie_width_differs", Status.WARN, _width_of_likes, Scope.FLEET,
        summary="AMD GPUs have equally many PCIe lanes",
        why="GPUs of one host or fleet are connected alike; one with fewer lanes has lost some.",
        remedy="reseat the GPU or its riser; compare LnkCap and LnkSta in `lspci -vv -s ADDRESS`, of it and the slot",
    ),
    _rule(
        "amd.ecc_uncorrectable", Status.FAIL, _uncorrectable,
        summary="no AMD GPU has had uncorrectable memory errors",
        why="What was in that memory is lost: the job that used it ended, or went on with wrong numbers.",
        remedy="restart the host, so that bad pages are taken out of use; if it comes again, have the GPU replaced. "
        "`amd-smi metric --ecc-blocks` tells which part it was",
    ),
    _rule(
        "amd.ecc_correctable_grew", Status.WARN,
        _grew("ecc", "correctable", "cache_correctable", "deferred"), Scope.SNAPSHOTS,
        summary="no memory error of an AMD GPU was corrected between two looks",
        why="Errors that are corrected do no harm; many of them come before one that cannot be.",
        remedy="look again after a day; if they go on, have the GPU looked at before they become uncorrectable",
    ),
    _rule(
        "amd.bad_pages", Status.FAIL, _bad_pages,
        summary="no AMD GPU has bad pages of memory in use",
        why="A page that is known to be bad and still in use ends the job that gets it.",
        remedy="restart the host, which takes pending pages out of use; if some stay, have the GPU replaced",
    ),
    _rule(
        "amd.pcie_replays_grew", Status.WARN,
        _grew("pcie", "replays", "replay_roll_overs", "naks_sent", "naks_received"), Scope.SNAPSHOTS,
        summary="no AMD GPU repeated PCIe packets between two looks",
        why="Packets are repeated when they arrive damaged: a bad contact, slot or riser.",
        remedy="reseat the GPU and its riser; look into `dmesg | grep -i aer`",
    ),
    _rule(
        "amd.pcie_replays_stand_out", Status.WARN, _replays, Scope.FLEET,
        summary="no AMD GPU has repeated far more PCIe packets than the others",
        why="Packets are repeated when they arrive damaged: a bad contact, slot or riser.",
        remedy="look again after a while (`amd-smi metric --pcie`); reseat the GPU and its riser; look into "
        "`dmesg | grep -i aer`",
        thresholds={
            "least": Threshold(1000, "packets", "opsdist: some hundred come when a link trains"),
            "deviations": Threshold(5, "median absolute deviations", "opsdist: far outside of what peers have"),
        },
    ),
    _rule(
        "amd.hot", Status.WARN, _hot,
        summary="no AMD GPU is hot",
        why="A GPU lowers its clocks when it gets too hot, and its collectives with it.",
        remedy="look at temperatures under load (`amd-smi monitor -t`), fans and air flow",
        thresholds={"most": Threshold(105, "°C", "opsdist: GPUs slow down at 100 to 110 at their hottest spot")},
    ),
    _rule(
        "amd.throttled_since", Status.WARN, _grew("throttle", *_HEAT), Scope.SNAPSHOTS,
        summary="no AMD GPU was too hot between two looks",
        why="A GPU that lowers its clocks now and then makes every collective wait, and is cool again when one looks.",
        remedy="look at temperatures under load (`amd-smi monitor -t`), fans and air flow",
    ),
    _rule(
        "amd.device_count", Status.FAIL, _device_count, Scope.FLEET,
        summary="hosts have the same number of AMD GPUs",
        why="A job that wants all GPUs of all hosts does not start, or leaves some of them idle.",
        remedy="compare `amd-smi list` with `lspci -d 1002:`; reseat a GPU that lspci lacks, else see `dmesg`",
    ),
    _rule(
        "amd.device_missing", Status.FAIL, _missing,
        summary="amd-smi knows every AMD GPU that is on PCIe",
        why="A GPU that the driver gave up is still on the bus, and no job can use it.",
        remedy="look into `dmesg | grep amdgpu` for its address; restart the host, then have it looked at",
    ),
    _rule(
        "amd.driver", Status.FAIL, _driver,
        summary="the driver of AMD GPUs works",
        why="Without amdgpu there is no /dev/kfd, and nothing of ROCm runs.",
        remedy="`modprobe amdgpu` and look into `dmesg`; in a container give it /dev/kfd and /dev/dri",
    ),
    _rule(
        "amd.versions_differ", Status.WARN, _versions, Scope.FLEET,
        summary="hosts have the same ROCm and the same driver for AMD GPUs",
        why="RCCL of different releases may choose different algorithms and then hang.",
        remedy="install one release on all hosts; `amd-smi version` tells it",
    ),
)  # fmt: skip
