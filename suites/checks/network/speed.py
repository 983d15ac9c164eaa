"""Rules about the speed of network cards against their like on the host, against what they can do, and about FEC.

May import: network_ports, readings, rule, report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from suites.checks.network.ports import RATE, Interface, gigabits, interfaces, is_physical, of_rdma
from suites.checks.readings import evidence
from suites.checks.rule import Case, Facts, Judged, Rule, Threshold, broken, ok
from suites.report import Status

_SPEED = "speed_bytes_per_second"
_PEERS = 3
"""With fewer there is no telling what is usual."""


def _able(facts: Facts) -> list[tuple[Interface, int]]:
    """Interfaces with a link whose `ethtool` says what they can do, and that."""
    ports = of_rdma(facts, RATE)
    told = ((each, _told(each, "link").get("supported_bytes_per_second")) for each in interfaces(facts))
    return [
        (each, most)
        for each, most in told
        if most and each[_SPEED] and is_physical(each) and each["carrier"] is not False and each["name"] not in ports
    ]


def _told(each: Interface, query: str) -> dict[str, Any]:
    return dict((each["readings"].get(query) or {}).get("values") or {})


def _below_peers(case: Case) -> Iterator[Judged]:
    def kind(one: tuple[Interface, int]) -> tuple[str, int]:
        return one[0]["driver"] or "", one[1]

    for _, group in groupby(sorted(_able(case.facts), key=kind), key=kind):
        alike = [each for each, _ in group]
        usual, times = Counter(each[_SPEED] for each in alike).most_common(1)[0]
        if len(alike) < _PEERS or 2 * times <= len(alike):
            continue
        for each in alike:
            if each[_SPEED] < usual:
                like = f"{gigabits(usual)} on {times} of {len(alike)} like it"
                message = f"{each['name']} runs at {gigabits(each[_SPEED])}, and {like} on this host"
                yield broken(message, evidence(each["readings"]["link"], _SPEED, usual), each["name"])
            else:
                yield ok(each["name"])


def _below_supported(case: Case) -> Iterator[Judged]:
    for each, most in _able(case.facts):
        if each[_SPEED] < case.limits["share"] * most:
            message = f"{each['name']} runs at {gigabits(each[_SPEED])} and can do {gigabits(most)}"
            yield broken(message, evidence(each["readings"]["link"], _SPEED, most), each["name"])
        else:
            yield ok(each["name"])


def _without_fec(case: Case) -> Iterator[Judged]:
    least = case.limits["least"] * 1e9 / 8
    for each in interfaces(case.facts):
        mode = _told(each, "fec").get("active")
        if mode is None or (each[_SPEED] or least) < least:
            continue
        if mode.lower() in ("off", "none"):
            message = f"{each['name']} corrects no errors on its link: FEC is off"
            yield broken(message, evidence(each["readings"]["fec"], "active", "RS"), each["name"])
        else:
            yield ok(each["name"])


_LOOK = "see the cable and module (`ethtool -m INTERFACE`), and what the switch port offers: `ethtool INTERFACE`"

RULES = (
    Rule(
        name="network.speed_below_peers",
        summary="network cards of one kind run at one speed on a host",
        why="A port that has come up slower than its like has a bad cable or module, or a wrong switch setting.",
        remedy=_LOOK,
        status=Status.WARN,
        needs=("network",),
        judge=_below_peers,
    ),
    Rule(
        name="network.speed_below_supported",
        summary="network cards run at no small part of the speed that they can do",
        why="It may be how the network is built, or a port that has fallen back to what its module or cable bears.",
        remedy=_LOOK,
        status=Status.INFO,
        needs=("network",),
        judge=_below_supported,
        thresholds={"share": Threshold(0.5, "of the speed", "opsdist: slower switches with half of it are usual")},
    ),
    Rule(
        name="network.fec_off",
        summary="fast links correct errors (FEC)",
        why="Links of 100 Gb/s and more count on it, but for some long optics: without it packets are lost.",
        remedy="`ethtool --set-fec INTERFACE encoding rs`, and the switch port alike, unless the module needs none",
        status=Status.INFO,
        needs=("network",),
        judge=_without_fec,
        thresholds={"least": Threshold(100, "Gb/s", "IEEE 802.3bj and 802.3cd ask for RS-FEC from there on")},
    ),
)
