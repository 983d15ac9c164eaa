"""Rules by which NPUs of a fleet are of one kind: model, firmware, driver. May import: agreement, readings, rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from suites.checks.agreement import Held, outliers
from suites.checks.ascend.npus import each, model, told_by
from suites.checks.readings import evidence, of_host, value
from suites.checks.rule import Case, Facts, Judged, Rule, Scope
from suites.report import Status

Told = Callable[[str, Facts], list[Held]]
"""What the devices of a host have."""


def _alike(what: str, told: Told) -> Callable[[Case], Iterator[Judged]]:
    """A rule that compares hosts, and the devices of a host that is alone."""

    def judge(case: Case) -> Iterator[Judged]:
        held = []
        for host, facts in case.fleet.items():
            own = told(host, facts)
            kinds = sorted({one.value for one in own})
            if len(case.fleet) == 1:
                held = own
            elif kinds:
                held.append(Held(host, None, " and ".join(kinds), own[0].evidence))
        yield from outliers(what, held)

    return judge


def _models(host: str, facts: Facts) -> list[Held]:
    named = [(name, model(device)) for name, device in each(facts)]
    return [Held(host, name, told, {"command": "npu-smi info"}) for name, told in named if told]


def _firmware(host: str, facts: Facts) -> list[Held]:
    held = []
    for name, device in each(facts):
        if reading := told_by(device, "firmware_version", "board", "chip_board"):
            shown = evidence(reading, "firmware_version")
            held.append(Held(host, name, shown.pop("value"), shown))
    return held


def _driver(host: str, facts: Facts) -> list[Held]:
    reading = of_host(facts, "ascend", "info")
    version = value(reading, "version") if reading else None
    return [Held(host, None, version, {"command": "npu-smi info"})] if version else []


RULES = (
    Rule(
        name="ascend.model_differs",
        summary="all NPUs are of one model",
        why="Collectives go at the pace of the slowest, and binaries and memory are planned for one model.",
        remedy="give the job hosts of one model, or set the device list so that ranks are on alike NPUs",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_alike("the model of NPUs", _models),
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.board_firmware_differs",
        summary="all NPUs run one version of firmware",
        why="A card that was changed or left out of an upgrade behaves otherwise, and HCCL may refuse it (EI0008).",
        remedy="upgrade the firmware of the host that differs with the package of the others (`upgrade-tool "
        "--device_index -1 --component -1 --version` shows versions), then power it off and on",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_alike("the firmware of NPUs", _firmware),
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.driver_version_differs",
        summary="npu-smi tells one version of the driver on all hosts",
        why="Ranks on hosts with different drivers may not agree on how to communicate (EI0008).",
        remedy="install the driver of the other hosts, with the firmware of the same release, and boot",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_alike("the version that npu-smi tells", _driver),
        scope=Scope.FLEET,
    ),
)
