"""Rules about the state of each NPU: its health, faults, temperature, clocks, and firmware.

May import: readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.ascend.npus import Device, each, model, told_by
from suites.checks.readings import Reading, evidence, of_devices, untold, value
from suites.checks.rule import Case, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_BAD = {
    "unknown": Status.WARN, "offline": Status.WARN, "warning": Status.WARN, "alarm": Status.FAIL,
    "critical": Status.FAIL,
}  # fmt: skip
"""Unknown: "the device does not exist or is not started"."""
_LOADS = ("aicore_percent", "npu_percent", "aicube_percent")


def _health(case: Case) -> Iterator[Judged]:
    for name, device in each(case.facts):
        reading = _worst(device)
        if reading is None:
            if "health" in device["readings"]:
                yield untold(device, "health", name)
            continue
        word = str(value(reading, "health"))
        if word.lower() in _BAD:
            shown = {**evidence(reading, "health"), **_codes(device)}
            told = ", ".join(shown.get("codes", ()))
            message = f"the health of {name} is {word}" + (f": {told}" if told else "")
            yield broken(message, shown, name, status=_BAD[word.lower()])
        elif word.upper() == "OK":
            yield ok(name)


def _worst(device: Device) -> Reading | None:
    """The answer that tells of bad health, where one does."""
    told = [reading for query in ("health", "info") if (reading := told_by(device, "health", query))]
    order = (Status.FAIL, Status.WARN, None)
    return min(told, key=lambda reading: order.index(_BAD.get(str(value(reading, "health")).lower())), default=None)


def _codes(device: Device) -> dict[str, list[str]]:
    """Fault codes, and what they mean where the tool tells."""
    found: dict[str, list[str]] = {}
    for key in ("codes", "meanings"):
        if reading := told_by(device, key, "health", "events"):
            found[key] = list(value(reading, key))
    return found


def _fault_codes(case: Case) -> Iterator[Judged]:
    """Of devices that call themselves healthy; with the others the codes are told."""
    for name, device in each(case.facts):
        reading = _worst(device)
        if reading is not None and str(value(reading, "health")).lower() in _BAD:
            continue
        told = [source for query in ("health", "events") if (source := told_by(device, "codes", query))]
        coded = next((source for source in told if value(source, "codes")), None)
        if coded:
            message = f"{name} has fault codes, though its health is not bad: {', '.join(value(coded, 'codes'))}"
            yield broken(message, {**evidence(coded, "codes"), **_codes(device)}, name)
        elif told:
            yield ok(name)


def _temperature(case: Case) -> Iterator[Judged]:
    for name, device in each(case.facts):
        for key, limit, what in (("temperature_c", "most", name), ("hbm_temperature_c", "hbm", f"{name}'s memory")):
            if reading := told_by(device, key, "common", "temperature", "memory", "info"):
                degrees, most = value(reading, key), case.limits[limit]
                if degrees > most:
                    shown = evidence(reading, key, most)
                    yield broken(f"{what} has {degrees:g} degrees Celsius, more than {most:g}", shown, name)
                else:
                    yield ok(name)


def _clock(case: Case) -> Iterator[Judged]:
    """An idle NPU lowers its clock; only one that is at work shows what it is held to."""
    limits = case.limits
    for name, device, reading in of_devices(case.facts, "ascend", "common", "aicore_mhz", "aicore_mhz_now"):
        if reading is None:
            yield untold(device, "common", name)
            continue
        rated, now = value(reading, "aicore_mhz"), value(reading, "aicore_mhz_now")
        load = max((value(reading, key) or 0 for key in _LOADS), default=0)
        hot = (value(reading, "temperature_c") or 0) > limits["degrees"]
        drawing = (value(reading, "power_w") or 0) >= limits["watts"]
        if now < limits["share"] * rated and (load >= limits["load"] or (load > 0 and (hot or drawing))):
            cause = ", and it is hot" if hot else ", and it is at its power limit" if drawing else ""
            message = f"{name} runs at {now:g} of {rated:g} MHz at {load:g} % load{cause}"
            shown = evidence(reading, "aicore_mhz_now", limits["share"] * rated)
            yield broken(message, {**shown, "load_percent": load}, name)
        else:
            yield ok(name)


def _cores(case: Case) -> Iterator[Judged]:
    """Against all NPUs of the same model."""
    models: dict[str, list[tuple[str, str, Reading]]] = {}
    for host, facts in case.fleet.items():
        for name, device in each(facts):
            if reading := told_by(device, "aicore_count", "common"):
                models.setdefault(model(device), []).append((host, name, reading))
    for alike in models.values():
        most = max(value(reading, "aicore_count") for _, _, reading in alike)
        for host, name, reading in alike if len(alike) > 1 else ():
            count = value(reading, "aicore_count")
            if count < most:
                shown = evidence(reading, "aicore_count", most, "other NPUs of the same model")
                yield broken(f"{name} has {count} cores, and others of its model {most}", shown, name, host=host)
            else:
                yield ok(name, host)


def _memory_clock(case: Case) -> Iterator[Judged]:
    least = case.limits["least"]
    for name, device, reading in of_devices(case.facts, "ascend", "memory", "hbm_mhz"):
        if reading is None or not model(device).startswith("910B"):
            continue
        clock = value(reading, "hbm_mhz")
        if 0 < clock < least:
            shown = evidence(reading, "hbm_mhz", least)
            yield broken(f"the memory of {name} runs at {clock:g} MHz, less than {least:g}", shown, name)
        else:
            yield ok(name)


def _compatible(case: Case) -> Iterator[Judged]:
    for name, _, reading in of_devices(case.facts, "ascend", "board", "compatibility"):
        if reading is None:
            continue
        word = str(value(reading, "compatibility")).upper()
        if word in ("NOK", "NOT OK"):
            versions = [value(reading, key) for key in ("software_version", "firmware_version")]
            message = f"driver {versions[0]} and firmware {versions[1]} of {name} do not fit together"
            yield broken(message, evidence(reading, "compatibility"), name)
        elif word == "OK":
            yield ok(name)


def _faulty_chips(case: Case) -> Iterator[Judged]:
    for name, _, reading in of_devices(case.facts, "ascend", "board", "faulty_chip_count"):
        if reading and (count := value(reading, "faulty_chip_count")) > 0:
            yield broken(f"the card of {name} has {count} faulty chips", evidence(reading, "faulty_chip_count"), name)
        elif reading:
            yield ok(name)


_COMMUNITY = "practice of operators of Ascend clusters"

RULES = (
    Rule(
        name="ascend.health_bad",
        summary="the health of every NPU is OK",
        why="The driver sums up the faults of a chip in this word; with Alarm or Critical it is not to be used. "
        "Unknown means that the chip is not there or has not started.",
        remedy="`npu-smi info -t health -i CARD -c CHIP` has the codes, Huawei's list of health management faults what "
        "to do for each; take the host out, reset the chip (`npu-smi set -t reset -i CARD -c CHIP`) or boot, and "
        "replace the card when it comes again",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_health,
    ),
    Rule(
        name="ascend.fault_codes",
        summary="no NPU that is healthy has fault codes",
        why="Minor faults leave the health at OK; they often come before major ones.",
        remedy="look the codes up in Huawei's list of health management faults, and watch whether they come again",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_fault_codes,
    ),
    Rule(
        name="ascend.temperature_high",
        summary="no NPU is too hot",
        why="Beyond this NPUs lower their clock, and every collective waits for the slowest.",
        remedy="see that fans run and air filters are clean, compare with the neighbours in the rack, and look at "
        "`npu-smi info -t common -i CARD` under load",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_temperature,
        thresholds={
            "most": Threshold(85, "degrees Celsius", f"NPUs throttle above it: {_COMMUNITY}"),
            "hbm": Threshold(95, "degrees Celsius", "HBM is made for up to 95 degrees (JEDEC JESD238)"),
        },
    ),
    Rule(
        name="ascend.clock_throttled",
        summary="NPUs that are at work run at their rated clock",
        why="A chip that is too hot or draws too much is slowed down without a word, and slows down all others.",
        remedy="compare its temperature and power with its neighbours' (`npu-smi info -t common -i CARD`), see to the "
        "cooling and the power supply, and to a power limit that somebody set",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_clock,
        thresholds={
            "share": Threshold(0.95, "of the rated clock", _COMMUNITY),
            "load": Threshold(50, "percent of the cores", "half at work; an idle 910B has 800 of 1800 MHz"),
            "degrees": Threshold(85, "degrees Celsius", f"NPUs throttle above it: {_COMMUNITY}"),
            "watts": Threshold(400, "watts", f"the power limit of a 910B: {_COMMUNITY}"),
        },
    ),
    Rule(
        name="ascend.cores_missing",
        summary="all NPUs of a model have the same number of cores",
        why="A core that fails at the start is left out for good, and the chip is slower than all others.",
        remedy="power the host off and on; replace the card when the core stays away",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_cores,
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.hbm_clock_low",
        summary="the memory of every 910B runs at its clock",
        why="Collectives read and write memory; a lower clock lowers their bandwidth by as much.",
        remedy="reset the chip or boot the host, and replace the card when the clock stays low",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_memory_clock,
        thresholds={"least": Threshold(1520, "MHz", f"95 % of 1600 MHz: {_COMMUNITY}")},
    ),
    Rule(
        name="ascend.board_incompatible",
        summary="driver and firmware of every NPU fit together",
        why="The driver checks the firmware against the versions it is made for; others fail in ways hard to tell.",
        remedy="install firmware and driver of one release (firmware first when upgrading), and power off and on",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_compatible,
    ),
    Rule(
        name="ascend.chip_faulty",
        summary="no card has faulty chips",
        why="The card itself counts the chips that did not start.",
        remedy="power the host off and on; replace the card when a chip stays faulty",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_faulty_chips,
    ),
)
