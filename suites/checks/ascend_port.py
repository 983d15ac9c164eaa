"""Rules about the network port of each Ascend NPU, as hccn_tool tells of it. May import: readings, rule, report."""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.readings import evidence, of_devices, untold, value
from suites.checks.rule import Case, Judged, Rule, broken, ok
from suites.report import Status


def _link(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "link", "status"):
        if reading is None:
            yield untold(device, "link", name)
        elif value(reading, "status") == "UP":
            yield ok(name)
        else:
            yield broken(f"the network port of {name} has no link", evidence(reading, "status"), name)


RULES = (
    Rule(
        name="ascend.link_down",
        summary="the network port of every NPU has a link",
        why="Ranks on other hosts are reached through it; without a link HCCL fails with EI0006 or EI0013.",
        remedy="look at `hccn_tool -i N -optical -g` and -link_stat; reseat or replace the module or the cable, and "
        "see that the switch port is up",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_link,
    ),
)
