"""Rules about what the kernel and the fabric manager have logged, one for each kind of event.

May import: log_kinds, readings, xid, rule, report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from suites.checks.equipment import port_rate
from suites.checks.log import xid
from suites.checks.log.kinds import KINDS, Kind
from suites.checks.readings import of_host
from suites.checks.rule import Case, Facts, Judged, Rule, Threshold, broken, ok, unknown
from suites.report import Status

Event = Mapping[str, Any]

_FABRIC = "fabric manager"
_FABRIC_ERROR = "fabric_manager_error"
_LIMITED = re.compile(r"limited by ([\d.]+) GT/s PCIe x(\d+) link.*capable of.* ([\d.]+) GT/s PCIe x(\d+) link")
_LEFT = re.compile(r"([\d.]+) Gb/s available")
_CARD_DRIVER = re.compile(r"\b(?:mlx5_core|bnxt_en|ice|hns3|hinic3?) ")
_CARD_LANES = 8
"""What a fast card has at least; disks and the small cards on boards have fewer, and often leave some unused."""


def _events(facts: Facts, kind: str) -> list[Event] | None:
    """None where the log that would hold them could not be read."""
    events, sources = facts["log"]["events"], facts["log"]["sources"]
    logs = {name for name, reading in sources.items() if reading["state"] == "told"}
    if events is None or not (logs & {_FABRIC} if kind == _FABRIC_ERROR else logs - {_FABRIC}):
        return None
    return [event for event in events if event["kind"] == kind]


def _evidence(event: Event, threshold: Any = None) -> dict[str, Any]:
    where = "file" if event["source"].startswith("/") else "command"
    found = {where: event["source"], "line": event["line"], "value": event["count"]}
    return found if threshold is None else {**found, "threshold": threshold}


def _times(event: Event) -> str:
    """How often, and when."""
    when = f", last at {event['last']}" if event["last"] else ""
    return f" ({event['count']} times{when})" if event["count"] > 1 else f" ({when[2:]})" if when else ""


def _logged(case: Case, kind: str, what: str) -> Iterator[Judged]:
    """Every event of a kind is broken, but for those that are so seldom that they mean nothing."""
    events = _events(case.facts, kind)
    if events is None:
        return
    least = case.limits.get("least", 1)
    for event in events:
        if event["count"] >= least:
            device, detail = event["device"], event["detail"]
            message = what + (f" at {device}" if device else "") + (f": {detail}" if detail else "") + _times(event)
            yield broken(message, _evidence(event, case.limits.get("least")), device)
    if not events:
        yield ok()


def _xid(case: Case) -> Iterator[Judged]:
    events = _events(case.facts, "xid")
    for event in events or ():
        found = xid.meaning(event["code"], event["detail"])
        message = f"Xid {event['code']} at GPU {event['device']}: {found.what}{_times(event)}"
        evidence = {**_evidence(event), "value": event["code"], "source": xid.SOURCE}
        yield broken(message, evidence, event["device"], status=found.status, remedy=found.remedy)
    if events == []:
        yield ok()


def _sxid(case: Case) -> Iterator[Judged]:
    events = _events(case.facts, "sxid")
    for event in events or ():
        mild = "non-fatal" in (event["detail"] or "").lower()
        message = f"SXid {event['code']} at NVSwitch {event['device']}: {event['detail'] or 'no words'}{_times(event)}"
        yield broken(message, _evidence(event), event["device"], status=Status.WARN if mild else None)
    if events == []:
        yield ok()


def _bandwidth(case: Case) -> Iterator[Judged]:
    """Fewer lanes than a fast card can use are a fault. A lower speed may be that of the slot, or of a device that
    slept while the host booted."""
    events = _events(case.facts, "pcie_bandwidth_limited")
    for event in events or ():
        match = _LIMITED.search(event["detail"] or "")
        lanes, most = (int(match[2]), int(match[4])) if match else (0, 0)
        if most < _CARD_LANES:
            yield ok(event["device"])
        elif lanes < most:
            message = f"{event['device']} has a PCIe link of {lanes} instead of {most} lanes: {event['detail']}"
            yield broken(message, _evidence(event), event["device"])
        else:
            message = f"{event['device']} has a PCIe link below its speed: {event['detail']}"
            status = Status.WARN if _is_short(case.facts, event) else Status.INFO
            yield broken(message, _evidence(event), event["device"], status=status, remedy=_SPEED)
    if events == []:
        yield ok()


def _is_short(facts: Facts, event: Event) -> bool:
    """A network card does not sleep as a GPU does; but what is left may be enough for its ports."""
    rate, left = port_rate(facts, event["device"]), _LEFT.match(event["detail"])
    return _CARD_DRIVER.search(event["line"]) is not None and not (rate and left and rate <= float(left[1]) * 1e9)


def _fabric(case: Case) -> Iterator[Judged]:
    """Where the accelerators are looked at, what is known of NVIDIA's devices tells more of the same log."""
    if of_host(case.facts, "nvidia", "fabric_log") is None:
        yield from _logged(case, _FABRIC_ERROR, "the fabric manager has logged an error")


