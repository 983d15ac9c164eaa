"""What a watch of links has to tell, as JSON and as findings. Pure. May import: probes.reading, report, traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from probes.reading import State
from suites.report import Finding, Status
from suites.traffic import DIRECTIONS, GROWTH, Tally, Watch

_COUNTED = tuple(f"{way}_{what}" for what in ("bytes", "packets") for way in DIRECTIONS)
_JUDGED: Mapping[str, tuple[str, Status, str]] = {
    "errors": (
        "errors grew", Status.WARN,
        "look at the cable, the optics and the other end of this link, and at the kernel's log (dmesg)",
    ),
    "retransmits": (
        "data was sent again", Status.WARN,
        "packets are lost or late on the way: look at drops on the switch port, and whether both ends have one PFC",
    ),
    "drops": (
        "packets were dropped", Status.INFO,
        "some are nothing unusual; many together with low rates call for larger rings (ethtool -G) or more cores",
    ),
}  # fmt: skip
_ORDINARY = frozenset({"tcp"})
"""Kinds that send again all the time, as they are meant to."""


def rates(tally: Tally, late: bool) -> dict[str, Any]:
    """A link at one time: its rates now, and its sums since the beginning."""
    return {
        "link": tally.link,
        "kind": tally.kind,
        "late": late,
        **{f"{name}_per_second": None if late else tally.now.get(name) for name in _COUNTED},
        "share": None if late else tally.share,
        **{f"{way}_bytes": tally.sum.get(f"{way}_bytes") for way in DIRECTIONS},
        **_growth(tally),
    }


def _growth(tally: Tally) -> dict[str, dict[str, int] | None]:
    """Null for what the link has no counters of."""
    return {what: dict(tally.growth[what]) if what in tally.growth else None for what in GROWTH}


def summary(tally: Tally) -> dict[str, Any]:
    return {
        "link": tally.link,
        "kind": tally.kind,
        "source": tally.source,
        "present": tally.present,
        "limit_bytes_per_second": tally.limit,
        **{way: _way(tally, way) for way in DIRECTIONS},
        "resets": tally.resets,
        **_growth(tally),
    }


def _way(tally: Tally, way: str) -> dict[str, Any]:
    """One direction. Bytes and packets since the beginning: null for what only tells rates."""
    spread = tally.spreads[way]
    return {
        "bytes": tally.sum.get(f"{way}_bytes"),
        "packets": tally.sum.get(f"{way}_packets"),
        "bytes_per_second": {
            "n": spread.count, "min": spread.least, "median": spread.median, "max": spread.most, "last": spread.last
        },
    }  # fmt: skip


def findings(host: str, tally: Tally) -> list[Finding]:
    """What is to be said of a link after the watch."""
    subject = {"host": host, "link": tally.link}
    found = []
    for what, counters in tally.growth.items():
        words, status, remedy = _JUDGED[what]
        if counters:
            amounts = ", ".join(f"{name} by {amount}" for name, amount in counters.items())
            message = f"{tally.link}: {words}: {amounts}"
            evidence = {"source": tally.source, "grown": dict(counters), "packets": _packets(tally)}
            status = Status.INFO if tally.kind in _ORDINARY else status
            found.append(Finding(f"monitor.{what}", status, message, subject, remedy, evidence))
    if not tally.present and (tally.limit or tally.kind not in ("nic", *_ORDINARY)):
        remedy = "see in the kernel's log (dmesg) why the device or its driver has gone"
        evidence = {"source": tally.source}
        found.append(Finding("monitor.vanished", Status.WARN, f"{tally.link} has vanished", subject, remedy, evidence))
    return found


def _packets(tally: Tally) -> dict[str, int | None]:
    return {way: tally.sum.get(f"{way}_packets") for way in DIRECTIONS}


def silent(host: str, watch: Watch) -> Iterator[Finding]:
    """Tools that hung, which is worth knowing, and what others would not say; each tool and each reason once."""
    told = set()
    for scope, look in watch.looks.items():
        late = look.state is State.LATE
        about = (look.question or scope).split()[0] if late else look.reason
        if about in told or not (late or look.state in (State.REFUSED, State.FAILED)):
            continue
        told.add(about)
        yield Finding(
            "monitor.late" if late else "monitor.silent",
            Status.WARN if late else Status.SKIP,
            f"{scope}: {look.reason}",
            {"host": host},
            "a tool that hangs is a sign of a driver that does: see the kernel's log (dmesg)" if late else None,
            {"question": look.question},
        )
