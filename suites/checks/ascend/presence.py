"""Rules about which NPUs there are, and which there should be. May import: agreement, readings, rule, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from suites.checks.agreement import Held, outliers
from suites.checks.ascend.npus import Device, ascend, each, in_container, model, some
from suites.checks.readings import Reading, evidence, of_host, value
from suites.checks.rule import Case, Facts, Judged, Outcome, Rule, Scope, Threshold, broken, ok, unknown
from suites.report import Status

_MOST = 1024
"""Ids that one host can have; those of a text that was spoiled can be anything."""
_SOURCES = ("info", "map", "list", "lspci")


def _missing(case: Case) -> Iterator[Judged]:
    listed = _listed(case.facts)
    found = [*_not_listed(case, listed), *_against_lspci(case, listed)] if listed else []
    if not any(judged.outcome is Outcome.BROKEN for judged in found):
        found += _holes(case, listed) or _one_short(case, listed)
    yield from found
    if not found and (listed or of_host(case.facts, "ascend", "lspci")):
        yield ok()


def _listed(facts: Facts) -> dict[int, Device]:
    """The devices of the best table of npu-smi there is, by physical id."""
    known = {device["id"]: device for _, device in each(facts)}
    in_table = {device: held for device, held in known.items() if "info" in held["readings"]}
    in_map = {device: held for device, held in known.items() if held["name"]}
    cards = _cards(facts)
    return in_table or in_map or {device: held for device, held in known.items() if held["card"] in cards}


def _cards(facts: Facts) -> Sequence[int]:
    listing = of_host(facts, "ascend", "list")
    return (value(listing, "cards") or ()) if listing else ()


def _not_listed(case: Case, listed: dict[int, Device]) -> Iterator[Judged]:
    """Devices that have a file, or that another answer of npu-smi has."""
    cards, matrix = _cards(case.facts), of_host(case.facts, "ascend", "topology")
    in_matrix = value(matrix, f"npu{min(listed)}") if matrix else None
    for name, device in each(case.facts):
        if device["id"] in listed:
            continue
        if device["present"]:
            told, where = f"/dev/davinci{device['id']}", "there is its file"
        elif device["card"] in cards:
            told, where = "npu-smi info -l", "`npu-smi info -l` has it"
        elif device["name"]:
            told, where = "npu-smi info -m", "`npu-smi info -m` has it"
        elif in_matrix and f"npu{device['card']}" in in_matrix:
            told, where = "npu-smi info -t topo", "the matrix of links has it"
        else:
            continue
        message = f"{name} is missing in the list of npu-smi, while {where}"
        yield broken(message, {"command": told, "value": device["id"], "source": "npu-smi info"}, name)


def _against_lspci(case: Case, listed: dict[int, Device]) -> Iterator[Judged]:
    lspci = of_host(case.facts, "ascend", "lspci")
    count = int(value(lspci, "count") or 0) if lspci else 0
    if lspci is None or not count or count == len(listed):
        return
    if count > len(listed) and in_container(case.facts):
        yield unknown(f"lspci lists {count} NPUs, of which this container was given {len(listed)}")
        return
    shown = evidence(lspci, "count", len(listed), "MindCluster's rule for dropped cards: lspci against npu-smi")
    message = f"lspci lists {count} NPUs and npu-smi {len(listed)}"
    if count > len(listed):
        unclaimed = ascend(case.facts)["unclaimed"] or ()
        message += f", not {some(unclaimed)}" if unclaimed else ""
        names = [f"npu{device}" for device in _gaps(case.facts, listed)]
        gone = names if len(names) == count - len(listed) else [None]
    else:
        buses = value(lspci, "buses") or ()
        off = [f"npu{device}" for device, held in listed.items() if held["bus"] and held["bus"] not in buses]
        gone = off if len(off) == len(listed) - count else [None]
    for name in gone:
        yield broken((f"{name} is missing: " if name else "NPUs are missing: ") + message, shown, name)


def _gaps(facts: Facts, listed: dict[int, Device]) -> list[int]:
    """Ids between the first and the last, where NPUs are counted by cards, and those that are configured."""
    if not listed or any("310" in model(device) for device in listed.values()):
        return []
    configured = {device["id"] for _, device in each(facts) if device["address"]}
    between = range(min(listed), min(max(listed), min(listed) + _MOST))
    return sorted({*between, *configured} - set(listed))


def _holes(case: Case, listed: dict[int, Device]) -> list[Judged]:
    """A few ids that are missing among many; what has many gaps was given but some of the NPUs on purpose."""
    gaps = _gaps(case.facts, listed)
    if in_container(case.facts) or len(gaps) >= case.limits["share"] * len(listed):
        return []
    ids = sorted(listed)
    told = _table(case.facts)
    shown = {"command": told["source"] if told else "npu-smi info", "value": ids, "source": "ids without a gap"}
    message = "is missing in the list of npu-smi, which has most of the others"
    return [broken(f"npu{gap} {message}", {**shown, "missing": gap}, f"npu{gap}", status=Status.WARN) for gap in gaps]


def _one_short(case: Case, listed: dict[int, Device]) -> list[Judged]:
    told = _table(case.facts)
    count = len(listed) or int((value(told, "count") if told else 0) or 0)
    if told is None or in_container(case.facts) or count + 1 not in (8, 16):
        return []
    shown = evidence(told, "count", count + 1, "Ascend training servers have 8 or 16 NPUs")
    return [broken(f"there are {count} NPUs, one fewer than a server has", shown, status=Status.WARN)]


def _table(facts: Facts) -> Reading | None:
    found = (of_host(facts, "ascend", source) for source in _SOURCES)
    return next((reading for reading in found if reading and value(reading, "count")), None)


def _counts(case: Case) -> Iterator[Judged]:
    """By the first source that several hosts have."""
    for source in _SOURCES:
        told = {host: of_host(facts, "ascend", source) for host, facts in case.fleet.items()}
        held = [
            Held(host, None, count, {"command": reading["source"]})
            for host, reading in told.items()
            if reading and (count := value(reading, "count")) is not None
        ]
        if len(held) > 1:
            for judged in outliers("the number of NPUs", held):
                yield judged if judged.outcome is Outcome.OK else _with_missing(case, source, judged)
            return


def _with_missing(case: Case, source: str, judged: Judged) -> Judged:
    """The judgement, with what other hosts have and this one has not; or not all, where none is to blame."""
    places = {host: _places(facts, source) for host, facts in case.fleet.items()}
    here = places[judged.host] if judged.host else set.intersection(*places.values())
    missing = sorted(set().union(*places.values()) - here)
    if not missing:
        return judged
    names = [str(place) if isinstance(place, str) else f"npu{place}" for place in missing]
    where = "not here" if judged.host else "not on all"
    return replace(
        judged,
        message=f"{judged.message}; {where}: {some(names)}",
        evidence={**judged.evidence, "missing": names},
        device=names[0] if judged.host and len(names) == 1 else None,
    )


def _places(facts: Facts, source: str) -> set[Any]:
    if source == "lspci":
        reading = of_host(facts, "ascend", source)
        return set((value(reading, "buses") if reading else None) or ())
    return set(_listed(facts))


def _gone(case: Case) -> Iterator[Judged]:
    """By each source that was asked both times; an NPU that several of them miss is gone once."""
    known = {device["bus"]: name for facts in (case.facts, case.earlier) for name, device in each(facts)}
    gone: dict[str, dict[str, Any]] = {}
    asked = False
    for source in _SOURCES:
        before, now = (of_host(facts, "ascend", source) for facts in (case.earlier, case.facts))
        if before is None or now is None or value(now, "count") is None:
            continue
        asked = True
        for place in _places(case.earlier, source) - _places(case.facts, source):
            name = known.get(place, place) if isinstance(place, str) else f"npu{place}"
            shown = {"command": now["source"], "value": value(now, "count"), "earlier": value(before, "count")}
            gone.setdefault(name, shown)
    for name in sorted(gone):
        npu = name if name.startswith("npu") else None
        message = f"{npu or f'the NPU at {name}'} was there at the earlier look, and is gone"
        yield broken(message, gone[name], npu)
    if asked and not gone:
        yield ok()


def _ids(case: Case) -> Iterator[Judged]:
    other = [(name, device) for name, device in each(case.facts) if _has_other_ids(device)]
    if other:
        told = [f"{name} is {_ids_of(device)}" for name, device in other]
        yield broken(f"ids differ between tools: {some(told, 2, '; ')}", {"value": told, "source": "npu-smi info -m"})


def _has_other_ids(device: Device) -> bool:
    return any(device[key] not in (None, device["id"]) for key in ("card", "logical"))


def _ids_of(device: Device) -> str:
    ids = {"card": device["card"], "chip": device["chip"], "logical id": device["logical"]}
    return ", ".join(f"{what} {number}" for what, number in ids.items() if number is not None)


RULES = (
    Rule(
        name="ascend.npu_missing",
        summary="every NPU that any source knows of is listed by npu-smi",
        why="A card that dropped off the bus or that the driver gave up is in some lists and not in others.",
        remedy="see `lspci -d 19e5:` and `dmesg | grep -i -e devdrv -e pcie`; power the host off and on, reseat or "
        "replace the card when it stays away; in a container see which NPUs it was given",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_missing,
        thresholds={"share": Threshold(0.5, "gaps per NPU", "fewer gaps than half of the NPUs are no choice of ids")},
    ),
    Rule(
        name="ascend.npu_count_differs",
        summary="all hosts have the same number of NPUs",
        why="A job has as many ranks on each host; where an NPU is missing, HCCL waits for a rank that never comes.",
        remedy="on the host with fewer compare `npu-smi info -m` with `lspci -d 19e5:`, and look in dmesg for the card "
        "that is missing",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_counts,
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.npu_gone",
        summary="every NPU of the earlier look is still there",
        why="A card that falls off the bus takes its job along, and does not come back by itself.",
        remedy="see when it went (`dmesg -T | grep -i -e devdrv -e pcie -e aer`); power the host off and on, "
        "and reseat or replace the card when it stays away",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_gone,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="ascend.ids_differ",
        summary="the ids of NPUs are the same in all tools",
        why="npu-smi -i takes the card, hccn_tool -i the physical id, ASCEND_VISIBLE_DEVICES the logical one; whoever "
        "takes one for the other looks at another device.",
        remedy="take the physical id for hccn_tool and the rank table, and card and chip for npu-smi -i and -c",
        status=Status.INFO,
        needs=("accelerators",),
        judge=_ids,
    ),
)
