"""Rules about the optical modules in the ports of Ascend NPUs. May import: readings, rule, report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from suites.checks.readings import Reading, evidence, of_devices, untold, value
from suites.checks.rule import Case, Judged, Rule, Threshold, broken, ok
from suites.report import Status

_LIGHT = (("tx", "tx_power", "txpower", "sends"), ("rx", "rx_power", "rxpower", "receives"))
_DARK = 1e-4
"""mW, less than modules can measure."""
_FLAGS = {
    "rx_los": "no light is received",
    "rx_lol": "no clock is found in what is received",
    "tx_los": "no signal comes from the NPU",
    "tx_lol": "no clock is found in what the NPU sends",
}


def _missing(case: Case) -> Iterator[Judged]:
    for name, device, reading in _modules(case):
        if reading is None:
            yield untold(device, "optical", name)
            continue
        fault = value(reading, "fault") or ""
        if "unreachable" in fault:
            yield broken(f"the optical module of {name} does not answer", evidence(reading, "fault"), name)
        elif "not present" not in fault and value(reading, "present") is not False:
            yield ok(name)
        elif _is_up(device):
            shown = evidence(reading, "fault" if fault else "present")
            message = f"{name} has a link without an optical module: a copper cable, or the module cannot be read"
            yield broken(message, shown, name, status=Status.INFO)
        else:
            shown = evidence(reading, "fault" if fault else "present")
            yield broken(f"there is no optical module in the port of {name}", shown, name)


def _modules(case: Case) -> Iterator[tuple[str, Mapping[str, Any], Reading | None]]:
    yield from of_devices(case.facts, "ascend", "optical")


def _is_up(device: Mapping[str, Any]) -> bool:
    link = device["readings"].get("link")
    return link is not None and value(link, "status") == "UP"


def _lanes(reading: Reading, kind: str) -> dict[str, float]:
    """`rx_power_0` and so on, in the order of the lanes."""
    found = {name: measured for name, measured in reading["momentary"].items() if name.rpartition("_")[0] == kind}
    return dict(sorted(found.items(), key=lambda item: int(item[0].rpartition("_")[2])))


def _light(case: Case) -> Iterator[Judged]:
    for name, _, reading in _modules(case):
        if reading is None or not _lanes(reading, "rx_power"):
            continue
        wrong = list(_wrong_light(name, reading))
        yield from wrong or (ok(name),)


def _wrong_light(name: str, reading: Reading) -> Iterator[Judged]:
    unit = value(reading, "unit") or ""
    for _, kind, limits, does in _LIGHT:
        low, high = value(reading, f"{limits}_low"), value(reading, f"{limits}_high")
        if low is None or high is None or low >= high:
            continue
        bad = {lane: power for lane, power in _lanes(reading, kind).items() if not low <= power <= high}
        if bad:
            told = ", ".join(f"{power:g} {unit}".strip() + f" on lane {lane[-1]}" for lane, power in bad.items())
            shown = {**evidence(reading, next(iter(bad)), [low, high], "the module's own limits"), "lanes": bad}
            message = f"the module of {name} {does} {told}, and its limits are {low:g} to {high:g}"
            yield broken(message, shown, name)


def _supply(case: Case) -> Iterator[Judged]:
    """The module's voltage by its own limits, and lasers without current beside others that have some."""
    for name, _, reading in _modules(case):
        if reading is None:
            continue
        volts, low, high = (value(reading, key) for key in ("vcc", "vcc_low", "vcc_high"))
        currents = _lanes(reading, "tx_bias")
        dead = [lane for lane, current in currents.items() if current == 0 < max(currents.values())]
        limited = None not in (volts, low, high) and low < high
        if limited and not low <= volts <= high:
            shown = evidence(reading, "vcc", [low, high], "the module's own limits")
            yield broken(f"the module of {name} has {volts:g} mV, and its limits are {low:g} to {high:g}", shown, name)
        for lane in dead:
            sends = reading["momentary"].get(f"tx_power_{lane.rpartition('_')[2]}", 0) > (
                value(reading, "txpower_low") or 0
            )
            message = f"the laser of lane {lane[-1]} of {name}'s module gets no current"
            message += ", though it sends light" if sends else ""
            yield broken(message, evidence(reading, lane), name, status=Status.INFO if sends else Status.WARN)
        if (limited or currents) and not dead and not (limited and not low <= volts <= high):
            yield ok(name)


def _spread(case: Case) -> Iterator[Judged]:
    for name, _, reading in _modules(case):
        lanes = _lanes(reading, "rx_power") if reading else {}
        if reading is None or len(lanes) < 2 or any(_wrong_light(name, reading)):
            continue
        in_decibel = value(reading, "unit") == "dBm"
        if not in_decibel and max(lanes.values()) <= 0:
            continue  # it measures none
        levels = {lane: power if in_decibel else 10 * math.log10(max(power, _DARK)) for lane, power in lanes.items()}
        weakest = min(levels, key=lambda lane: levels[lane])
        spread, most = max(levels.values()) - levels[weakest], case.limits["most"]
        if spread > most:
            message = f"lane {weakest[-1]} of {name}'s module receives {spread:.1f} dB less light than the best one"
            yield broken(message, {**evidence(reading, weakest, most), "lanes": lanes}, name)
        else:
            yield ok(name)


