"""Rules about what NPUs count: memory errors and isolated pages, errors of PCIe, HCCS and SIO links.

Counters of links are never judged by themselves, since they begin somewhere: only against an earlier look, and against
their peers. May import: readings, rule, report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from suites.checks.agreement import bound
from suites.checks.ascend.npus import Device, each
from suites.checks.growth import RESET
from suites.checks.readings import Reading, evidence, of_devices, untold, value
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.report import Status

_DOUBLE = re.compile(r"(?:hbm|ddr)_double_bit_(error_count|aggregate_total_err_cnt)")
_ISOLATED = re.compile(r"(?:hbm|ddr)_(?:\w+_bit_)?isolated_pages?_count")
_PENDING = re.compile(r"(?:hbm|ddr)_(?:\w+_bit_next_isolated_pages?_count|pending_\w+_count)")
_SINGLE = re.compile(r"(?:hbm|ddr)_single_bit_(?:error_count|aggregate_total_err_cnt)")
_LINK = re.compile(r"link\d+_")


@dataclass(frozen=True, slots=True)
class Counted:
    """A counter of a device, as `reading` tells it. `key` is what it shares with its peers."""

    name: str
    device: str
    count: int
    reading: Reading

    @property
    def key(self) -> str:
        return _LINK.sub("", self.name)

    @property
    def what(self) -> str:
        link = re.match(r"link(\d+)_", self.name)
        return self.key.replace("_", " ") + (f" of HCCS link {link[1]}" if link else "")

    def shown(self, threshold: Any = None, source: str | None = None) -> dict[str, Any]:
        found = evidence(self.reading, self.name, threshold, source)
        lane = value(self.reading, "first_error_lane")
        return found if lane is None else {**found, "first_error_lane": lane}


def _counted(device: Device, label: str, query: str, wanted: re.Pattern[str]) -> list[Counted]:
    reading = device["readings"].get(query) or {"counters": {}}
    counters = reading["counters"].items()
    return [Counted(name, label, count, reading) for name, count in counters if wanted.fullmatch(name)]


def _double(case: Case) -> Iterator[Judged]:
    """Those of now fail; those that were counted over the life of the chip warn, since pages were isolated since."""
    for name, device, reading in of_devices(case.facts, "ascend", "ecc"):
        if reading is None:
            yield untold(device, "ecc", name)
            continue
        found = [counted for counted in _counted(device, name, "ecc", _DOUBLE) if counted.count > case.limits["most"]]
        now = [counted for counted in found if counted.name.endswith("error_count")]
        for counted in now or found:
            status = Status.FAIL if now else Status.WARN
            yield broken(f"{name}: {counted.what} is {counted.count}", counted.shown(), name, status=status)
        if not found:
            yield ok(name)


def _isolated(case: Case) -> Iterator[Judged]:
    for name, device in each(case.facts):
        pages = _counted(device, name, "ecc", _ISOLATED)
        if not pages:
            continue
        total = sum(counted.count for counted in pages)
        worst = max(pages, key=lambda counted: counted.count)
        if total >= case.limits["watch"]:
            replace = total >= case.limits["replace"]
            shown = worst.shown(case.limits["replace" if replace else "watch"], "ascend-dmi; BMC event 0x80E18402")
            message = f"{name} has {total} isolated pages of memory" + (": it is to be replaced" if replace else "")
            status = Status.FAIL if replace else Status.WARN
            yield broken(message, {**shown, "pages": total}, name, status=status)
        else:
            yield ok(name)


def _pending(case: Case) -> Iterator[Judged]:
    for name, device in each(case.facts):
        told = _counted(device, name, "ecc", _PENDING)
        pages = [counted for counted in told if counted.count]
        if pages:
            total = sum(counted.count for counted in pages)
            yield broken(f"{name} has {total} pages that are isolated at its next start", pages[0].shown(), name)
        elif told:
            yield ok(name)


def _growing(wanted: Mapping[str, re.Pattern[str]]) -> Callable[[Case], Iterator[Judged]]:
    """A rule by which counters of these readings grow by less than `least` between two looks. A counter that became
    smaller was set back, and is not known."""

    def judge(case: Case) -> Iterator[Judged]:
        earlier = _all_counters(case.earlier, wanted)
        for (device, query, name), counted in _all_counters(case.facts, wanted).items():
            before = earlier.get((device, query, name))
            if before is None:
                continue
            more = counted.count - before.count
            if more < 0:
                yield unknown(RESET, device=device)
            elif more >= case.limits["least"]:
                message = f"{device}: {counted.what} grew by {more} to {counted.count}"
                yield broken(message, {**counted.shown(case.limits["least"]), "earlier": before.count}, device)
            else:
                yield ok(device)

    return judge


def _all_counters(facts: Facts, wanted: Mapping[str, re.Pattern[str]]) -> dict[tuple[str, str, str], Counted]:
    return {
        (name, query, counted.name): counted
        for name, device in each(facts)
        for query, pattern in wanted.items()
        for counted in _counted(device, name, query, pattern)
    }


_LINK_ERRORS = {
    "pcie_errors": re.compile(r".*_count"),
    "hccs": re.compile(r"link\d+_(?:error|retry)_count"),
    "xlink": re.compile(r"link\d+_(?:error|retry)_count"),
    "sio": re.compile(r".*error_count"),
}


def _since_start(case: Case) -> Iterator[Judged]:
    """One judgement for each device and reading."""
    for name, device in each(case.facts):
        for query, pattern in _LINK_ERRORS.items():
            found = _counted(device, name, query, pattern)
            errors = [counted for counted in found if counted.count]
            if errors:
                worst = max(errors, key=lambda counted: counted.count)
                others = f", and {len(errors) - 1} other counters are not 0" if len(errors) > 1 else ""
                yield broken(f"{name}: {worst.what} is {worst.count} since its start{others}", worst.shown(), name)
            elif found:
                yield ok(name)


def _standing_out(case: Case) -> Iterator[Judged]:
    """All links of all devices and hosts are the peers of each of them."""
    peers: dict[tuple[str, str], list[tuple[str, Counted]]] = {}
    for host, facts in case.fleet.items():
        for (_, query, _), counted in _all_counters(facts, _LINK_ERRORS).items():
            peers.setdefault((query, counted.key), []).append((host, counted))
    for alike in peers.values():
        counts = [counted.count for _, counted in alike]
        most = bound(counts, case.limits)
        if most is None:
            continue
        usual = median(counts)
        for host, counted in alike:
            if counted.count > most:
                source = f"median of {len(counts)} peers: {usual:g}"
                message = f"{counted.device}: {counted.what} is {counted.count}, and of its peers {usual:g}"
                yield broken(message, counted.shown(most, source), counted.device, host=host)
            else:
                yield ok(counted.device, host)


RULES = (
    Rule(
        name="ascend.ecc_double_bit",
        summary="no NPU has memory errors of two bits",
        why="They cannot be corrected: whoever read that memory got wrong data or was ended.",
        remedy="end the jobs on it, reset the chip or boot the host so that the page is isolated, run "
        "`ascend-dmi --dg -i hbm --se stressTest` with nothing else on it, and replace the card when it comes again",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_double,
        thresholds={"most": Threshold(0, "errors", "ascend-dmi; BMC event 0x80E01801")},
    ),
    Rule(
        name="ascend.isolated_pages",
        summary="few pages of memory of any NPU are isolated",
        why="Each was given up after errors; many mean that the memory is failing.",
        remedy="plan to replace the card where this is a warning; where it is a failure take it out of use now",
        status=Status.FAIL,
        needs=("accelerators",),
        judge=_isolated,
        thresholds={
            "watch": Threshold(16, "pages", "ascend-dmi: GENERAL_WARN"),
            "replace": Threshold(64, "pages", "ascend-dmi: EMERGENCY_WARN; BMC event 0x80E18402"),
        },
    ),
    Rule(
        name="ascend.pages_pending",
        summary="no pages of memory wait to be isolated",
        why="Until the next start they stay in use, and their errors come again.",
        remedy="end the jobs on this NPU and reset it (`npu-smi set -t reset -i CARD -c CHIP`) or boot the host",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_pending,
    ),
    Rule(
        name="ascend.ecc_growing",
        summary="errors of one bit do not become many",
        why="They are corrected, and come before those that cannot be.",
        remedy="watch `npu-smi info -t ecc -i CARD`; with more than 1000 in a day have the card looked at",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_growing({"ecc": _SINGLE}),
        thresholds={"least": Threshold(24, "errors since the earlier look", "practice of operators: 24 in a day")},
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="ascend.pcie_errors_growing",
        summary="errors of the PCIe links of NPUs do not grow",
        why="Packets with errors are sent again: copies to and from the host get slow, or the card falls off the bus.",
        remedy="see `lspci -vv` for the speed and width of the link and dmesg for AER; reseat the card or the riser",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_growing({"pcie_errors": _LINK_ERRORS["pcie_errors"]}),
        thresholds={"least": Threshold(8, "errors since the earlier look", "practice of operators: 8 in a minute")},
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="ascend.hccs_errors_growing",
        summary="errors and retries of HCCS links do not grow",
        why="Healthy links have none; each retry holds up all who share the link, long before it is unhealthy.",
        remedy="`npu-smi info -t hccs -i CARD -c CHIP` names the first bad link (as lane, from 0); boot the host, "
        "reseat the module, and replace it when errors grow again",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_growing({"hccs": _LINK_ERRORS["hccs"], "xlink": _LINK_ERRORS["xlink"]}),
        thresholds={"least": Threshold(1, "errors since the earlier look", "healthy links count 0")},
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="ascend.sio_errors_growing",
        summary="errors between the dies of a card do not grow",
        why="The two dies of an A3 card share one link; with errors on it both are slow.",
        remedy="boot the host; replace the card when errors grow again",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_growing({"sio": _LINK_ERRORS["sio"]}),
        thresholds={"least": Threshold(1, "errors since the earlier look", "healthy links count 0")},
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="ascend.errors_since_start",
        summary="no link of an NPU counted an error since its start",
        why="When they were counted is not known: while links were trained, or in the middle of a job.",
        remedy="look again after a job: what has grown by then is a bad link",
        status=Status.INFO,
        needs=("accelerators",),
        judge=_since_start,
    ),
    Rule(
        name="ascend.errors_stand_out",
        summary="no link of an NPU counted far more errors than its peers",
        why="Counters begin anywhere; one that is far from those of all other links belongs to a bad link.",
        remedy="look whether it still grows (`opsdist info` before and after a job); then boot the host, and reseat or "
        "replace the card or module",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_standing_out,
        thresholds={
            "deviations": Threshold(5, "median absolute deviations", "an outlier among peers, whatever their spread"),
            "least": Threshold(10, "more than the median", "a few errors are no sign of a bad link"),
        },
        scope=Scope.FLEET,
    ),
)
