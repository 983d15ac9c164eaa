"""Rules about the memory of NPUs: how much there is, and who holds it. May import: readings, rule, report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from suites.checks.ascend.npus import Device, each, model, some, told_by
from suites.checks.readings import Reading, evidence, value
from suites.checks.rule import Case, Judged, Rule, Threshold, broken, ok
from suites.report import Status

NOMINAL: tuple[tuple[str, int], ...] = (
    ("910B4-1", 65536),
    ("910B4", 32768),
    ("910B1", 65536),
    ("910B2", 65536),
    ("910B3", 65536),
    ("910C", 65536),
    ("910_93", 65536),
    ("Ascend910", 65536),
    ("910A", 32768),
    ("910Pro", 32768),
    ("910Premium", 32768),
    ("950", 86016),
    ("Ascend950", 86016),
)
"""Beginning of a model's name -> MB of HBM of a chip, as npu-smi counts; the least of a 950, which comes with two."""
_SIZES = (2048, 4096, 8192, 16384, 24576, 32768, 65536, 86016, 114688, 131072, 147456)
"""What chips and parts of chips (vNPUs) have. An unknown model with another size is short of the next."""
_SURE = 0.9
"""With less than this share of the next size an unknown model may be one that is not known here."""


def _short(case: Case) -> Iterator[Judged]:
    """Against what the model has, and against the siblings in this host."""
    least = case.limits["least"]
    held = [(name, device, reading) for name, device in each(case.facts) if (reading := _capacity(device)) is not None]
    most: dict[str, float] = {}
    for _, device, reading in held:
        most[model(device)] = max(most.get(model(device), 0), value(reading, "hbm_mb_total"))
    for name, device, reading in held:
        amount = value(reading, "hbm_mb_total")
        rated = max(_nominal(device), most[model(device)])
        expected = max(rated, next((size for size in _SIZES if amount <= size), 0)) if not model(device) else rated
        if amount < least * expected:
            sure = amount < least * rated or amount >= _SURE * expected
            shown = evidence(reading, "hbm_mb_total", least * expected, "MindCluster: 95 % of what the model has")
            message = f"{name} has {amount:g} MB of memory, less than {least * 100:g} % of {expected:g}"
            yield broken(message, shown, name, status=Status.FAIL if sure else Status.WARN)
        else:
            yield ok(name)


def _capacity(device: Device) -> Reading | None:
    """The reading with the least; a chip without HBM says 0."""
    told = [reading for query in ("usages", "memory", "info") if (reading := told_by(device, "hbm_mb_total", query))]
    told = [reading for reading in told if value(reading, "hbm_mb_total") > 0]
    return min(told, key=lambda reading: value(reading, "hbm_mb_total"), default=None)


def _nominal(device: Device) -> float:
    return next((size for beginning, size in NOMINAL if model(device).startswith(beginning)), 0)


def _held(case: Case) -> Iterator[Judged]:
    """Of idle NPUs: in a container npu-smi lists no processes, and cores at work show that there are some."""
    for name, device in each(case.facts):
        reading = told_by(device, "processes", "info")
        used = value(reading, "hbm_mb_used") if reading else None
        if reading is None or used is None or value(reading, "aicore_percent"):
            continue
        if not value(reading, "processes") and used > case.limits["most"]:
            shown = evidence(reading, "hbm_mb_used", case.limits["most"], "idle chips of 64 GB hold 3300 to 3430 MB")
            yield broken(f"{name} holds {used:g} MB of memory for no process", shown, name)
        else:
            yield ok(name)


def _busy(case: Case) -> Iterator[Judged]:
    """One judgement for the host."""
    users: dict[str, list[Mapping[str, Any]]] = {}
    source = "npu-smi info"
    for name, device in each(case.facts):
        if reading := told_by(device, "processes", "info"):
            source = reading["source"]
            users[name] = list(value(reading, "processes"))
    busy = {name: processes for name, processes in users.items() if processes}
    if busy:
        told = [f"{name}: {_process(processes[0])}" for name, processes in busy.items()]
        message = f"processes use {len(busy)} NPUs: {some(told, 2)}"
        yield broken(message, {"command": source, "value": busy})
    elif users:
        yield ok()


def _process(process: Mapping[str, Any]) -> str:
    return f"{process['name']} ({process['pid']})"


RULES = (
    Rule(
        name="ascend.hbm_short",
        summary="every NPU has the memory of its model",
        why="Memory that fails its test at the start is left out; the chip goes on with less memory and bandwidth.",
        remedy="look at `npu-smi info -t ecc -i CARD`; power the host off and on, and replace the card when memory "
        "stays missing",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_short,
        thresholds={"least": Threshold(0.95, "of the capacity", "MindCluster's check of HBM capacity")},
    ),
    Rule(
        name="ascend.hbm_held",
        summary="no memory of an NPU is held without a process",
        why="What a killed job or a container left behind is missing to the next job, which ends out of memory.",
        remedy="look on the host, outside of containers, for left processes (`fuser -v /dev/davinci*`, `ps -ef | grep "
        "python`), also in stopped containers; else reset the chip (`npu-smi set -t reset -i CARD -c CHIP`)",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_held,
        thresholds={"most": Threshold(6144, "MB", "nearly twice what the driver itself takes of a chip")},
    ),
    Rule(
        name="ascend.npu_busy",
        summary="no process uses an NPU",
        why="What is measured beside another job says little about the machine.",
        remedy="wait for the job, or leave these NPUs out (ASCEND_RT_VISIBLE_DEVICES)",
        status=Status.INFO,
        needs=("accelerators",),
        judge=_busy,
    ),
)