def _flapping(case: Case) -> Iterator[Judged]:
    often = case.limits["often"]
    events = _events(case.facts, "link_lost")
    for event in events or ():
        if event["burst"] < often:
            message = f"{event['device']} lost its link{_times(event)}"
            yield broken(message, _evidence(event, often), event["device"], status=Status.INFO)
        else:
            message = f"the link of {event['device']} flaps: it was lost {event['burst']} times within an hour"
            evidence = {**_evidence(event, often), "value": event["burst"]}
            yield broken(f"{message}, last at {event['last']}", evidence, event["device"])
    if events == []:
        yield ok()


def _unreadable(case: Case) -> Iterator[Judged]:
    sources = {name: each for name, each in case.facts["log"]["sources"].items() if name != _FABRIC}
    if any(reading["state"] == "told" for reading in sources.values()):
        yield ok()
    elif sources:
        reasons = "; ".join(f"{reading['source']}: {reading['reason']}" for reading in sources.values())
        yield unknown(
            f"the kernel's log may not be read, so GPU errors (Xid), link flaps, PCIe and memory errors are not known "
            f"({reasons}); root may read it"
        )


_FLAPPING = "the count of ib_link_flapping in Azure's HPC health checks; the hour is our own"
_SPEED = "see under load whether it stays so: `lspci -vvv -s SLOT | grep LnkSta`; a slot may be of an older generation"


def _rule(kind: Kind) -> Rule:
    limits = {} if kind.least is None else {"least": Threshold(kind.least, "events in the log", kind.source)}
    judge: Callable[[Case], Iterator[Judged]] = partial(_logged, kind=kind.name, what=kind.what)
    return Rule(f"log.{kind.name}", kind.summary, kind.why, kind.remedy, kind.status, ("log",), judge, limits)


RULES = (
    Rule(
        name="log.unreadable",
        summary="the kernel's log may be read",
        why="What the hardware has reported stands there; in containers and for users it is often closed.",
        remedy="run `opsdist info` as root on the host itself, or `sysctl kernel.dmesg_restrict=0`",
        status=Status.INFO,
        needs=("log",),
        judge=_unreadable,
    ),
    Rule(
        name="log.xid",
        summary="NVIDIA's driver has reported no error of a GPU (Xid)",
        why="An Xid says what went wrong on a GPU; a node with some of them has to be reset, rebooted or repaired "
        "before collectives can be trusted to it.",
        remedy="look the number up in NVIDIA's Xid catalogue, docs.nvidia.com/deploy/xid-errors",
        status=Status.FAIL,
        needs=("log",),
        judge=_xid,
    ),
    Rule(
        name="log.sxid",
        summary="NVIDIA's driver has reported no error of an NVSwitch (SXid)",
        why="A fatal error of an NVSwitch ends every job whose GPUs talk over it, and others may follow.",
        remedy="see the fabric manager's log and `nvidia-smi nvlink -s`; reset all GPUs and switches, or reboot",
        status=Status.FAIL,
        needs=("log",),
        judge=_sxid,
    ),
    Rule(
        name="log.pcie_bandwidth_limited",
        summary="the kernel has found no fast card with fewer PCIe lanes than it can use",
        why="The kernel or the driver says so when the card is started: half the lanes are half the bandwidth.",
        remedy="reseat the card, its riser and cables at the address that the line names, see the slot's bifurcation, "
        "then `lspci -vvv -s SLOT | grep -E 'LnkCap|LnkSta'`",
        status=Status.FAIL,
        needs=("log",),
        judge=_bandwidth,
    ),
    Rule(
        name="log.link_flaps",
        summary="no network interface has lost its link again and again",
        why="RDMA and TCP stall while a link is away, and a job that waits for it ends with a timeout (EI0013, IBV_WC_"
        "RETRY_EXC_ERR).",
        remedy="clean or replace the cable and the module, look at the switch port's log and error counters, and at "
        "`ethtool INTERFACE` or `mlxlink -d DEVICE -m -c`",
        status=Status.FAIL,
        needs=("log",),
        judge=_flapping,
        thresholds={"often": Threshold(5, "losses within an hour between two boots", _FLAPPING)},
    ),
    Rule(
        name="log.fabric_manager_error",
        summary="the fabric manager has logged no error",
        why="It sets up NVLink between all GPUs of a host; after an error of a switch or link some may not be reached.",
        remedy="see `dmesg` for SXid and Xid, and `nvidia-smi nvlink -s`; when no job runs reset all GPUs, or reboot",
        status=Status.WARN,
        needs=("log",),
        judge=_fabric,
    ),
    *map(_rule, KINDS),
)  # fmt: skip
