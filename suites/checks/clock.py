"""Rules about the clock of a host. May import: agreement, readings, rule, report."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from suites.checks.agreement import Held, outliers
from suites.checks.readings import evidence
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.report import Status

_SLOW = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"})
_NO_TOOL = "neither chronyc nor timedatectl is here"
_FILE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def _synchronised(case: Case) -> Iterator[Judged]:
    clock = case.facts["clock"]
    told = next((each for each in clock["readings"].values() if "synchronised" in each["values"]), None)
    if told is None:
        reasons = "; ".join(f"{each['source']}: {each['reason']}" for each in clock["readings"].values())
        if reasons or clock["clocksource"]:
            yield unknown(f"nothing tells whether the clock is synchronised ({reasons or _NO_TOOL})")
    elif clock["synchronised"]:
        yield ok()
    elif told["values"].get("own_clock"):
        # So it is meant on the server of a cluster without a better one.
        found = evidence(told, "own_clock", threshold=False)
        yield broken("chronyd follows this host's own clock, and no server", found, status=Status.INFO)
    else:
        yield broken("the clock is not synchronised", evidence(told, "synchronised", threshold=True))


def _offset(case: Case) -> Iterator[Judged]:
    offset, most = case.facts["clock"]["momentary_offset_seconds"], case.limits["most"]
    if offset is None:
        return
    if abs(offset) <= most:
        yield ok()
    else:
        way = "ahead of" if offset > 0 else "behind"
        found = evidence(case.facts["clock"]["readings"]["tracking"], "offset_seconds", most)
        yield broken(f"the clock is {abs(offset) * 1e3:.3g} ms {way} its reference", found)


def _slow_source(case: Case) -> Iterator[Judged]:
    source = case.facts["clock"]["clocksource"]
    if source in _SLOW:
        found = {"file": _FILE, "value": source, "threshold": "tsc, arch_sys_counter, kvm-clock or the like"}
        yield broken(f"the kernel takes the time from {source}, which is slow to read", found)
    elif source is not None:
        yield ok()


def _sources(case: Case) -> Iterator[Judged]:
    held = [Held(host, None, source, {"file": _FILE}) for host, source in map(_source_of, case.fleet.items()) if source]
    yield from outliers("the kernel's clock source", held)


def _apart(case: Case) -> Iterator[Judged]:
    """By what is certain: the clocks are at least as far apart as they were found to be, less both errors."""
    told = {host: facts["clock"].get("momentary") or {} for host, facts in case.fleet.items()}
    ahead = {host: clock["ahead_seconds"] for host, clock in told.items() if "ahead_seconds" in clock}
    if len(ahead) < 2:
        return
    middle = statistics.median(ahead.values())
    for host, seconds in ahead.items():
        certain = abs(seconds - middle) - told[host]["ahead_error_seconds"]
        if certain <= case.limits["warn"]:
            yield ok(host=host)
            continue
        way = "ahead of" if seconds > middle else "behind"
        found = {"value": seconds, "threshold": case.limits["warn"], "source": "asked over the agent's connection"}
        yield broken(
            f"the clock is {abs(seconds - middle):.3g} s {way} that of the other hosts", found, host=host,
            status=Status.FAIL if certain > case.limits["fail"] else None,
        )  # fmt: skip


def _source_of(item: tuple[str, Facts]) -> tuple[str, str | None]:
    host, facts = item
    return host, facts["clock"]["clocksource"]


RULES = (
    Rule(
        name="clock.not_synchronised",
        summary="the clock is synchronised",
        why="Logs of hosts cannot be laid side by side, certificates and tickets are refused, and stamps of ranks on "
        "different hosts mean nothing, where clocks drift apart.",
        remedy="`systemctl enable --now chronyd` (or systemd-timesyncd) with a server that answers: `chronyc sources`; "
        "where PTP keeps the clock, `systemctl status ptp4l phc2sys`",
        status=Status.FAIL,
        needs=("clock",),
        judge=_synchronised,
    ),
    Rule(
        name="clock.offset",
        summary="the clock is close to its reference",
        why="Events on different hosts cannot be put in order when clocks are further apart than what is looked at.",
        remedy="`chronyc makestep` steps it at once, when no job runs; then `chronyc sources -v` for a better server",
        status=Status.WARN,
        needs=("clock",),
        judge=_offset,
        thresholds={"most": Threshold(0.05, "s", "our own: far more than NTP leaves in one building")},
    ),
    Rule(
        name="clock.slow_source",
        summary="the kernel takes the time from a counter that is fast to read",
        why="Programs that take the time often, as all that measure do, spend a microsecond and a system call on each "
        "reading of hpet or acpi_pm.",
        remedy="see in `dmesg` why tsc was given up (unstable, firmware too old); boot with tsc=reliable only where "
        "the vendor says that it is",
        status=Status.WARN,
        needs=("clock",),
        judge=_slow_source,
    ),
    Rule(
        name="clock.apart",
        summary="the clocks of all hosts say about the same time",
        why="Logs of hosts cannot be laid side by side, and deadlines that are told as times of day pass at once or "
        "never.",
        remedy="`chronyc tracking` and `chronyc sources` on that host; `chronyc makestep` steps it when no job runs",
        status=Status.WARN,
        needs=("clock",),
        judge=_apart,
        thresholds={
            "warn": Threshold(1.0, "s", "our own: far more than hosts that are synchronised at all differ by"),
            "fail": Threshold(30.0, "s", "the node check of Primus"),
        },
        scope=Scope.FLEET,
    ),
    Rule(
        name="clock.sources_differ",
        summary="all hosts take the time from the same kind of counter",
        why="One that has fallen back to another counter measures and runs differently from its peers.",
        remedy="see in `dmesg` of that host why the usual counter was given up",
        status=Status.INFO,
        needs=("clock",),
        judge=_sources,
        scope=Scope.FLEET,
    ),
)
