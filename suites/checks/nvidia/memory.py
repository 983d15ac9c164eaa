"""Rules about the memory of NVIDIA GPUs: errors that could not be corrected, and what is set aside for them.

Up to Volta pages are retired, later rows are remapped. May import: growth, nvidia_facts, readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from suites.checks.growth import RESET, grown
from suites.checks.nvidia.facts import STATE, Told, alike, by_model, each, told, told_in_fleet, unlike, usual_of
from suites.checks.readings import value
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.report import Status

_MEMORY = ("details", "remapped_rows", "state")
_GROWING = {
    "ecc_uncorrected_ever": "uncorrectable memory errors",
    "ecc_uncorrected": "uncorrectable memory errors since the driver was loaded",
    "retired_double": "pages retired for uncorrectable errors",
    "remapped_uncorrectable": "rows remapped for uncorrectable errors",
}


def _above(most: str, message: str) -> Callable[[Case, Told], Judged]:
    """That a count is not above a limit."""

    def judge(case: Case, one: Told) -> Judged:
        limit = case.limits[most]
        if one.value <= limit:
            return ok(one.name)
        return broken(message.format(gpu=one.name, count=one.value), one.evidence(limit), one.name)

    return judge


def _retired(case: Case) -> Iterator[Judged]:
    for one in told(case.facts, "retired_double", "details", "state"):
        if one.reading is None:
            yield one.untold()
            continue
        pages = one.value + (value(one.reading, "retired_single") or 0)
        if pages >= case.limits["exhausted"]:
            limit = case.limits["exhausted"]
            yield broken(f"{one.name} has retired {pages} pages of its memory", one.evidence(limit), one.name)
        elif pages > case.limits["most"]:
            message, limit = f"{one.name} has retired {pages} pages of its memory", case.limits["most"]
            yield broken(message, one.evidence(limit), one.name, status=Status.WARN)
        else:
            yield ok(one.name)


def _errors_grew(case: Case) -> Iterator[Judged]:
    """One judgement a GPU: the counters tell of the same errors."""
    earlier = _growing(case.earlier)
    for gpu, counters in _growing(case.facts).items():
        before = {what: one.value for what, one in earlier.get(gpu, {}).items() if what in counters}
        more = grown(before, {what: one.value for what, one in counters.items()})
        if more is None:
            yield unknown(RESET, device=gpu)
        elif more:
            counts = ", ".join(f"{now - then} more {_GROWING[what]}" for what, (then, now) in more.items())
            first = next(iter(more))
            message = f"{gpu} has {counts} than in the earlier snapshot"
            yield broken(message, counters[first].evidence(more[first][0]), gpu)
        elif before:
            yield ok(gpu)


def _growing(facts: Facts) -> dict[str, dict[str, Told]]:
    """GPU -> counter -> what is told of it."""
    found: dict[str, dict[str, Told]] = {}
    for what in _GROWING:
        for one in told(facts, what, *_MEMORY):
            if one.value is not None:
                found.setdefault(one.name, {})[what] = one
    return found


def _ecc_pending(case: Case, one: Told) -> Judged:
    now = value(one.reading, "ecc") if one.reading else None
    if now is None or now == one.value:
        return ok(one.name)
    message = f"the next reset turns ECC of {one.name} {'on' if one.value else 'off'}"
    return broken(message, one.evidence(now), one.name, status=Status.INFO if one.value else None)


def _all_of(*judges: Callable[[Case], Iterator[Judged]]) -> Callable[[Case], Iterator[Judged]]:
    def judge(case: Case) -> Iterator[Judged]:
        for each_of_them in judges:
            yield from each_of_them(case)

    return judge


def _short(case: Case) -> Iterator[Judged]:
    for alike_ones in by_model(told_in_fleet(case, "memory_mib", *STATE)):
        usual = usual_of(alike_ones)
        for one in alike_ones if usual is not None else ():
            if one.value < case.limits["least"] * usual:
                message = f"{one.name} has {one.value} MiB of memory, and most of its model have {usual}"
                yield broken(message, one.evidence(usual, "its peers"), one.name, host=one.host)
            else:
                yield ok(one.name, one.host)


_REPLACE = "drain the host, run `dcgmi diag -r 3`, and have the GPU replaced if it goes on"

RULES = (
    Rule(
        name="nvidia.ecc_uncorrectable",
        summary="no GPU has had an uncorrectable memory error since the driver was loaded",
        why="Each of them has ended a process or spoilt its data (Xid 48, 94, 95).",
        remedy="reset the GPU (`nvidia-smi --gpu-reset -i N`) so that the row or page is replaced, and watch it; "
        + _REPLACE,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=each(
            "ecc_uncorrected", *STATE, judge=_above("most", "{gpu} has had {count} uncorrectable memory errors")
        ),
        thresholds={"most": Threshold(0, "errors", "Meta's GCM, imbue's cluster-health")},
    ),
    Rule(
        name="nvidia.errors_grew",
        summary="no GPU has more memory errors than in the earlier snapshot",
        why="Errors that came during a job are a reason why it failed.",
        remedy=_REPLACE,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_errors_grew,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="nvidia.ecc_differs",
        summary="memory errors are corrected on all GPUs of a model, or on none",
        why="A GPU without ECC computes with wrong data and does not tell; where its peers have it, somebody forgot "
        "it.",
        remedy="`nvidia-smi -i N -e 1`, then reset the GPU or restart the host",
        status=Status.WARN,
        needs=("accelerators",),
        judge=alike("ECC", "ecc", "state", "details"),
        scope=Scope.FLEET,
    ),
    Rule(
        name="nvidia.memory_short",
        summary="all GPUs of a model have the same memory",
        why="Memory that is missing is found by the first job that needs it all, on one rank of many.",
        remedy="compare `nvidia-smi -q -d MEMORY,ECC` with a peer: a vGPU profile or a MIG instance has less; else "
        "have the GPU replaced",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_short,
        thresholds={"least": Threshold(0.95, "of the usual", "MindCluster's rule for NPUs; drivers reserve some")},
        scope=Scope.FLEET,
    ),
    Rule(
        name="nvidia.sram_threshold",
        summary="no GPU has had too many errors in its caches",
        why="Beyond the threshold NVIDIA has a GPU replaced: caches have no spare rows.",
        remedy="have the GPU replaced",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=each(
            "sram_threshold_exceeded", "details", judge=unlike(True, "{gpu} has had too many errors in its caches")
        ),
    ),
    Rule(
        name="nvidia.retirement_pending",
        summary="no GPU waits for a reset to retire pages of its memory",
        why="Until then the page with the errors is still used.",
        remedy="stop what uses it and run `nvidia-smi --gpu-reset -i N`, or restart the host",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=each(
            "retired_pending", "details", "state", judge=unlike(True, "{gpu} has pages to retire at its next reset")
        ),
    ),
    Rule(
        name="nvidia.pages_retired",
        summary="no GPU has retired many pages of its memory",
        why="Some pages can be retired without harm; a GPU that goes on doing so runs out of them at 64.",
        remedy=_REPLACE,
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_retired,
        thresholds={
            "most": Threshold(10, "pages", "Meta's GCM"),
            "exhausted": Threshold(60, "pages", "NVIDIA's Dynamic Page Retirement: 60 and more are a case for return"),
        },
    ),
    Rule(
        name="nvidia.remap_pending",
        summary="no GPU waits for a reset to remap rows of its memory",
        why="Until then the row with the errors is still used.",
        remedy="stop what uses it and run `nvidia-smi --gpu-reset -i N`, or restart the host",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=each("remap_pending", *_MEMORY, judge=unlike(True, "{gpu} has rows to remap at its next reset")),
    ),
    Rule(
        name="nvidia.remap_failed",
        summary="every GPU could remap the rows it had to",
        why="There was no spare row left in a bank, so the memory stays bad; NVIDIA has such a GPU replaced.",
        remedy="have the GPU replaced",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=each("remap_failed", *_MEMORY, judge=unlike(True, "{gpu} has no spare row left for its bad memory")),
    ),
    Rule(
        name="nvidia.repair_pending",
        summary="no GPU waits for a reset to repair itself",
        why="Until then the channel of its memory, or the part of its processor, that had the errors is still used.",
        remedy="stop what uses it and run `nvidia-smi --gpu-reset -i N`, or restart the host",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_all_of(
            each(
                "channel_repair_pending", "details", judge=unlike(True, "{gpu} has to repair a channel of its memory")
            ),
            each(
                "tpc_repair_pending", "details", judge=unlike(True, "{gpu} has to repair a part of its processor (TPC)")
            ),
        ),
    ),
    Rule(
        name="nvidia.unrepairable",
        summary="no GPU has memory that cannot be repaired",
        why="There is nothing left to put in the place of the bad memory.",
        remedy="have the GPU replaced",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=each("unrepairable_memory", "details", judge=unlike(True, "{gpu} has memory that cannot be repaired")),
    ),
    Rule(
        name="nvidia.ecc_pending",
        summary="the next restart leaves ECC as it is",
        why="Somebody has set it, and it changes with the next reset of the GPU, whoever uses the host by then.",
        remedy="set it as it is wanted: `nvidia-smi -i N -e 1` for on, -e 0 for off",
        status=Status.WARN,
        needs=("accelerators",),
        judge=each("ecc_pending", "details", "state", judge=_ecc_pending),
    ),
)
