"""Whether neighbouring hosts exchange what the links between them carry. Pure. May import: reach's link, report.

What neighbours reach is the ceiling of a run across hosts. A ceiling far below the link makes every efficiency look
good, and one above it was not measured over that link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suites.launch.reach import Candidate
from suites.report import IMPLAUSIBLE, Finding, Status

LEAST_SHARE = 0.5
"""Of the link: below it something other than the wire is the bottleneck."""

_TOO_SLOW = (
    "one connection may not fill the link: more ranks a host; then the MTU (`ping -M do -s 8972`), other traffic "
    "(`sar -n DEV 1`), errors and drops (`ip -s link`, `ethtool -S`), the cores that take the interrupts, the switch"
)
_TOO_FAST = (
    "look by which interface the hosts reach each other (`ip route get ADDRESS`), whether they are on one machine, and "
    "at `ethtool INTERFACE`: until then take no efficiency of this run for true"
)


def judge(reached: Sequence[float], links: Mapping[str, Candidate]) -> list[Finding]:
    """`reached` is what each host sent to the next one, in bytes/s, once for each time it was measured; `links` what
    each host is reached by. Nothing where nothing was measured."""
    if not reached or not links:
        return []
    best = max(reached)
    evidence = {"neighbour_gb_s": best / 1e9, "link_gb_s": None, "share": None}
    figure = f"neighbouring hosts send each other {best / 1e9:.2f} GB/s"
    rates = {host: link.rate for host, link in links.items() if link.rate}
    if not rates:
        where = ", ".join(sorted({link.interface for link in links.values()}))
        message = f"{figure}; the rate of the links is unknown: no device says it for {where}"
        return [Finding("perf.link", Status.INFO, message, evidence=evidence)]
    slowest = min(rates, key=lambda host: rates[host])
    name, rate = links[slowest].interface, rates[slowest]
    share = best / rate
    evidence |= {"link_gb_s": rate / 1e9, "share": share}
    which = "the link" if len(rates) == len(links) else "the slowest link that is known"
    message = f"{figure}, {share:.0%} of {which} ({slowest} {name}, {rate * 8 / 1e9:g} Gb/s)"
    status, remedy = Status.PASS, None
    if share < LEAST_SHARE:
        status, remedy = Status.WARN, _TOO_SLOW
    elif share > IMPLAUSIBLE:
        message += ", which it cannot carry: either it has another rate or the data took another way"
        status, remedy = Status.WARN, _TOO_FAST
    subject = {"host": slowest, "device": name}
    return [Finding("perf.link", status, message, subject=subject, remedy=remedy, evidence=evidence)]
