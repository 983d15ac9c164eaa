"""Rules about the clock, from what chronyc and timedatectl print to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def clock(tracking: str | None = None, show: str | None = None, source: str | None = None) -> dict[str, Any]:
    told = {"chronyc tracking": tracking, "timedatectl show": show}
    commands = {line: text for line, text in told.items() if text is not None}
    return facts_of(commands, {SOURCE: f"{source}\n"} if source else None, sections=("clock",))


def tracking(offset: str, leap: str = "Normal") -> str:
    return f"Stratum         : 3\nSystem time     : {offset} of NTP time\nLeap status     : {leap}\n"


def test_a_clock_without_a_reference_fails_however_small_its_offset() -> None:
    facts = clock(tracking("0.000000002 seconds fast", "Not synchronised"))
    (finding,) = ruled("clock.not_synchronised", facts)
    assert (finding.status, finding.evidence["line"]) == (Status.FAIL, "Leap status     : Not synchronised")
    assert ruled("clock.offset", facts) == []


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (clock(tracking("0.001 seconds slow")), [Status.PASS]),
        (clock(tracking("0.001 seconds slow", "Insert second")), [Status.PASS]),
        (clock(show="NTP=yes\nNTPSynchronized=no\n"), [Status.FAIL]),
        (clock(show="NTP=no\nNTPSynchronized=yes\n"), [Status.PASS]),
        (clock("506 Cannot talk to daemon\n"), [Status.SKIP]),
        (clock("506 Cannot talk to daemon\n", "NTPSynchronized=yes\n"), [Status.PASS]),
        (clock(show="System has not been booted with systemd as init system (PID 1).\n"), [Status.SKIP]),
        (clock(source="tsc"), [Status.SKIP]),
        (clock(), []),
    ],
)
def test_synchronised(facts: dict[str, Any], found: list[Status]) -> None:
    assert statuses(ruled("clock.not_synchronised", facts)) == found


@pytest.mark.parametrize(
    ("offset", "found", "words"),
    [
        ("0.050 seconds slow", Status.PASS, ""),
        ("0.051 seconds slow", Status.WARN, "51 ms behind its reference"),
        ("2.5 seconds fast", Status.WARN, "2.5e+03 ms ahead of its reference"),
    ],
)
def test_offset(offset: str, found: Status, words: str) -> None:
    (finding,) = ruled("clock.offset", clock(tracking(offset)))
    assert finding.status is found
    assert words in finding.message


@pytest.mark.parametrize(
    ("source", "found"),
    [("hpet", [Status.WARN]), ("acpi_pm", [Status.WARN]), ("tsc", [Status.PASS]), ("arch_sys_counter", [Status.PASS]),
     ("kvm-clock", [Status.PASS]), (None, [])],
)  # fmt: skip
def test_counters(source: str | None, found: list[Status]) -> None:
    assert statuses(ruled("clock.slow_source", clock(source=source))) == found


def test_a_host_that_has_fallen_back_is_named() -> None:
    (finding,) = fleet(
        "clock.sources_differ", **{name: clock(source="hpet" if name == "b" else "tsc") for name in "abc"}
    )
    assert (finding.status, finding.subject) == (Status.INFO, {"host": "b"})


def apart(**seconds: float) -> list[tuple[Status, str]]:
    told = {
        host: {"clock": {"momentary": {"ahead_seconds": ahead, "ahead_error_seconds": 0.01}}}
        for host, ahead in seconds.items()
    }
    return [(found.status, found.subject.get("host", "")) for found in fleet("clock.apart", **told)]


def test_clocks_that_are_apart_are_named_by_how_far() -> None:
    assert apart(a=0.0, b=0.9, c=-0.9) == [(Status.PASS, "")]
    assert apart(a=0.0, b=0.0, c=1.5) == [(Status.WARN, "c")]
    assert apart(a=0.0, b=0.0, c=-31.0) == [(Status.FAIL, "c")]
    assert apart(a=0.0, b=1.005, c=0.0) == [(Status.PASS, "")]  # less than what is certain


def test_of_two_clocks_that_are_apart_none_is_the_wrong_one() -> None:
    assert apart(a=0.0, b=4.0) == [(Status.WARN, "a"), (Status.WARN, "b")]


def test_a_clock_that_follows_itself_is_a_remark() -> None:
    (finding,) = ruled("clock.not_synchronised", clock("Reference ID    : 7F7F0101 ()\n" + tracking("0 seconds fast")))
    assert (finding.status, finding.evidence["line"]) == (Status.INFO, "Reference ID    : 7F7F0101 ()")
