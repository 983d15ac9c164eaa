"""Rules about RDMA adapters: which there are, their firmware, their place on PCIe, and the tools that tell of them.

May import: agreement, equipment, rdma_facts, readings, rule, report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from suites.checks.agreement import Held, outliers
from suites.checks.equipment import graver
from suites.checks.rdma.facts import devices, evidence, gigabits, majority, model, named
from suites.checks.readings import evidence as from_reading
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, broken, ok
from suites.report import Status

_GENERATIONS: Mapping[float, float] = {2.5: 0.8, 5.0: 0.8, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 1.0}
"""GT/s -> the share of bits that is no coding (PCI Express base specification)."""


def _readings(facts: Facts) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = (facts.get("rdma") or {}).get("readings") or {}
    return found


def _vanished(case: Case) -> Iterator[Judged]:
    for reading in _readings(case.facts).values():
        name = reading["values"].get("vanished")
        if name:
            message = f"{name} is still listed but cannot be read: it went away while the driver holds it"
            yield broken(message, from_reading(reading, "vanished"), name)
        elif reading["reason"] and reading["state"] == "told":
            message = f"`{reading['source']}` broke off: {reading['reason']}"
            yield broken(message, {"command": reading["source"]}, status=Status.WARN)
        elif reading["state"] == "told":
            yield ok()


def _device_count(case: Case) -> Iterator[Judged]:
    counts = {host: len(devices(facts)) for host, facts in case.fleet.items() if _known(facts)}
    usual = majority(list(counts.values()))
    if len(counts) < 2:
        return
    if usual is None:
        for judged in outliers("the number of RDMA devices", [Held(host, None, counts[host]) for host in counts]):
            yield replace(judged, status=Status.WARN)
        return
    most = {device["name"] for host in counts if counts[host] == usual for device in devices(case.fleet[host])}
    for host, count in counts.items():
        if count == usual:
            yield ok(host=host)
            continue
        missing = ", ".join(sorted(most - {device["name"] for device in devices(case.fleet[host])}))
        message = f"{count} RDMA devices, most hosts have {usual}" + (f"; missing: {missing}" if missing else "")
        facts = {"value": count, "threshold": usual, "source": "most hosts"}
        yield broken(message, facts, host=host, status=Status.FAIL if count < usual else Status.WARN)


def _known(facts: Facts) -> bool:
    return (facts["rdma"] or {}).get("devices") is not None


def _firmware(case: Case) -> Iterator[Judged]:
    by_model: dict[str, list[Held]] = {}
    for host, facts in case.fleet.items():
        for device in devices(facts):
            if device["firmware"] and (parts := model(device)):
                held = Held(host, device["name"], device["firmware"], evidence(device, "firmware"))
                by_model.setdefault(" ".join(filter(None, parts)), []).append(held)
    for made, group in by_model.items():
        yield from map(named, outliers(f"the firmware of {made}", group))


def _pcie_width(case: Case) -> Iterator[Judged]:
    for device in devices(case.facts):
        width, most = device["pcie_width"], device["pcie_width_max"]
        if width is None or most is None:
            continue
        if width >= most:
            yield ok(device["name"])
        else:
            message = f"{device['name']} has {width} PCIe lanes of {most}"
            used = any(port["state"] == "ACTIVE" for port in device["ports"])
            status = None if used else Status.WARN
            yield broken(message, evidence(device, "pcie_width", most, "the adapter"), device["name"], status=status)


def _pcie_bandwidth(case: Case) -> Iterator[Judged]:
    """A port cannot send faster than PCIe brings it the data."""
    for device in devices(case.facts):
        carried = pcie_rate(device["pcie_speed"], device["pcie_width"])
        rates = [port["rate_bits_per_second"] or 0 for port in device["ports"]]
        if carried is None or not any(rates):
            continue
        if carried >= max(rates):
            yield ok(device["name"])
        else:
            message = (
                f"PCIe brings {device['name']} {gigabits(round(carried, -8))}, its port sends {gigabits(max(rates))}"
            )
            yield broken(message, evidence(device, "pcie_speed", gigabits(max(rates)), "its port"), device["name"])


def pcie_rate(speed: str | None, width: int | None) -> float | None:
    """Bits per second each way, of `16.0 GT/s PCIe` and a number of lanes."""
    match = re.match(r"\s*(\d{1,3}(?:\.\d)?)\s*GT/s", speed or "")
    coding = _GENERATIONS.get(float(match[1])) if match else None
    return float(match[1]) * 1e9 * coding * width if match and coding and width else None


def _user_access(case: Case) -> Iterator[Judged]:
    if not devices(case.facts) or case.facts["rdma"]["user_access"] is None:
        return
    if case.facts["rdma"]["user_access"]:
        yield ok()
    else:
        yield broken(
            "there are RDMA devices, and nothing in /dev/infiniband by which programs could use them",
            {"file": "/dev/infiniband", "value": None, "threshold": "uverbs*"},
            status=graver(case.facts),
        )


def _driver(case: Case) -> Iterator[Judged]:
    told = {host: _readings(facts).get("ofed_info") for host, facts in case.fleet.items()}
    held = [
        Held(host, None, reading["values"]["version"], from_reading(reading, "version"))
        for host, reading in told.items()
        if reading and "version" in reading["values"]
    ]
    yield from outliers("MLNX_OFED", held)


RULES = (
    Rule(
        name="rdma.device_vanished",
        summary="every RDMA device that is listed can be read",
        why="An adapter that fell off the bus stays listed until its driver lets go; jobs that use it hang or fail.",
        remedy="look into `dmesg` for mlx5 or AER errors of its PCI address; restart the host, then reseat the adapter",
        status=Status.FAIL,
        needs=("rdma",),
        judge=_vanished,
    ),
    Rule(
        name="rdma.device_count",
        summary="hosts have the same number of RDMA devices",
        why="With an adapter missing, an accelerator shares another one's and all ranks wait for it.",
        remedy="compare `lspci | grep -iE 'mellanox|infiniband'` between hosts; one that lspci lacks is a matter of "
        "the slot or the adapter, else see the driver in `dmesg`",
        status=Status.FAIL,
        needs=("rdma",),
        judge=_device_count,
        scope=Scope.FLEET,
    ),
    Rule(
        name="rdma.firmware_differs",
        summary="RDMA adapters of one model have the same firmware",
        why="Congestion control, adaptive routing and fixes come with the firmware: adapters then behave differently.",
        remedy="bring all adapters of the model to one firmware: `mlxfwmanager --query`, then `mlxfwmanager -u`",
        status=Status.WARN,
        needs=("rdma",),
        judge=_firmware,
        scope=Scope.FLEET,
    ),
    Rule(
        name="rdma.pcie_width",
        summary="RDMA adapters have all their PCIe lanes",
        why="Each lane lost is bandwidth lost, silently; adapters do not give lanes up to save power.",
        remedy="reseat the adapter, then try another slot; see `lspci -vv -s ADDRESS` for LnkCap and LnkSta, and what "
        "the slot itself is wired for",
        status=Status.FAIL,
        needs=("rdma",),
        judge=_pcie_width,
    ),
    Rule(
        name="rdma.pcie_bandwidth",
        summary="PCIe carries what RDMA ports send",
        why="A 400 Gb/s port needs sixteen lanes of PCIe 5.0; on less the link is never full, whatever is measured.",
        remedy="move the adapter to a slot of its own generation and width, or see in the firmware setup what holds "
        "the slot at a lower generation",
        status=Status.WARN,
        needs=("rdma",),
        judge=_pcie_bandwidth,
    ),
    Rule(
        name="rdma.no_user_access",
        summary="programs can open the RDMA devices",
        why="Without /dev/infiniband/uverbs* NCCL, HCCL and MPI see no RDMA and fall back to TCP, without an error.",
        remedy="`modprobe ib_uverbs rdma_ucm`; in a container add `--device=/dev/infiniband` or the RDMA device plugin",
        status=Status.WARN,
        needs=("rdma",),
        judge=_user_access,
    ),
    Rule(
        name="rdma.driver_differs",
        summary="hosts have the same MLNX_OFED",
        why="Drivers of different releases differ in defaults and in what they can do: one host then holds up all.",
        remedy="install one release of MLNX_OFED or DOCA on all hosts; `ofed_info -s` tells it",
        status=Status.WARN,
        needs=("rdma",),
        judge=_driver,
        scope=Scope.FLEET,
    ),
)
