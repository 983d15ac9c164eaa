"""Rules about the matrix of `nvidia-smi topo -m`: a GPU that others reach less well than each other.

The order of ways, best first: NV18 before NV16 (so many NVLinks), then PIX, PXB, PHB, NODE and SYS, each through more
of PCI Express than the one before. May import: nvidia_facts, readings, rule, report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from suites.checks.nvidia.facts import Told, linked_by_board, told
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_WAYS = {"PIX": 5, "PXB": 4, "PHB": 3, "NODE": 2, "SYS": 1, "SOC": 1}
_NVLINK = 100
"""The rank of a way with no NVLink at all is below, that of one with n of them is this and n."""


def _rank(way: str) -> int:
    """0 for what is no way, as X and N/A."""
    return _NVLINK + int(way[2:]) if way.startswith("NV") and way[2:].isdecimal() else _WAYS.get(way, 0)


def _rows(facts: Facts) -> list[Told]:
    """Of the GPUs of one model; another one, as for a display, has its own place."""
    rows = [one for one in told(facts, "links", "topology") if one.reading is not None]
    models = Counter(one.device["name"] for one in rows)
    return [one for one in rows if one.device["name"] == models.most_common(1)[0][0]]


def _ways(row: Told, rows: list[Told]) -> dict[str, str]:
    """Index of another of the rows -> how it is reached."""
    others = {str(one.device["id"]) for one in rows}
    return {other: way for other, way in row.value.items() if other in others and _rank(way)}


def _weaker(case: Case) -> Iterator[Judged]:
    rows = _rows(case.facts)
    usual = _most(way for one in rows for way in _ways(one, rows).values())
    if usual is None or _rank(usual) < _NVLINK:
        yield from _without_nvlink(rows)
        return
    weak = {one.name: one for one in rows if _is_weak(_ways(one, rows).values(), usual)}
    for one in rows:
        worse = {
            other: way
            for other, way in _ways(one, rows).items()
            if _rank(way) < _rank(usual) and (one.name in weak or f"gpu{other}" not in weak)
        }
        if worse:
            ways = ", ".join(sorted(set(worse.values()), key=_rank, reverse=True))
            whom = "the others" if one.name in weak else ", ".join(f"gpu{other}" for other in worse)
            message = f"{one.name} reaches {whom} by {ways}, where {usual} is usual on this host"
            yield broken(message, one.evidence(usual, "most pairs of this host"), one.name)
        else:
            yield ok(one.name)


def _is_weak(ways: Iterable[str], usual: str) -> bool:
    """Whether more than half of its ways are: then it is the GPU, and not those that it is reached from."""
    known = [_rank(way) for way in ways]
    return 2 * sum(rank < _rank(usual) for rank in known) > len(known)


def _without_nvlink(rows: list[Told]) -> Iterator[Judged]:
    """Of models that sit on boards with NVLink, and of cards where others of the host have a bridge."""
    bridged = any(_rank(way) > _NVLINK for one in rows for way in _ways(one, rows).values())
    for one in rows:
        ways_out = _ways(one, rows).values()
        if bridged and not linked_by_board(one.device["name"]) and all(_rank(way) < _NVLINK for way in ways_out):
            message = f"{one.name} has no NVLink, and others of this host have: where it has a bridge, it is in no use"
            yield broken(message, one.evidence("NVLink", "others of this host"), one.name, status=Status.INFO)
        elif linked_by_board(one.device["name"]) and ways_out and all(_rank(way) < _NVLINK for way in ways_out):
            ways = ", ".join(sorted(set(ways_out)))
            message = f"{one.name}, a {one.device['name']}, reaches no other GPU by NVLink, but by {ways}"
            yield broken(message, one.evidence("NVLink", "its model"), one.name)


def _most(ways: Iterable[str]) -> str | None:
    counts = Counter(ways)
    if not counts:
        return None
    way, times = counts.most_common(1)[0]
    return way if 2 * times > counts.total() else None


@dataclass(frozen=True, slots=True)
class _Way:
    """From a GPU of a host to something; `row` has the evidence."""

    row: Told
    to: str
    way: str


def _weaker_than_elsewhere(case: Case) -> Iterator[Judged]:
    """The same pair on several hosts whose GPUs are of one model, as far as that is known."""
    pairs: dict[Any, list[_Way]] = {}
    for host, facts in case.fleet.items():
        for one in told(facts, "links", "topology", host=host):
            for other, way in one.value.items() if one.reading is not None else ():
                if _rank(way) and one.device["id"] < int(other):
                    key = one.device["name"], len(one.value), one.name, other
                    pairs.setdefault(key, []).append(_Way(one, f"gpu{other}", way))
    compared = [ways for ways in pairs.values() if len(ways) > 1]
    worse: dict[str, list[tuple[_Way, str]]] = {}
    open_ones: list[list[_Way]] = []
    for ways in compared:
        usual = _most(one.way for one in ways)
        if usual is None:
            open_ones.append(ways)
        for way in ways:
            if usual is not None and _rank(way.way) < _rank(usual):
                worse.setdefault(way.row.host, []).append((way, usual))
    for found in worse.values():
        yield _told_of(found)
    if open_ones:
        yield _undecided(open_ones)
    elif compared and not worse:
        yield ok()


def _told_of(found: list[tuple[_Way, str]]) -> Judged:
    """One judgement of a host, about the GPU that most of its weak ways lead to or from."""
    counts = Counter(name for one, _ in found for name in (one.row.name, one.to))
    gpu, _ = counts.most_common(1)[0]
    one, usual = next((one, usual) for one, usual in found if gpu in (one.row.name, one.to))
    more = f", and {len(found) - 1} more pairs are weaker" if len(found) > 1 else ""
    message = f"{one.row.name} reaches {one.to} by {one.way}, and by {usual} on most hosts{more}"
    return broken(message, one.row.evidence(usual, "most hosts"), gpu, host=one.row.host)


def _undecided(pairs: list[list[_Way]]) -> Judged:
    first = pairs[0]
    ways = ", ".join(f"{one.way} on {one.row.host}" for one in first[:4])
    more = f"; {len(pairs) - 1} more pairs differ" if len(pairs) > 1 else ""
    message = f"the way from {first[0].row.name} to {first[0].to} differs between hosts: {ways}{more}"
    weakest = min(first, key=lambda one: _rank(one.way))
    shown = weakest.row.evidence(max(first, key=lambda one: _rank(one.way)).way)
    return broken(message, shown, weakest.row.name, status=Status.WARN)


def _far_cards(case: Case) -> Iterator[Judged]:
    rows = [one for one in told(case.facts, "cards", "topology") if one.reading is not None]
    nearest = {one.name: max(one.value.values(), key=_rank) for one in rows if any(map(_rank, one.value.values()))}
    counts = Counter(nearest.values())
    usual, times = counts.most_common(1)[0] if counts else ("", 0)
    if len(nearest) < 4 or usual not in ("PIX", "PXB") or times < case.limits["share"] * len(nearest):
        return
    for one in rows:
        if 0 < _rank(nearest.get(one.name, "")) < _rank(usual):
            message = f"{one.name} reaches no network card better than by {nearest[one.name]}, most GPUs one by {usual}"
            yield broken(message, one.evidence(usual, "most GPUs of this host"), one.name)
        else:
            yield ok(one.name)


def _affinity_differs(case: Case) -> Iterator[Judged]:
    """Of the same GPU on several hosts of one model."""
    groups: dict[Any, list[Told]] = {}
    for host, facts in case.fleet.items():
        for one in told(facts, "numa", "topology", host=host):
            if one.reading is not None:
                groups.setdefault((one.device["name"], one.name), []).append(one)
    for (_, name), found in groups.items():
        nodes: Mapping[str, int] = Counter(one.value for one in found)
        usual = max(nodes, key=lambda node: nodes[node])
        if len(found) > 1 and 2 * nodes[usual] > len(found):
            for one in found:
                if one.value != usual:
                    message = f"{name} is on NUMA node {one.value}, and on {usual} on most hosts"
                    yield broken(message, one.evidence(usual, "most hosts"), name, host=one.host)
                else:
                    yield ok(name, one.host)


_REMEDY = (
    "see `nvidia-smi nvlink -s` for links that are down and `systemctl status nvidia-fabricmanager`; then reset all "
    "GPUs or restart the host, and reseat the GPU or its bridge if it stays"
)

RULES = (
    Rule(
        name="nvidia.topology_weaker",
        summary="no GPU is reached less well than the others of its host",
        why="NCCL builds its rings from this matrix: a GPU without NVLink, or with fewer of them, slows down all.",
        remedy=_REMEDY,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_weaker,
    ),
    Rule(
        name="nvidia.topology_differs",
        summary="GPUs reach each other in the same way on all hosts",
        why="A pair that has NVLink on one host and not on another has lost it there, or was never given a bridge.",
        remedy=_REMEDY,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_weaker_than_elsewhere,
        scope=Scope.FLEET,
    ),
    Rule(
        name="nvidia.card_far",
        summary="every GPU has a network card as near as the others have",
        why="GPUDirect RDMA goes through the PCI Express switch that a GPU shares with its card; without such a card "
        "the traffic crosses the CPU.",
        remedy="see that no card is missing (`ibstat -l`, `lspci -tv`) and that GPU and card are in the slots the "
        "vendor has for them; in a virtual machine pass both through below one switch",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_far_cards,
        thresholds={"share": Threshold(0.75, "of the GPUs", "opsdist: fewer are a design, not a fault")},
    ),
    Rule(
        name="nvidia.numa_differs",
        summary="a GPU is on the same NUMA node on all hosts",
        why="Ranks are bound to CPUs by one list for all hosts; on a host that differs they run far from their GPU.",
        remedy="compare the BIOS settings (NPS, SNC) and slots of that host, or bind by `nvidia-smi topo -m` on each",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_affinity_differs,
        scope=Scope.FLEET,
    ),
)
