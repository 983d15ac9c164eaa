"""Rules about the Ascend driver, as far as npu-smi and hccn_tool can reach it. May import: readings, rule, report."""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.ascend.npus import any_told, ascend, each
from suites.checks.readings import Reading, evidence, has_told, value
from suites.checks.rule import Case, Facts, Judged, Rule, broken, ok, unknown
from suites.report import Status

_SMI = ("info", "topology", "list", "map")
_WHOLE = (1, 2, 4, 8, 16)
_LOST = "invalid card id"


def _driver(case: Case) -> Iterator[Judged]:
    faults = [reading for reading in _all_readings(case.facts) if value(reading, "fault") and _of_npu_smi(reading)]
    faults = [reading for reading in faults if not _is_lost(reading)]
    if faults:
        yield broken(f"npu-smi reaches no NPU: {value(faults[0], 'fault')}", evidence(faults[0], "fault"))
    elif any(has_told(reading) for reading in _host_readings(case.facts)):
        yield ok()
    elif refused := [reading for reading in _host_readings(case.facts) if reading["state"] == "refused"]:
        yield unknown(f"npu-smi would not say: {refused[0]['reason']}", {"command": refused[0]["source"]})


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
    return _LOST in str(value(reading, "fault") or "").lower()


def _of_npu_smi(reading: Reading) -> bool:
    return bool(reading["source"].startswith("npu-smi"))


def _host_readings(facts: Facts) -> list[Reading]:
    readings = ascend(facts).get("readings") or {}
    return [readings[query] for query in _SMI if query in readings]


def _all_readings(facts: Facts) -> Iterator[Reading]:
    """Those of the host first, as they were asked first."""
    yield from (ascend(facts).get("readings") or {}).values()
    for _, device in each(facts):
        yield from device["readings"].values()


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
