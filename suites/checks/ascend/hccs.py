"""Rules about the HCCS links between NPUs, and about super pods, as npu-smi tells of them.

May import: agreement, readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suites.checks.agreement import Held, outliers
from suites.checks.ascend.npus import Device, each, told_by
from suites.checks.readings import Reading, evidence, value
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_LINKS = ("hccs", "xlink")


def _health(case: Case) -> Iterator[Judged]:
    for name, _, reading in _linked(case.facts, "health"):
        word = str(value(reading, "health"))
        if word.upper() == "OK":
            yield ok(name)
        elif word.upper() in ("NOK", "NOT OK"):
            lane = value(reading, "first_error_lane")
            shown = {**evidence(reading, "health"), "first_error_lane": lane}
            where = "" if lane is None else f", first at link {lane}"
            yield broken(f"the HCCS links of {name} are not healthy{where}", shown, name)


def _lanes(case: Case) -> Iterator[Judged]:
    full = case.limits["full"]
    told = {name: reading for name, _, reading in _linked(case.facts, "lane_mode")}
    lanes = {name: list(value(reading, "lane_mode")) for name, reading in told.items()}
    for name, reading in told.items():
        shown = evidence(reading, "lane_mode", full, "lane mode 4 is all lanes (driver source)")
        found = [*_lost(name, lanes[name], full), *_dark(name, lanes, value(reading, "health") == "OK")]
        for link, message, status in found:
            yield broken(message, {**shown, "link": link}, name, status=status)
        if not found:
            yield ok(name)


def _lost(name: str, own: Sequence[int], full: int) -> Iterator[tuple[int, str, Status]]:
    for link, count in enumerate(own):
        if 0 < count < full:
            yield (
                link,
                f"HCCS link {link} (of 0 to {len(own) - 1}) of {name} has {count} of {full:g} lanes",
                Status.FAIL,
            )


def _dark(name: str, lanes: Mapping[str, Sequence[int]], healthy: bool) -> Iterator[tuple[int, str, Status]]:
    """Links without a lane, where others of the chip have some. The first of eight is no link of a mesh of eight; what
    no sibling has is not wired; of a healthy chip without siblings nobody can say."""
    own = lanes[name]
    siblings = [others for name_of, others in lanes.items() if name_of != name and len(others) == len(own)]
    for link, count in enumerate(own):
        if count or not any(own) or (len(own) == 8 and link == 0):
            continue
        wired = any(others[link] for others in siblings)
        if wired or not siblings or not healthy:
            message = f"HCCS link {link} (of 0 to {len(own) - 1}) of {name} is not up: it has no lane"
            yield link, message, Status.FAIL if wired or not healthy else Status.WARN


def _linked(facts: Facts, name: str) -> Iterator[tuple[str, Device, Reading]]:
    """Chips that tell this of their links. Many have none, and say so."""
    for label, device in each(facts):
        if reading := told_by(device, name, *_LINKS):
            yield label, device, reading


def _pods(case: Case) -> Iterator[Judged]:
    held = []
    for host, facts in case.fleet.items():
        told = [reading for _, device in each(facts) if (reading := told_by(device, "super_pod_id", "super_pod"))]
        if told:
            pods = sorted({value(reading, "super_pod_id") for reading in told})
            shown = {"command": told[0]["source"]}
            held.append(Held(host, None, pods[0] if len(pods) == 1 else pods, shown))
    yield from outliers("the super pod", held)


def _twice(case: Case) -> Iterator[Judged]:
    seen: dict[tuple[object, object], str] = {}
    for host, facts in case.fleet.items():
        for name, device in each(facts):
            reading = told_by(device, "sdid", "super_pod")
            if reading is None:
                continue
            here = f"{name} of {host}"
            holder = seen.setdefault((value(reading, "super_pod_id"), value(reading, "sdid")), here)
            if holder == here:
                yield ok(name, host)
            else:
                message = f"{here} has the super pod device id of {holder}"
                yield broken(message, evidence(reading, "sdid"), name, host=host)


RULES = (
    Rule(
        name="ascend.hccs_bad",
        summary="the HCCS links of every NPU are healthy",
        why="All traffic between the NPUs of a host takes these links; HCCL fails with EI0012 when they do.",
        remedy="`npu-smi info -t hccs -i CARD -c CHIP` names the link; boot the host so that links are trained again, "
        "reseat the module, and replace it when the link stays bad",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_health,
    ),
    Rule(
        name="ascend.hccs_lane_lost",
        summary="every HCCS link has all its lanes",
        why="A link with half its lanes has half its bandwidth (56 Gb/s a lane), and so has every ring through it.",
        remedy="boot the host so that the link is trained again; reseat or replace the module when lanes stay away",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_lanes,
        thresholds={"full": Threshold(4, "lanes", "npu-smi's source: a link has 4 lanes, 2 and 1 are degraded")},
    ),
    Rule(
        name="ascend.super_pod_differs",
        summary="all hosts are in one super pod",
        why="Hosts of one super pod reach each other by HCCS; between super pods there is only the network.",
        remedy="if this is meant, tell HCCL (HCCL_LOGIC_SUPERPOD_ID, super_pod_list of the rank table); else choose "
        "hosts of one super pod",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_pods,
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.sdid_twice",
        summary="every chip of a super pod has an id of its own",
        why="Chips are addressed by this id across the super pod; what is sent to one of two would reach the other.",
        remedy="set the server index of one of the hosts anew in its BMC, and boot it",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_twice,
        scope=Scope.FLEET,
    ),
)
