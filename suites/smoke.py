"""`suite smoke`: does opsdist work here, can its figures be believed, and does it catch what it must?

Checks in order of cost, each within what is left of the budget: one for which nothing is left is an error, never a
pass. Wrong data and missed faults fail; performance only warns, since CI machines vary, also where a ceiling that was
taken while others had the machine leaves no figure to believe.
May import: collectives, and this package.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from collectives.algorithms import ALGORITHMS
from collectives.errors import PlanError
from collectives.ops import COLLECTIVES
from collectives.simulate import simulate
from suites.catalogue import Setting
from suites.errors import SuiteError
from suites.expect import IMPLAUSIBLE_CHECK
from suites.perf import PerfRun
from suites.report import Finding, Status, now
from suites.sweep import Options
from suites.verdict import judge

RANKS = 2
PROVEN_RANKS = (1, 2, 3, 4, 5, 8)
SMALL_SIZES = (8, 4096, 100_000)
MEDIUM, LARGE = 16 << 20, 64 << 20
LEAST_RATIO = 0.5
"""The bus bandwidth at LARGE must be at least this part of the one at MEDIUM."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it shows, and how. `run(setting)` may use setting.budget seconds."""

    name: str
    summary: str
    run: Callable[[Setting], list[Finding]]


def run(setting: Setting) -> Iterator[list[Finding]]:
    """The suite."""
    ends = time.monotonic() + setting.budget
    for check in CHECKS:
        left = ends - time.monotonic()
        if left <= 0:
            message = f"not run: the budget of {setting.budget:g} s was used up"
            yield [Finding(check.name, Status.ERROR, message, remedy="raise --budget")]
            continue
        try:
            yield check.run(replace(setting, budget=left))
        except SuiteError as error:
            yield [Finding(check.name, Status.ERROR, str(error))]


def _proofs(setting: Setting) -> list[Finding]:
    proven = 0
    for collective, rows in ALGORITHMS.items():
        kind = COLLECTIVES[collective]
        for row in rows.values():
            for ranks in PROVEN_RANKS:
                for count in (0, 1, ranks, 3 * ranks + 1):
                    shapes = [kind.shape(rank, ranks, count, groups=(tuple(range(ranks)),)) for rank in range(ranks)]
                    if row.unmet(shapes[0]):
                        continue
                    try:
                        simulate([row.plan(shape) for shape in shapes], kind, shapes, count)
                    except PlanError as error:
                        message = f"{collective} {row.name} on {ranks} ranks, {count} elements: {error}"
                        return [Finding("smoke.proofs", Status.FAIL, message, remedy="report this: the plan is wrong")]
                    proven += 1
    message = f"{proven} plans of {sum(map(len, ALGORITHMS.values()))} algorithms proven"
    return [Finding("smoke.proofs", Status.PASS, message, evidence={"plans": proven})]


def _collectives(setting: Setting) -> list[Finding]:
    options = Options(
        tuple(COLLECTIVES), SMALL_SIZES, loop=2, loop_asked=True, warmup=1, ranks=setting.ranks or RANKS,
        algorithms=("all",), placement="both", cache="warm", budget=setting.budget,
    )  # fmt: skip
    perf, code = _perf(options, setting)
    evidence = {"rows": sum(bool(row.results) for row in perf.rows), "ranks": perf.world.size}
    if code == 0:
        message = f"{evidence['rows']} rows on {perf.world.size} ranks, all results exact"
        return [Finding("smoke.collectives", Status.PASS, message, evidence=evidence)]
    return _as_check("smoke.collectives", perf.findings)


