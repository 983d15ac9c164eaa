"""Rules about how NPUs of a host reach each other: the matrix of `npu-smi info -t topo`.

SYS alone is no fault: cards without a bridge have nothing better. What is a fault is a cell that is weaker than those
of its siblings, or than the same cell of other hosts. May import: agreement, readings, rule, report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from suites.checks.ascend.npus import each, some
from suites.checks.readings import Reading, evidence, of_host
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, broken, ok
from suites.report import Status

_FABRIC = {"HCCS": 8, "UB": 8, "HCCS_SW": 7}
_STRENGTH = {**_FABRIC, "SIO": 7, "PIX": 6, "PXB": 5, "PHB": 4, "NODE": 3, "SYS": 2, "NA": 0}
"""What a path is worth; NA: the driver could not tell."""

_NPU = ("npu", "phy")

Matrix = Mapping[str, Mapping[str, str]]
Pair = tuple[str, str]


def _matrix(facts: Facts) -> tuple[Reading, Matrix] | None:
    """Cells between NPUs; where a row was cut off its column stands for it."""
    reading = of_host(facts, "ascend", "topology")
    if reading is None:
        return None
    cells: dict[str, dict[str, str]] = {}
    for name, row in reading["values"].items():
        for other, cell in row.items() if name.startswith(_NPU) else ():
            if other.startswith(_NPU) and cell in _STRENGTH:
                cells.setdefault(name, {})[other] = cell
                cells.setdefault(other, {}).setdefault(name, cell)
    return (reading, cells) if cells else None


def _weak(case: Case) -> Iterator[Judged]:
    found = _matrix(case.facts)
    if found is None:
        return
    reading, matrix = found
    bad = _below_siblings(matrix)
    yield from _blamed(case.facts, reading, matrix, bad)
    if not bad and len(matrix) > 1:
        yield ok()


def _below_siblings(matrix: Matrix) -> set[Pair]:
    """Pairs without a fabric, though both reach a third by it: fabrics are meshes. And all of an NPU that has none,
    where most have one, but for dies of a card, of which `_isolated` tells."""
    reached = {name: {other for other, cell in row.items() if cell in _FABRIC} for name, row in matrix.items()}
    linked = [name for name in matrix if reached[name]]
    pairs = {
        _pair(one, other)
        for one in linked
        for other, cell in matrix[one].items()
        if cell not in _FABRIC and cell != "SIO" and reached[one] & reached[other]
    }
    if 2 * len(linked) > len(matrix) and not _has_dies(matrix):
        alone = [name for name in matrix if name not in linked]
        pairs |= {_pair(one, other) for one in alone for other in linked if other in matrix[one]}
    return pairs


def _blamed(facts: Facts, reading: Reading, matrix: Matrix, bad: set[Pair]) -> Iterator[Judged]:
    """One judgement for each NPU that has several weak paths, the worst first, then for each pair that is left."""
    left = set(bad)
    while left:
        name, count = Counter(name for pair in sorted(left) for name in pair).most_common(1)[0]
        if count < 2:
            break
        others = [one if other == name else other for one, other in sorted(left) if name in (one, other)]
        left -= {pair for pair in left if name in pair}
        yield _judged(facts, reading, matrix, name, others)
    for one, other in sorted(left):
        yield _judged(facts, reading, matrix, one, [other])


def _judged(facts: Facts, reading: Reading, matrix: Matrix, name: str, others: Sequence[str]) -> Judged:
    cells = sorted({matrix[name].get(other, "unknown") for other in others})
    best = Counter(cell for row in matrix.values() for cell in row.values() if cell in _FABRIC).most_common(1)[0][0]
    npu = _label(facts, name)
    message = f"{npu} reaches {some([_label(facts, other) for other in others])} by {'/'.join(cells)}, others by {best}"
    doubtful = {"UB": " (a bridge may be missing)"}.get(best, " (unknown)" if cells == ["NA"] else "")
    status = Status.WARN if doubtful else Status.FAIL
    return broken(message + doubtful, evidence(reading, name, best, "the other NPUs of this host"), npu, status=status)


def _label(facts: Facts, name: str) -> str:
    """`npu5` as findings call it, by its physical id: the matrix has cards, or physical ids where it says so."""
    number = int(name[3:])
    if name.startswith("phy"):
        return f"npu{number}"
    ids = [label for label, device in each(facts) if device["card"] == number and not device["chip"]]
    return ids[0] if ids else f"npu{number}"


def _has_dies(matrix: Matrix) -> bool:
    return any("SIO" in row.values() for row in matrix.values())


def _isolated(case: Case) -> Iterator[Judged]:
    """Cards with two dies reach other cards through the switch. Where none does, the host may be meant to be so."""
    found = _matrix(case.facts)
    if found is None or not _has_dies(found[1]):
        return
    reading, matrix = found
    between = {name: sorted({cell for cell in row.values() if cell != "SIO"}) for name, row in matrix.items()}
    cut = [name for name, cells in between.items() if cells and not any(cell in _FABRIC for cell in cells)]
    status = Status.WARN if len(cut) == sum(map(bool, between.values())) else Status.FAIL
    for name in cut:
        npu = _label(case.facts, name)
        message = f"{npu} reaches no other card by HCCS, only by {'/'.join(between[name])}"
        shown = evidence(reading, name, "HCCS_SW", "cards of an A3 reach each other by HCCS_SW")
        yield broken(message, shown, npu, status=status)
    if not cut:
        yield ok()


def _apart(case: Case) -> Iterator[Judged]:
    """Dies of a card, whose physical ids are 2n and 2n+1, by what joins most of them."""
    found = _matrix(case.facts)
    if found is None or not _has_dies(found[1]):
        return
    reading, matrix = found
    pairs = {(one, f"phy{int(one[3:]) + 1}") for one in matrix if one.startswith("phy") and int(one[3:]) % 2 == 0}
    cells = {pair: cell for pair in sorted(pairs) if (cell := matrix[pair[0]].get(pair[1]))}
    other = {pair: cell for pair, cell in cells.items() if cell != "SIO"}
    if 2 * len(other) >= len(cells):
        return
    for (one, sibling), cell in other.items():
        npu = _label(case.facts, one)
        message = f"{npu} reaches {_label(case.facts, sibling)}, the other die of its card, by {cell} and not by SIO"
        yield broken(message, evidence(reading, one, "SIO", "the other cards of this host"), npu)
    if not other:
        yield ok()


def _differs(case: Case) -> Iterator[Judged]:
    """Cells against the same cells of hosts that have the same NPUs."""
    groups: dict[tuple[str, ...], dict[str, tuple[Reading, Matrix]]] = {}
    for host, facts in case.fleet.items():
        if found := _matrix(facts):
            groups.setdefault(tuple(sorted(found[1])), {})[host] = found
    for hosts in groups.values():
        if len(hosts) > 1:
            yield from _compared(case, hosts)


def _compared(case: Case, hosts: Mapping[str, tuple[Reading, Matrix]]) -> Iterator[Judged]:
    weaker: dict[str, list[tuple[Pair, str, str]]] = {host: [] for host in hosts}
    undecided: list[tuple[Pair, dict[str, str]]] = []
    for pair in _pairs([matrix for _, matrix in hosts.values()]):
        cells = {host: cell for host, (_, matrix) in hosts.items() if (cell := matrix[pair[0]].get(pair[1]))}
        usual, most = Counter(cells.values()).most_common(1)[0]
        if most == len(cells):
            continue
        if 2 * most <= len(hosts):
            undecided.append((pair, cells))
            continue
        for host, cell in cells.items():
            if _STRENGTH[cell] < _STRENGTH[usual]:
                weaker[host].append((pair, cell, usual))
    for host, found in weaker.items():
        yield from [_weaker(case.fleet[host], hosts[host][0], host, found)] if found else [ok(host=host)]
    if undecided:
        yield _undecided(hosts, undecided)


def _pair(one: str, other: str) -> Pair:
    return (one, other) if int(one[3:]) < int(other[3:]) else (other, one)


def _pairs(matrices: Sequence[Matrix]) -> list[Pair]:
    return sorted({
        _pair(one, other) for matrix in matrices for one, row in matrix.items() for other in row
    })  # fmt: skip


def _weaker(facts: Facts, reading: Reading, host: str, found: Sequence[tuple[Pair, str, str]]) -> Judged:
    name, count = Counter(name for pair, _, _ in found for name in pair).most_common(1)[0]
    (one, other), cell, usual = found[0]
    npu = _label(facts, name) if count > 1 or len(found) == 1 else None
    message = f"{len(found)} paths between NPUs are weaker than on most hosts: {one} to {other} {cell} for {usual}"
    return broken(message, evidence(reading, name, usual, "most of the hosts"), npu, host=host)


def _undecided(
    hosts: Mapping[str, tuple[Reading, Matrix]], undecided: Sequence[tuple[Pair, Mapping[str, str]]]
) -> Judged:
    (one, other), cells = undecided[0]
    told = ", ".join(f"{cell} on {host}" for host, cell in cells.items())
    shown = {"command": next(iter(hosts.values()))[0]["source"], "value": dict(cells)}
    message = f"{len(undecided)} paths between NPUs differ between hosts: {one} to {other} is {told}"
    return broken(message, shown, status=Status.WARN)


RULES = (
    Rule(
        name="ascend.topology_weak",
        summary="NPUs of a host reach each other by links as good as those of their siblings",
        why="A path that should be HCCS and is SYS goes over PCIe and between sockets, with a tenth of the bandwidth; "
        "all rings through it are as slow.",
        remedy="see `npu-smi info -t hccs -i CARD -c CHIP` (950: `hccn_tool -i N -ub_connect -g`) for links that "
        "are not up; boot the host so that they are trained again, and reseat or replace the module when they stay "
        "down",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_weak,
    ),
    Rule(
        name="ascend.dies_apart",
        summary="the two dies of a card reach each other directly",
        why="SIO joins the dies of a card; without it what they exchange goes through the switch, with less bandwidth.",
        remedy="see `npu-smi info -t sio-info -i CARD -c CHIP`; power the host off and on, and replace the module when "
        "it stays",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_apart,
    ),
    Rule(
        name="ascend.chip_isolated",
        summary="cards with two dies reach other cards by HCCS",
        why="Without HCCS between the cards their traffic goes over PCIe, or HCCL refuses the communicator.",
        remedy="if this is a part of a host that was cut up for virtual machines, give one machine only cards of one "
        "group; else see HCCL_INTER_HCCS_DISABLE, the HCCS switch in the BMC, and `npu-smi info -t hccs`",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_isolated,
    ),
    Rule(
        name="ascend.topology_differs",
        summary="NPUs reach each other the same way on all hosts",
        why="HCCL plans one algorithm for all hosts; the host with the weaker path holds up the others.",
        remedy="on the host with the weaker path see `npu-smi info -t hccs -i CARD -c CHIP`, boot it so that links are "
        "trained again, and compare `npu-smi info -t topo`",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_differs,
        scope=Scope.FLEET,
    ),
)
