"""Rules about the speed and the FEC of network cards, from what `ethtool` prints to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

MODES = "\tSupported link modes:   25000baseCR/Full\n\t                        200000baseSR4/Full\n"


def cards(*speeds: int, modes: str = MODES, fec: str = "") -> dict[str, Any]:
    told = {
        f"ethtool ens{number}": f"Settings for ens{number}:\n{modes}\tSpeed: {speed}Mb/s\n\tLink detected: yes\n"
        for number, speed in enumerate(speeds)
    }
    return facts_of({**told, **({"ethtool --show-fec ens0": fec} if fec else {})}, sections=("network",))


def test_a_card_that_is_slower_than_its_like() -> None:
    found = ruled("network.speed_below_peers", cards(200000, 200000, 100000, 200000))
    (finding,) = [each for each in found if each.status is not Status.PASS]
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "ens2")
    assert finding.message == "ens2 runs at 100 Gb/s, and 200 Gb/s on 3 of 4 like it on this host"
    assert finding.evidence["line"] == "Speed: 100000Mb/s"


@pytest.mark.parametrize("speeds", [(200000, 100000), (200000, 200000, 100000, 100000)])
def test_without_a_majority_of_several_nobody_is_slow(speeds: tuple[int, ...]) -> None:
    assert ruled("network.speed_below_peers", cards(*speeds)) == []


def test_what_the_rules_of_rdma_tell_is_not_told_twice() -> None:
    port = {"devices": [{"ports": [{"netdev": "ens2", "rate_bits_per_second": 10**11}]}]}
    facts = cards(200000, 200000, 100000, 200000) | {"rdma": port}
    assert set(statuses(ruled("network.speed_below_peers", facts))) == {Status.PASS}


@pytest.mark.parametrize(("speed", "status"), [(25000, Status.INFO), (100000, Status.PASS), (200000, Status.PASS)])
def test_a_small_part_of_what_a_card_can_do(speed: int, status: Status) -> None:
    assert statuses(ruled("network.speed_below_supported", cards(speed))) == [status]


@pytest.mark.parametrize(
    ("speed", "mode", "found"),
    [(200000, "Off", [Status.INFO]), (200000, "RS", [Status.PASS]), (25000, "Off", [])],
)
def test_a_fast_link_without_fec(speed: int, mode: str, found: list[Status]) -> None:
    facts = cards(speed, fec=f"FEC parameters for ens0:\nActive FEC encoding: {mode}\n")
    assert statuses(ruled("network.fec_off", facts)) == found