def _flags(case: Case) -> Iterator[Judged]:
    for name, _, reading in _modules(case):
        known = {flag: value(reading, flag) for flag in _FLAGS if reading and value(reading, flag) is not None}
        if reading is None or not known:
            continue
        raised = {flag: bits for flag, bits in known.items() if bits}
        if raised:
            told = "; ".join(f"{_FLAGS[flag]} ({flag.replace('_', ' ')} {bits:#x})" for flag, bits in raised.items())
            yield broken(
                f"the module of {name}: {told}", {**evidence(reading, next(iter(raised)), 0), "flags": raised}, name
            )
        else:
            yield ok(name)


def _noise(case: Case) -> Iterator[Judged]:
    for name, _, reading in _modules(case):
        lanes = {**_lanes(reading, "media_snr_lane"), **_lanes(reading, "host_snr_lane")} if reading else {}
        measured = {lane: snr for lane, snr in lanes.items() if snr > 0}  # 0 stands for "not measured"
        if reading is None or not measured:
            continue
        worst = min(measured, key=lambda lane: measured[lane])
        for status, least in ((Status.FAIL, case.limits["fail"]), (Status.WARN, case.limits["warn"])):
            if measured[worst] < least:
                where = worst.replace("_snr_lane_", " lane ")
                message = f"the signal of {name}'s module is only {measured[worst]:g} dB above the noise ({where})"
                yield broken(message, evidence(reading, worst, least), name, status=status)
                break
        else:
            yield ok(name)


def _heat(case: Case) -> Iterator[Judged]:
    for name, _, reading in _modules(case):
        measured = value(reading, "temperature") if reading else None
        if reading is None or measured is None:
            continue
        own = value(reading, "temp_high")
        most = own if own is not None and own > 0 else case.limits["most"]
        if measured >= most:
            source = "the module's own limit" if most == own else "the usual limit of modules"
            message = f"the optical module of {name} has {measured:g} C, and {most:g} C is its limit"
            yield broken(message, evidence(reading, "temperature", most, source), name)
        else:
            yield ok(name)


def _low_power(case: Case) -> Iterator[Judged]:
    for name, device, reading in _modules(case):
        if reading is None or value(reading, "present") is not True or value(reading, "high_power") is None:
            continue
        if value(reading, "high_power"):
            yield ok(name)
        else:
            status = Status.INFO if _is_up(device) else None
            message = f"the optical module of {name} is in its low power mode, in which fast ones send no light"
            yield broken(message, evidence(reading, "high_power"), name, status=status)


_RESEAT = (
    "clean the fibre's ends and reseat the module and the fibre; if it stays, try another module, then another fibre, "
    "then another switch port"
)
_NEEDS = ("accelerators",)
RULES = (
    Rule(
        name="ascend.optics_missing",
        summary="the port of every NPU has a module that answers",
        why="Without a module, or with one that does not answer, there is no link or nobody can watch it.",
        remedy="push the module in until it locks, or replace it; an unreachable one may come back after it is pulled "
        "and put in again",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_missing,
    ),
    Rule(
        name="ascend.optics_light",
        summary="optical modules send and receive as much light as they should",
        why="Too little light gives bit errors or no link, too much blinds the receiver; the limits are the module's "
        "own.",
        remedy=_RESEAT,
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_light,
    ),
    Rule(
        name="ascend.optics_supply",
        summary="optical modules have their voltage, and all their lasers a current",
        why="Below or above its own limits a module has errors or switches itself off; a laser without current "
        "is dead.",
        remedy="pull the module and put it in again; if it stays, try it in another port: replace the module where it "
        "takes the fault along, else the board of the port",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_supply,
    ),
    Rule(
        name="ascend.optics_lane_weak",
        summary="the lanes of optical modules receive much the same light",
        why="A lane that is 3 dB weaker than another has half its light: dirt, a bent fibre or a laser that ages.",
        remedy=_RESEAT,
        status=Status.WARN,
        needs=_NEEDS,
        judge=_spread,
        thresholds={"most": Threshold(3, "dB", "MindCluster's fault diagnosis: power difference of lanes")},
    ),
    Rule(
        name="ascend.optics_signal",
        summary="optical modules find a signal on all lanes",
        why="The flags of the module say that light or clock is lost now (LOS, LOL): the link is down or about to be.",
        remedy=_RESEAT + "; see whether the switch port is enabled and sends",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_flags,
    ),
    Rule(
        name="ascend.optics_noise",
        summary="the signal of optical modules is well above the noise",
        why="A low ratio of signal to noise comes before bit errors that cannot be corrected.",
        remedy=_RESEAT,
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_noise,
        thresholds={
            "warn": Threshold(20, "dB", "MindCluster's fault diagnosis: warning of SNR"),
            "fail": Threshold(18, "dB", "MindCluster's fault diagnosis: alarm of SNR"),
        },
    ),
    Rule(
        name="ascend.optics_hot",
        summary="optical modules are not too hot",
        why="Above its limit a module has errors, ages quickly and may switch itself off.",
        remedy="check the fans and the air's way to the ports, and whether covers of empty slots are missing",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_heat,
        thresholds={"most": Threshold(70, "C", "usual case temperature limit of modules, where one does not tell it")},
    ),
    Rule(
        name="ascend.optics_low_power",
        summary="optical modules are in their high power mode",
        why="A fast module sends light only in its high power mode; MindCluster's fault diagnosis takes the low one "
        "for a fault.",
        remedy="pull the module and put it in again, or reset it; if it stays, replace it",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_low_power,
    ),
)
