"""Rules about the links of NVIDIA GPUs: NVLink, and the way to each other and to the network cards.

Words of the matrix: the legend of `nvidia-smi topo -m`. May import: agreement, growth, facts, readings, rule, report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from suites.checks.agreement import bound
from suites.checks.growth import RESET, grown
from suites.checks.nvidia.facts import Told, host_readings, linked_by_board, told
from suites.checks.readings import devices, evidence, label
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.report import Status

_ERRORS = ("nvlink_errors", "dcgm_link_errors")


def _inactive(case: Case) -> Iterator[Judged]:
    facts = case.facts
    active = {one.name for one in told(facts, "active", "nvlink") if one.reading is not None}
    down = {one.name: one for one in told(facts, "inactive", "nvlink") if one.reading is not None}
    none = {one.name for one in told(facts, "all_inactive", "nvlink") if one.reading is not None}
    part = {name: one for name, one in down.items() if name in active}
    same = len(part) > 1 and len({str(one.value) for one in part.values()}) == 1 and set(part) == active
    for one in told(facts, "name", "nvlink"):
        expected = linked_by_board(one.device["name"])
        if one.reading is None:
            yield one.untold()
        elif not expected and one.name not in active:  # no bridge, which is no fault of a card
            if active and (one.name in none or one.name in down):
                message = (
                    f"{one.name} has no NVLink, and others of this host have: where it has a bridge, it is in no use"
                )
                shown = evidence(one.reading, "all_inactive" if one.name in none else "inactive")
                yield broken(message, shown, one.name, status=Status.INFO)
        elif one.name in none:
            if expected:
                shown = evidence(one.reading, "all_inactive")
                alone = len(none) == 1 and not active and one.name == "gpu0"
                status = Status.WARN if alone else None
                yield broken(f"no NVLink of {one.name} is active", shown, one.name, status=status)
        elif one.name in down:
            # Bridges join only some of the links of a card, on all cards the same.
            if expected or not same:
                links = down[one.name].value
                message = f"{_links(links)} of {one.name} {'is' if len(links) == 1 else 'are'} inactive"
                yield broken(message, down[one.name].evidence(), one.name)
        elif one.name in active:
            yield ok(one.name)


def _links(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:6])) + (" and more" if len(numbers) > 6 else "")
    return f"NVLink {shown}"


def _speed(case: Case) -> Iterator[Judged]:
    """Of GPUs of one host, whose links are all alike."""
    found = [one for one in told(case.facts, "speed", "nvlink") if one.reading is not None]
    best = max((one.value for one in found), default=None)
    for one in found:
        if one.value < best and len({other.device["name"] for other in found}) == 1:
            message = f"a link of {one.name} runs at {one.value:g} GB/s, others at {best:g} GB/s"
            yield broken(message, one.evidence(best), one.name)
        else:
            yield ok(one.name)


def _dcgm(case: Case) -> Iterator[Judged]:
    found = list(told(case.facts, "up", "dcgm_links"))
    disabled = Counter(str(_off(one)) for one in found if one.reading is not None)
    for one in found:
        if one.reading is None:
            yield one.untold()
            continue
        down = one.reading["values"].get("down") or ()
        without = one.value == 0 and not linked_by_board(one.device["name"])
        if down and not without:
            yield broken(f"DCGM sees {_links(down)} of {one.name} down", evidence(one.reading, "down"), one.name)
        elif _off(one) and len(disabled) > 1:
            message = f"DCGM sees {_links(_off(one))} of {one.name} disabled, and not on its peers"
            yield broken(message, evidence(one.reading, "disabled"), one.name, status=Status.WARN)
        elif one.value:
            yield ok(one.name)
    yield from _switches(case.facts)


def _off(one: Told) -> list[int]:
    return (one.reading["values"].get("disabled") if one.reading else None) or []


def _switches(facts: Facts) -> Iterator[Judged]:
    reading = host_readings(facts).get("dcgm_links")
    for name, links in (reading["values"] if reading else {}).items():
        if reading and name.startswith("switch") and name.endswith("_down"):
            switch = name.removesuffix("_down").removeprefix("switch")
            message = f"DCGM sees {_links(links)} of NVSwitch {switch} down"
            yield broken(message, evidence(reading, name), f"nvswitch{switch}", status=Status.WARN)


def _counters(facts: Facts) -> dict[str, dict[str, tuple[int, Mapping[str, Any]]]]:
    """GPU -> counter -> value and evidence."""
    found: dict[str, dict[str, tuple[int, Mapping[str, Any]]]] = {}
    for device in devices(facts, "nvidia"):
        for reading in (device["readings"][query] for query in _ERRORS if query in device["readings"]):
            for name, count in reading["counters"].items():
                found.setdefault(label("nvidia", device), {}).setdefault(name, (count, evidence(reading, name)))
    return found


def _errors_grew(case: Case) -> Iterator[Judged]:
    earlier = _counters(case.earlier)
    for gpu, counters in _counters(case.facts).items():
        before = {name: count for name, (count, _) in earlier.get(gpu, {}).items() if name in counters}
        more = grown(before, {name: count for name, (count, _) in counters.items()})
        if more is None:
            yield unknown(RESET, device=gpu)
        elif before and not more:
            yield ok(gpu)
        for name, (then, now) in (more or {}).items():
            message = f"NVLink errors of {gpu} grew by {now - then}: {_kind(name)} of {name.partition('_')[0]}"
            yield broken(message, {**counters[name][1], "threshold": then}, gpu)


def _errors_stand_out(case: Case) -> Iterator[Judged]:
    """Among all links of the fleet; a few errors are on every link that was ever trained."""
    kinds: dict[str, list[tuple[str, str, str, int, Mapping[str, Any]]]] = {}
    for host, facts in case.fleet.items():
        every = ((gpu, name, *held) for gpu, counters in _counters(facts).items() for name, held in counters.items())
        for gpu, name, count, shown in every:
            kinds.setdefault(_kind(name), []).append((host, gpu, name.partition("_")[0], count, shown))
    for kind, counted in kinds.items():
        counts = [count for _, _, _, count, _ in counted]
        most = bound(counts, case.limits)
        if most is None:
            continue
        odd = [one for one in counted if one[3] > most]
        for host, gpu, link, count, shown in odd:
            usual = f"half of all links have {median(counts):g} or less"
            message = f"{link} of {gpu} has {count} NVLink errors ({kind}), {usual}"
            yield broken(message, {**shown, "threshold": most}, gpu, host=host)
        if not odd:
            yield ok()


def _kind(name: str) -> str:
    return name.partition("_")[2].replace("_", " ")


def _direct(case: Case) -> Iterator[Judged]:
    """Where most pairs of the host reach each other directly."""
    found = [one for one in told(case.facts, "direct", "direct") if one.reading is not None]
    cells = [cell for one in found for cell in one.value.values()]
    usual = bool(cells) and 2 * cells.count("OK") >= len(cells)
    refused = {one.name: _refused(one) for one in found}
    sick = {one.name for one in found if 2 * len(refused[one.name]) > len(one.value)}
    for one in found:
        bad = {
            other: cell for other, cell in refused[one.name].items() if one.name in sick or f"gpu{other}" not in sick
        }
        if bad and (usual or "DR" in bad.values()):
            others = ", ".join(f"gpu{other} ({cell})" for other, cell in list(bad.items())[:4])
            yield broken(f"{one.name} has no direct access to {others}", one.evidence("OK"), one.name)
        elif usual:
            yield ok(one.name)


def _refused(one: Told) -> dict[str, str]:
    """GPUs that it does not reach directly. With most of them so, it is to blame, and not those."""
    return {other: cell for other, cell in one.value.items() if cell not in ("OK", "X", "U", "N/A")}


_LINKS = (
    "see `nvidia-smi nvlink -s -i N` and `dmesg | grep -i -e xid -e nvlink` (Xid 74); with NVSwitches see that "
    "nvidia-fabricmanager runs, then reset all GPUs or restart the host, and reseat the GPU or its bridge"
)

RULES = (
    Rule(
        name="nvidia.nvlink_inactive",
        summary="all NVLinks of every GPU are active",
        why="NCCL goes around a link that is down, over fewer links or over PCI Express, and no error tells of it.",
        remedy=_LINKS,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_inactive,
    ),
    Rule(
        name="nvidia.nvlink_slow",
        summary="all NVLinks of a host run at one speed",
        why="A link that trained at a lower speed slows down every ring that goes over it.",
        remedy=_LINKS,
        status=Status.WARN,
        needs=("accelerators",),
        judge=_speed,
    ),
    Rule(
        name="nvidia.nvlink_down",
        summary="DCGM sees no NVLink down",
        why="NCCL goes around a link that is down, over fewer links or over PCI Express, and no error tells of it.",
        remedy=_LINKS,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_dcgm,
    ),
    Rule(
        name="nvidia.nvlink_errors_grew",
        summary="no NVLink has more errors than in the earlier snapshot",
        why="Links repeat what arrived broken, which costs time, and end the job when that fails (Xid 74).",
        remedy=_LINKS,
        status=Status.WARN,
        needs=("accelerators",),
        judge=_errors_grew,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="nvidia.nvlink_errors_stand_out",
        summary="no NVLink has far more errors than the others",
        why="A few errors are on every link; one that has many more than all others has a bad contact or a bad end.",
        remedy="look again after a while (`nvidia-smi nvlink -e -i N`); " + _LINKS,
        status=Status.WARN,
        needs=("accelerators",),
        judge=_errors_stand_out,
        scope=Scope.FLEET,
        thresholds={
            "least": Threshold(10, "errors", "opsdist: fewer are noise"),
            "deviations": Threshold(5, "median absolute deviations", "opsdist: far outside of what peers have"),
        },
    ),
    Rule(
        name="nvidia.direct_access",
        summary="GPUs reach each other directly where most of their host do",
        why="Without peer access NCCL copies through the memory of the host. DR: switched off by a registry key of the "
        "driver; CNS and TNS: the chipset or the topology does not allow it.",
        remedy="see `nvidia-smi topo -p2p rw`, the driver's options (`grep -r NVreg /etc/modprobe.d`), and IOMMU and "
        "ACS in the BIOS",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_direct,
    ),
)