def _performance(setting: Setting) -> list[Finding]:
    options = Options(
        ("allreduce",), (MEDIUM, LARGE), loop=5, warmup=1, ranks=setting.ranks or RANKS, budget=setting.budget
    )
    perf, code = _perf(options, setting)
    bad = _bad(perf.findings)
    if bad and all(finding.check == IMPLAUSIBLE_CHECK for finding in bad):
        message = "; ".join(finding.message for finding in bad)
        return [Finding("smoke.performance", Status.WARN, message, remedy=bad[0].remedy, evidence=bad[0].evidence)]
    rates = {row.size: result.bus_bw for row in perf.rows for result in row.results.values()}
    medium, large = rates.get(MEDIUM), rates.get(LARGE)
    if code or not medium or not large:
        return _as_check("smoke.performance", perf.findings)
    evidence = {"bus_bw_16M_gb_s": medium / 1e9, "bus_bw_64M_gb_s": large / 1e9, "least_ratio": LEAST_RATIO}
    message = f"allreduce busbw {large / 1e9:.2f} GB/s at 64M, {medium / 1e9:.2f} GB/s at 16M"
    if large < LEAST_RATIO * medium:
        remedy = "look for memory pressure, swapping or a noisy neighbour; run `opsdist perf allreduce --size 1M:256M`"
        return [Finding("smoke.performance", Status.WARN, message, remedy=remedy, evidence=evidence)]
    return [Finding("smoke.performance", Status.PASS, message, evidence=evidence)]


def _corrupted(setting: Setting) -> list[Finding]:
    perf, code = _perf(_faulty("corrupt", setting), setting)
    if _over_budget(perf):
        return _as_check("smoke.corrupt", perf.findings)
    wrong = [w for row in perf.rows for result in row.results.values() for w in result.wrong or ()]
    if code == 1 and [w.rank for w in wrong] == [1]:
        message = f"a wrong element was caught and named: rank {wrong[0].rank}, index {wrong[0].index}"
        return [Finding("smoke.corrupt", Status.PASS, message)]
    message = f"a wrong element on rank 1 was injected, and the run ended with exit {code}"
    return [Finding("smoke.corrupt", Status.FAIL, message, remedy="report this: the check of data is blind")]


def _killed(setting: Setting) -> list[Finding]:
    perf, code = _perf(_faulty("kill", setting), setting)
    if _over_budget(perf):
        return _as_check("smoke.killed", perf.findings)
    verdict = perf.verdict or {"class": "none", "culprits": []}
    if (code, verdict["class"], [c["rank"] for c in verdict["culprits"]]) == (3, "crashed", [1]):
        return [Finding("smoke.killed", Status.PASS, "a killed rank was named, and the others were ended")]
    message = f"rank 1 was killed, and the verdict was {verdict['class']} with exit {code}"
    return [Finding("smoke.killed", Status.FAIL, message, remedy="report this: supervision is blind")]


CHECKS: tuple[Check, ...] = (
    Check("smoke.proofs", "every algorithm's plan is proven for several world sizes", _proofs),
    Check("smoke.killed", "a rank that is killed is named", _killed),
    Check("smoke.corrupt", "a wrong result is caught and named", _corrupted),
    Check("smoke.collectives", "every collective by every algorithm gives exact results", _collectives),
    Check("smoke.performance", "64 MiB reaches half the bandwidth of 16 MiB (a warning)", _performance),
)


def _faulty(fault: str, setting: Setting) -> Options:
    return Options(
        ("allreduce",), (4096,), loop=4, loop_asked=True, warmup=1, ranks=max(setting.ranks or RANKS, 2), cache="warm",
        budget=setting.budget, inject=({"fault": fault, "rank": 1, "at": "first"},),
    )  # fmt: skip


def _over_budget(perf: PerfRun) -> bool:
    """The fault was never reached, so nothing was learnt about it."""
    return any(row.skipped for row in perf.rows)


def _perf(options: Options, setting: Setting) -> tuple[PerfRun, int]:
    """Raises SuiteError where the hosts cannot be reached."""
    hosts = setting.hosts()
    with closing(hosts):
        if not hosts.facts:
            for _ in hosts.connect(options.timeout):
                pass
        if hosts.faults:
            raise SuiteError(judge(hosts.faults, ())["explanation"])
        if hosts.assembly:
            options = replace(options, ranks=None)  # their launcher has said how many
        elif len(hosts.names) > 1 and setting.ranks is None:
            options = replace(options, ranks=None, per_host=1)
        perf = PerfRun(options, setting.command, now(), hosts)
        with closing(perf.events()) as events:
            for _ in events:
                pass
    return perf, perf.judge()


def _as_check(name: str, findings: list[Finding]) -> list[Finding]:
    """What a perf run found, as this check's own."""
    return [replace(finding, check=name) for finding in _bad(findings)] or [
        Finding(name, Status.ERROR, "the run ended without results")
    ]


def _bad(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.status in (Status.FAIL, Status.ERROR)]
