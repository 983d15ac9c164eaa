"""Rules about the link of each Ascend NPU's network port, as hccn_tool tells of it. May import: readings, rule, report.

Texts and states: the source of hccn_tool in the Ascend driver; MindCluster's fault diagnosis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from suites.checks.readings import Reading, devices, evidence, label, of_devices, untold, value
from suites.checks.rule import Case, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_LINK_REMEDY = (
    "look at `hccn_tool -i N -optical -g` and -link_stat; reseat or replace the module or the cable, and see that the "
    "switch port is up"
)


def _link(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "link", "status"):
        if reading is None:
            gone = _faulty(device, "Link status is down")
            yield broken(_no_link(name), evidence(gone, "fault"), name) if gone else untold(device, "link", name)
        elif value(reading, "status") == "UP":
            yield ok(name)
        else:
            yield broken(_no_link(name), evidence(reading, "status"), name)


def _no_link(name: str) -> str:
    return f"the network port of {name} has no link"


def _faulty(device: Mapping[str, Any], words: str) -> Reading | None:
    """The first answer to any question that is this fault."""
    readings: Mapping[str, Reading] = device.get("readings") or {}
    return next((reading for reading in readings.values() if words in str(reading["values"].get("fault"))), None)


def _gone(case: Case) -> Iterator[Judged]:
    for device in devices(case.facts, "ascend"):
        name = label("ascend", device)
        if reading := _faulty(device, "is not exist"):
            yield broken(f"hccn_tool says that there is no {name}", evidence(reading, "fault"), name)
        elif any(query in device["readings"] for query in ("link", "net_health", "ip")):
            yield ok(name)


def _flapped(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "link_stat", "last"):
        if reading is None:
            yield from () if _never_changed(device) else (untold(device, "link_stat", name),)
            continue
        changes = value(reading, "changes")
        seen = evidence(reading, "last", source=f"{len(changes)} changes, newest first")
        downs = _losses(changes)
        now = value(reading, "now") or changes[0]["time"]
        recent = [down for down in downs if _seconds(down, now) <= case.limits["recent"]]
        daily = [down for down in downs if _seconds(down, now) <= 86400]
        if value(reading, "last") != "UP":
            yield broken(f"the link of {name} went down at {changes[0]['time']} and did not come back", seen, name)
        elif value(reading, "now") and recent:
            threshold = case.limits["recent"]
            message = f"the link of {name} was down at {recent[0]}, {_seconds(recent[0], now):.0f} s ago"
            yield broken(message, {**seen, "threshold": threshold}, name, status=Status.WARN)
        elif len(daily) >= case.limits["daily"]:
            message = f"the link of {name} went down {len(daily)} times within a day, last at {daily[0]}"
            yield broken(message, {**seen, "threshold": case.limits["daily"]}, name, status=Status.WARN)
        else:
            yield ok(name)


def _never_changed(device: Mapping[str, Any]) -> bool:
    reading: Reading = device["readings"]["link_stat"]
    return not value(reading, "changes") and value(reading, "changes") is not None


def _losses(changes: Sequence[Mapping[str, str]]) -> list[str]:
    """When the link went down, newest first, but for what belongs to its coming up: the first minute on record."""
    first = changes[-1]["time"]
    return [change["time"] for change in changes if change["state"] == "DOWN" and _seconds(first, change["time"]) > 60]


def _seconds(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def _lost(case: Case) -> Iterator[Judged]:
    before = {
        name: {change["time"] for change in value(reading, "changes") or () if change["state"] == "DOWN"}
        for name, _, reading in of_devices(case.earlier, "ascend", "link_stat", "changes")
        if reading is not None
    }
    for name, _, reading in of_devices(case.facts, "ascend", "link_stat", "last"):
        if reading is None or name not in before:
            continue
        changes = value(reading, "changes")
        new = [change["time"] for change in changes if change["state"] == "DOWN" and change["time"] not in before[name]]
        if new:
            more = f", {len(new)} times in all" if len(new) > 1 else ""
            message = f"the link of {name} went down at {new[0]}{more}, after the earlier snapshot"
            yield broken(message, evidence(reading, "last"), name)
        else:
            yield ok(name)


def _net_health(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "net_health", "status"):
        if reading is None:
            yield untold(device, "net_health", name)
            continue
        status, shown = value(reading, "status"), evidence(reading, "status")
        match status.lower():
            case "success":
                yield ok(name)
            case "init":
                message = f"the network of {name} is not watched: no address has been asked yet (Init)"
                yield broken(message, shown, name, status=Status.INFO, remedy=_WATCH)
            case "detect ip set" | "unknown":
                message = f"whether {name} reaches its detection address is not known: {status}"
                yield broken(message, shown, name, status=Status.WARN)
            case _:
                yield broken(f"{name} does not reach its detection address: {status}", shown, name)


_WATCH = (
    "to have it watched, set an address that always answers, as the gateway: hccn_tool -i N -netdetect -s address A"
)

RULES = (
    Rule(
        name="ascend.port_gone",
        summary="hccn_tool knows every NPU that is configured or present",
        why="An NPU that fell off the bus is still in /etc/hccn.conf; whoever starts ranks on it waits for them in "
        "vain.",
        remedy="see `npu-smi info` and `lspci | grep acce` for the missing card; reset it or restart the host, and if "
        "it stays away have the card replaced",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_gone,
    ),
    Rule(
        name="ascend.link_down",
        summary="the network port of every NPU has a link",
        why="Ranks on other hosts are reached through it; without a link HCCL fails with EI0006 or EI0013.",
        remedy=_LINK_REMEDY,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_link,
    ),
    Rule(
        name="ascend.link_flapped",
        summary="the link of every NPU's port has been up for a while",
        why="HCCL loses what is under way when a link goes away, even for a second (EI0013, error CQE). What happens "
        "in the first minute on record is the link coming up, and no flap.",
        remedy="compare the times with those in the job's log and in the switch's; reseat or replace the module or the "
        "cable, and look at `hccn_tool -i N -optical -g`",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_flapped,
        thresholds={
            "recent": Threshold(1800, "s", "half an hour: longer than HCCL waits with its default timeouts"),
            "daily": Threshold(3, "times a day", "gpud calls three reverts of a link flapping"),
        },
    ),
    Rule(
        name="ascend.link_lost",
        summary="no NPU's port lost its link since the earlier snapshot",
        why="A link that went down during a job explains its error CQEs and retries (EI0013), also where it is up "
        "again; MindCluster compares the records before and after a job for it.",
        remedy=_LINK_REMEDY,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_lost,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="ascend.net_health",
        summary="every NPU reaches the address that it watches",
        why="The NPU asks its detection address all the time; when that fails, so do ranks on other hosts. Without "
        "such an address the state is Init, which says nothing about the network.",
        remedy="see that the address in `hccn_tool -i N -netdetect -g` is the gateway of the NPU's network and answers "
        "(`hccn_tool -i N -ping -g address A`); check gateway, VLAN and cable of that switch port",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_net_health,
    ),
)
