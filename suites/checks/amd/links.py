"""Rules about the links between AMD GPUs. XGMI goes in hives, between which PCIe is normal; within one it is a fault.

May import: agreement, readings, rule, report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suites.checks.agreement import Held, outliers
from suites.checks.readings import devices
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_XGMI = "XGMI"
_ACROSS_NODES = 3
_ONE_HIVE = re.compile(r"\bMI3\d\d[AX]?\b")
"""Models of which all of a host reach each other by XGMI (AMD: Instinct MI300 series platforms)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two GPUs, by their indices. Of what the tool says in both directions, the weaker."""

    first: int
    second: int
    link: str | None
    weight: int | None
    hops: int | None
    access: str | None
    buses: tuple[str | None, str | None]
    reading: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"gpu{self.first}-gpu{self.second}"

    def evidence(self, what: str, threshold: Any = None) -> dict[str, Any]:
        found = {
            "command": self.reading["source"],
            "value": getattr(self, what),
            "weight": self.weight,
            "hops": self.hops,
        }
        if what in self.reading["lines"]:
            found["line"] = self.reading["lines"][what]
        return found if threshold is None else {**found, "threshold": threshold}


def pairs(facts: Facts) -> list[Pair]:
    """All pairs that a tool tells of."""
    found = [device for device in devices(facts, "amd") if "links" in _topology(device)["values"]]
    return [_pair(first, second) for place, first in enumerate(found) for second in found[place + 1 :]]


def _topology(device: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = device["readings"].get("topology") or {"values": {}}
    return found


def _pair(first: Mapping[str, Any], second: Mapping[str, Any]) -> Pair:
    ends = ((first, second), (second, first))
    ways = [_topology(one)["values"]["links"].get(str(other["id"])) or {} for one, other in ends]
    links, accesses = ([way[what] for way in ways if what in way] for what in ("link", "access"))
    weights, hops = ([way[what] for way in ways if what in way] for what in ("weight", "hops"))
    return Pair(
        first["id"],
        second["id"],
        link=min(links, key=lambda link: link == _XGMI, default=None),
        weight=max(weights, default=None),
        hops=max(hops, default=None),
        access=min(accesses, key=lambda access: access == "ENABLED", default=None),
        buses=(first["bus"], second["bus"]),
        reading=_topology(first),
    )


def hives(found: Sequence[Pair]) -> list[set[int]]:
    """GPUs that XGMI joins, directly or through others; the largest first, one that it joins to none by itself."""
    sets: list[set[int]] = []
    for gpu in dict.fromkeys(gpu for pair in found for gpu in (pair.first, pair.second)):
        sets.append({gpu})
    for pair in found:
        if pair.link == _XGMI:
            joined = [each for each in sets if pair.first in each or pair.second in each]
            sets = [each for each in sets if each not in joined] + [set().union(*joined)]
    return sorted(sets, key=len, reverse=True)


def _access(case: Case) -> Iterator[Judged]:
    for pair in pairs(case.facts):
        if pair.access == "DISABLED":
            yield broken(f"{_words(pair)} have no access to each other", pair.evidence("access", "ENABLED"), pair.name)
        elif pair.access == "ENABLED":
            yield ok(pair.name)


def _words(pair: Pair) -> str:
    ends = zip((pair.first, pair.second), pair.buses, strict=True)
    return " and ".join(f"gpu{gpu} ({bus})" if bus else f"gpu{gpu}" for gpu, bus in ends)


def _xgmi_lost(case: Case) -> Iterator[Judged]:
    """Within a hive each pair has XGMI; hives of one host are of one size. Some models are always one hive."""
    found = [pair for pair in pairs(case.facts) if pair.link is not None]
    of = {gpu: hive for hive in hives(found) for gpu in hive}
    largest = max((len(hive) for hive in of.values()), default=0)
    for pair in found:
        hive = of[pair.first]
        if pair.link == _XGMI:
            yield ok(pair.name)
        elif hive is of[pair.second] or _one_hive(case.facts):
            message = f"{_words(pair)} reach each other by {pair.link}, and not by XGMI as others of their hive"
            yield broken(message, pair.evidence("link", _XGMI), pair.name)
    for hive in hives(found) if not _one_hive(case.facts) else ():
        if largest > 1 and len(hive) < largest:
            yield _outside(hive, largest, found)


def _one_hive(facts: Facts) -> bool:
    return any(_ONE_HIVE.search(device["name"] or "") for device in devices(facts, "amd"))


def _outside(hive: set[int], largest: int, found: Sequence[Pair]) -> Judged:
    names = ", ".join(f"gpu{gpu}" for gpu in sorted(hive))
    pair = next(pair for pair in found if (pair.first in hive) != (pair.second in hive))
    among = "only with each other" if len(hive) > 1 else "with none of them"
    message = f"XGMI joins {largest} GPUs of this host, and {names} {among}"
    return broken(message, pair.evidence("link", _XGMI), f"gpu{min(hive)}" if len(hive) == 1 else names)


def _no_xgmi(case: Case) -> Iterator[Judged]:
    """Cards for one slot each may have no bridge. Two of them that sit far apart are worth a look."""
    found = [pair for pair in pairs(case.facts) if pair.link is not None]
    if not found:
        return
    if any(pair.link == _XGMI for pair in found):
        yield ok()
        return
    worst = max(found, key=lambda pair: pair.hops or 0)
    far = len(found) == 1 and (worst.hops or 0) >= case.limits["hops"]
    way = "and what they exchange crosses NUMA nodes" if far else "and they exchange data by PCIe"
    message = f"no XGMI between the {len(hives(found))} GPUs, {way}: if a bridge is fitted, it is in no use"
    status = None if far else Status.INFO
    yield broken(message, worst.evidence("link", _XGMI), worst.name, status=status)


def _weaker(case: Case) -> Iterator[Judged]:
    """Among XGMI links of which nearly all are the same. Where GPUs sit in a ring weights differ by design."""
    found = [pair for pair in pairs(case.facts) if pair.link == _XGMI and pair.weight is not None]
    usual = Counter((pair.weight, pair.hops) for pair in found).most_common(1)
    for pair in found if usual and usual[0][1] >= case.limits["share"] * len(found) else ():
        (weight, hops), _ = usual[0]
        if (pair.weight or 0) > (weight or 0) or (pair.hops or 0) > (hops or 0):
            usually = f"where others have {weight} and {hops}"
            message = f"the XGMI link of {_words(pair)} has weight {pair.weight} and {pair.hops} hops, {usually}"
            yield broken(message, pair.evidence("weight", weight), pair.name)
        else:
            yield ok(pair.name)


def _differs(case: Case) -> Iterator[Judged]:
    """The same pair on hosts with as many GPUs. One that has PCIe where another host has XGMI is weaker, whichever most
    hosts have."""
    groups: dict[tuple[int, str], list[tuple[str, Pair]]] = {}
    for host, facts in case.fleet.items():
        found = [pair for pair in pairs(facts) if pair.link is not None]
        for pair in found:
            groups.setdefault((len(found), pair.name), []).append((host, pair))
    for (_, name), group in groups.items():
        if len({pair.link for _, pair in group}) > 1:
            yield from _lost_here(name, group)
        else:
            held = [Held(host, name, (pair.weight, pair.hops), pair.evidence("weight")) for host, pair in group]
            yield from outliers(f"weight and hops of {name}", held)


def _lost_here(name: str, group: Sequence[tuple[str, Pair]]) -> Iterator[Judged]:
    having = [host for host, pair in group if pair.link == _XGMI]
    for host, pair in group:
        if pair.link == _XGMI or not having:
            yield ok(name, host)
        else:
            message = f"{_words(pair)} reach each other by {pair.link}, and by XGMI on {having[0]}"
            yield broken(message, pair.evidence("link", _XGMI), name, host=host)


_RESEAT = "see `dmesg | grep -i xgmi` and `amd-smi xgmi`; reseat the bridge or the module, and restart the host"
RULES = (
    Rule(
        name="amd.access_disabled",
        summary="AMD GPUs have access to each other's memory",
        why="RCCL copies between GPUs directly; without access collectives fail or go through the host's memory.",
        remedy="allow large BARs in the firmware (Above 4G, Resizable BAR), boot with `iommu=pt`; give containers "
        "/dev/kfd and all of /dev/dri; until then set NCCL_P2P_DISABLE=1",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_access,
    ),
    Rule(
        name="amd.xgmi_lost",
        summary="AMD GPUs of a hive reach each other by XGMI",
        why="A ring or tree of RCCL runs at the pace of its slowest link, and PCIe is many times slower than XGMI.",
        remedy=_RESEAT,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_xgmi_lost,
    ),
    Rule(
        name="amd.no_xgmi",
        summary="AMD GPUs of a host are joined by XGMI",
        why="A bridge that is fitted and not recognized shows no error anywhere: the GPUs use PCIe instead.",
        remedy="if there is a bridge, reseat it and restart the host, then look at `rocm-smi --showtopo`; the GPUs "
        "must be of one model, with firmware of one release",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_no_xgmi,
        thresholds={"hops": Threshold(_ACROSS_NODES, "hops", "ROCm: 1 by XGMI, 2 within a NUMA node, 3 across")},
    ),
    Rule(
        name="amd.link_weaker",
        summary="the XGMI links of a host are equally strong",
        why="The weight of a link says how costly the runtime takes it to be; one that stands out takes a longer way.",
        remedy=_RESEAT,
        status=Status.WARN,
        needs=("accelerators",),
        judge=_weaker,
        thresholds={"share": Threshold(0.75, "of the links", "opsdist: below it they differ by design")},
    ),
    Rule(
        name="amd.links_differ",
        summary="AMD GPUs are linked alike on all hosts",
        why="Hosts of one kind have one topology; one that differs has a link that did not come up.",
        remedy=_RESEAT,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_differs,
        scope=Scope.FLEET,
    ),
)
