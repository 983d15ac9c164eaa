"""Rules about the Ascend driver, as far as npu-smi and hccn_tool can reach it. May import: readings, rule, report."""

from __future__ import annotations

import re
from collections.abc import Iterator

from suites.checks.ascend.npus import any_told, ascend, each
from suites.checks.readings import Reading, evidence, has_told, value
from suites.checks.rule import Case, Facts, Judged, Rule, broken, ok, unknown
from suites.report import Status

_SMI = ("info", "topology", "list", "map")
_WHOLE = (1, 2, 4, 8, 16)
_LOST = re.compile(r"invalid card id|not exist", re.IGNORECASE)


def _driver(case: Case) -> Iterator[Judged]:
    """About the host, or about the devices alone that it fails for."""
    told = any(has_told(reading) and not value(reading, "fault") for reading in _host_readings(case.facts))
    faults = [(None, reading) for reading in _host_readings(case.facts) if _is_unreached(reading)]
    of_devices = [
        (name, next(filter(_is_unreached, device["readings"].values())))
        for name, device in each(case.facts)
        if any(map(_is_unreached, device["readings"].values()))
    ]
    if not faults and told:
        for name, reading in of_devices:
            yield broken(f"npu-smi does not reach {name}: {value(reading, 'fault')}", evidence(reading, "fault"), name)
        if not of_devices:
            yield ok()
    elif found := [*faults, *of_devices]:
        _, reading = found[0]
        yield broken(f"npu-smi reaches no NPU: {value(reading, 'fault')}", evidence(reading, "fault"))
    elif refused := [reading for reading in _host_readings(case.facts) if reading["state"] == "refused"]:
        yield unknown(f"npu-smi would not say: {refused[0]['reason']}", {"command": refused[0]["source"]})


def _is_unreached(reading: Reading) -> bool:
    return bool(reading["source"].startswith("npu-smi") and value(reading, "fault")) and not _is_lost(reading)


def _incomplete(case: Case) -> Iterator[Judged]:
    table = ascend(case.facts).get("readings", {}).get("info")
    if table and value(table, "driver_incomplete"):
        yield broken("npu-smi warns that the driver is not completely installed", evidence(table, "driver_incomplete"))
    elif table and value(table, "count"):
        yield ok()


def _card_lost(case: Case) -> Iterator[Judged]:
    cards = {device["card"] for _, device in each(case.facts) if "info" in device["readings"] or device["name"]}
    for name, device in each(case.facts):
        lost = [reading for reading in device["readings"].values() if _is_lost(reading)]
        if lost and _is_whole(cards) and device["card"] >= len(cards):
            yield unknown(f"the cards are 0 to {len(cards) - 1}: that one was never there", device=name)
        elif lost:
            message = f"{name} is gone: for npu-smi there is no card {device['card']} any more"
            yield broken(message, evidence(lost[0], "fault"), name)
        elif any_told(device, "board", "health", "info"):
            yield ok(name)


def _is_whole(cards: set[int]) -> bool:
    """Whether these are all cards of a host, so that who asks for one more has counted wrong: chips for cards, say."""
    return len(cards) in _WHOLE and cards == set(range(len(cards)))


def _is_lost(reading: Reading) -> bool:
    return bool(_LOST.search(str(value(reading, "fault") or "")))


def _host_readings(facts: Facts) -> list[Reading]:
    readings = ascend(facts).get("readings") or {}
    return [readings[query] for query in _SMI if query in readings]


RULES = (
    Rule(
        name="ascend.driver_not_ready",
        summary="npu-smi reaches the driver, and the driver has NPUs",
        why="Without the driver no NPU can be used. After a new kernel or firmware it has to be installed again, or "
        "the host has to be booted; -8005 is also said to users who may not use the devices.",
        remedy="try it as root; else see `lsmod | grep drv_` and `dmesg | grep -i devdrv`, install the driver for this "
        "kernel again (Ascend-hdk-*-npu-driver*.run --full) and boot",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_driver,
    ),
    Rule(
        name="ascend.driver_incomplete",
        summary="the Ascend driver is completely installed",
        why="npu-smi looks for Driver_Install_Status=complete in /etc/ascend_install.info and warns where it is not.",
        remedy="install the driver package again and read /var/log/ascend_seclog/ascend_install.log",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_incomplete,
    ),
    Rule(
        name="ascend.card_lost",
        summary="npu-smi knows every card that it is asked for",
        why="A card that fell off the bus is unknown to npu-smi, and a job that counts on it cannot start.",
        remedy="see `lspci -d 19e5:` and dmesg for the card; power the host off and on (a warm boot may not bring it "
        "back), and reseat or replace the card when it stays away",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_card_lost,
    ),
)
