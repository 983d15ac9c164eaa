"""The clock, from what chronyc and timedatectl print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import clock
from probes.reading import State
from probes.visit import Visit
from tests.tree_host import TreeHost

TRACKING = """\
Reference ID    : C0000201 (192.0.2.1)
Stratum         : 4
Ref time (UTC)  : Tue Mar 05 11:22:33 2024
System time     : 0.000120000 seconds slow of NTP time
Last offset     : -0.000003211 seconds
RMS offset      : 0.000011020 seconds
Frequency       : 12.345 ppm fast
Leap status     : Normal
"""
UNSYNCHRONISED = TRACKING.replace("Normal", "Not synchronised").replace("Stratum         : 4", "Stratum         : 0")


def test_what_chrony_tracks(tree: TreeHost) -> None:
    tree.tools = {"chronyc tracking": TRACKING, "timedatectl show": "NTPSynchronized=no\n"}
    tree.write({
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc", "/sys/class/ptp/ptp0/x": "",
    })  # fmt: skip
    found = clock.read(Visit(tree))
    assert (found.synchronised, found.source, found.leap_status) == (True, "chronyc tracking", "Normal")
    assert (found.stratum, found.momentary_offset_seconds) == (4, -0.00012)
    assert (found.clocksource, found.hardware_clocks) == ("tsc", ("ptp0",))


def test_an_offset_from_no_reference_means_nothing(tree: TreeHost) -> None:
    tree.tools = {"chronyc tracking": UNSYNCHRONISED}
    found = clock.read(Visit(tree))
    assert (found.synchronised, found.stratum, found.momentary_offset_seconds) == (False, 0, None)


def test_a_daemon_that_does_not_answer_leaves_it_to_timedatectl(tree: TreeHost) -> None:
    tree.tools = {"chronyc tracking": "506 Cannot talk to daemon\n", "timedatectl show": "NTPSynchronized=yes\n"}
    found = clock.read(Visit(tree))
    assert (found.synchronised, found.source) == (True, "timedatectl show")
    assert found.readings["tracking"].state is State.REFUSED


def test_an_older_timedatectl_is_asked_in_its_own_way(tree: TreeHost) -> None:
    tree.tools = {"timedatectl show": "Unknown operation show.\n", "timedatectl": "  NTP synchronized: no\n"}
    assert clock.read(Visit(tree)).synchronised is False


def test_without_systemd_it_is_not_asked_again(tree: TreeHost) -> None:
    tree.tools = {"timedatectl show": "System has not been booted with systemd as init system (PID 1).\n"}
    asked: list[str] = []
    assert clock.read(Visit(tree, tell=asked.append)).synchronised is None
    assert asked == ["chronyc tracking", "timedatectl show"]


def test_unknown_without_tools(tree: TreeHost) -> None:
    tree.tools = {}
    assert clock.read(Visit(tree)) == clock.ClockFacts(None)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Timezone=UTC\nLocalRTC=no\nNTP=yes\nNTPSynchronized=no\n", {"service": True, "synchronised": False}),
        ("System clock synchronized: yes\n   NTP service: inactive\n", {"synchronised": True, "service": False}),
        ("\ufeffNTPSynchronized=yes\r\n", {"synchronised": True}),
        ("NTPSynchronized=maybe\n", {}),
        ("Local time: Tue 2024-03-05 11:22:33 UTC\n", {}),
    ],
)
def test_timedatectl(text: str, values: dict[str, bool]) -> None:
    assert clock.parse_timedatectl(text).values == values


@given(st.text(), st.integers(0, len(TRACKING)))
def test_no_text_makes_it_raise(text: str, cut: int) -> None:
    for each in (text, TRACKING[:cut] + text):
        clock.parse_tracking(each)
        clock.parse_timedatectl(each)


def test_a_clock_that_follows_itself_is_not_synchronised(tree: TreeHost) -> None:
    tree.tools = {"chronyc tracking": TRACKING.replace("C0000201 (192.0.2.1)", "7F7F0101 ()")}
    found = clock.read(Visit(tree))
    assert (found.synchronised, found.momentary_offset_seconds) == (False, None)
