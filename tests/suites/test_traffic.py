"""Rates from counters, and what becomes of links."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.reading import State
from probes.traffic import Look, Sighting
from suites.traffic import Change, Event, Tally, Watch


def seen(time: float, link: str = "eth0", **more: Any) -> Sighting:
    return Sighting(link, "nic", time, "source", **more)


def counted(time: float, rx_bytes: int, **more: Any) -> Sighting:
    return seen(time, traffic={"rx_bytes": rx_bytes}, **more)


def watched(*sightings: Sighting) -> Tally:
    """One link, seen again and again."""
    watch = Watch()
    for sighting in sightings:
        list(watch.take(Look("all", (sighting,)), sighting.time))
    return watch.tallies[sightings[0].link]


def taken(watch: Watch, *looks: Look) -> list[Event]:
    return [event for time, look in enumerate(looks) for event in watch.take(look, float(time))]


def test_a_rate_is_of_the_time_between_the_two_readings() -> None:
    tally = watched(counted(10.0, 1000), counted(12.5, 6000))
    assert tally.now == {"rx_bytes": 2000.0}
    assert tally.sum == {"rx_bytes": 5000}
    assert tally.spreads["rx"].last == 2000.0
    assert tally.spreads["tx"].count == 0


def test_one_reading_is_no_rate() -> None:
    tally = watched(counted(10.0, 1 << 63))
    assert (tally.now, tally.sum, tally.resets) == ({}, {"rx_bytes": 0}, 0)


@pytest.mark.parametrize("before", [(1 << 32) - 10, (1 << 64) - 10])
def test_a_counter_that_came_round_or_was_reset_has_no_rate(before: int) -> None:
    tally = watched(counted(1.0, before - 100), counted(2.0, before), counted(3.0, 90))
    assert (tally.now, tally.sum, tally.resets) == ({}, {"rx_bytes": 100}, 1)
    assert tally.spreads["rx"].count == 1
    again = watched(counted(1.0, before), counted(2.0, 90), counted(3.0, 100))
    assert (again.now, again.sum) == ({"rx_bytes": 10.0}, {"rx_bytes": 10})


def test_no_time_between_two_readings_is_no_rate() -> None:
    assert watched(counted(1.0, 5), counted(1.0, 50)).now == {}


def test_another_interface_of_the_same_name_is_not_compared() -> None:
    tally = watched(counted(1.0, 10, incarnation=4), counted(2.0, 10**15, incarnation=9))
    assert (tally.now, tally.sum, tally.resets) == ({}, {"rx_bytes": 0}, 1)


def test_rates_that_the_source_measured_are_taken_as_they_are() -> None:
    tally = watched(seen(1.0, rates={"rx_bytes": 5.0}, limit=10.0), seen(2.0, rates={"rx_bytes": 7.0}))
    assert (tally.now, tally.sum, tally.share) == ({"rx_bytes": 7.0}, {}, 0.7)
    assert (tally.spreads["rx"].least, tally.spreads["rx"].most) == (5.0, 7.0)


def test_the_share_is_of_the_busier_direction() -> None:
    at = {1.0: {"rx_bytes": 0, "tx_bytes": 0}, 2.0: {"rx_bytes": 10, "tx_bytes": 30}}
    assert watched(*(seen(time, traffic=traffic, limit=100.0) for time, traffic in at.items())).share == 0.3
    assert watched(*(seen(time, traffic=traffic) for time, traffic in at.items())).share is None


def test_errors_count_from_the_first_reading_on() -> None:
    tally = watched(*(seen(1.0 + n, errors={"crc": 7 + n, "other": 3}) for n in range(3)))
    assert tally.growth == {"errors": {"crc": 2}}
    shrunk = watched(seen(1.0, drops={"d": 7}), seen(2.0, drops={"d": 1}), seen(3.0, drops={"d": 4}))
    assert (shrunk.growth, shrunk.resets) == ({"drops": {"d": 3}}, 1)


def test_two_sources_of_one_link_have_their_own_times() -> None:
    watch = Watch()
    for time in (1.0, 2.0, 4.0):
        list(watch.take(Look("bytes", (counted(time, int(time * 100)),)), time))
        if time != 2.0:
            list(watch.take(Look("errors", (seen(time, traffic={"rx_packets": int(time * 3)}),)), time))
    assert watch.tallies["eth0"].now == {"rx_bytes": 100.0, "rx_packets": 3.0}


def test_links_appear_and_vanish() -> None:
    watch = Watch()
    both = Look("all", (counted(1.0, 10, link="a"), counted(1.0, 10, link="b")))
    one = Look("all", (counted(2.0, 20, link="a"),))
    back = Look("all", (counted(3.0, 30, link="a"), counted(3.0, 10**12, link="b")))
    assert taken(watch, both, one, back) == [Event(1.0, Change.VANISHED, "b"), Event(3.0, Change.APPEARED, "b")]
    assert watch.tallies["b"].present
    # What it counted while nobody looked is no traffic of this watch.
    assert (watch.tallies["b"].now, watch.tallies["b"].sum) == ({}, {"rx_bytes": 0})


def test_another_one_under_the_name_of_one_that_vanished_has_appeared_and_that_is_all() -> None:
    watch = Watch()
    first = Look("all", (counted(1.0, 10, link="a", incarnation=3),))
    other = Look("all", (counted(3.0, 5, link="a", incarnation=4),))
    assert [event.change for event in taken(watch, first, Look("all", ()), other)] == [Change.VANISHED, Change.APPEARED]
    assert watch.tallies["a"].resets == 0


def test_a_link_that_one_source_lost_and_another_has_is_still_there() -> None:
    watch = Watch()
    with_it, without = Look("one", (counted(1.0, 1),)), Look("one", ())
    assert taken(watch, with_it, Look("two", (counted(1.0, 1),)), without) == []
    assert watch.tallies["eth0"].present


def test_a_look_that_failed_takes_no_link_away_and_no_rate_stays() -> None:
    watch = Watch()
    events = taken(
        watch, Look("all", (counted(1.0, 1),)), Look("all", (counted(2.0, 9),)), Look("all", (), State.LATE, "hung")
    )
    assert events == []
    tally = watch.tallies["eth0"]
    assert (tally.present, tally.now, tally.sum) == (True, {}, {"rx_bytes": 8})
    assert watch.looks["all"].reason == "hung"
    assert watch.late(None) == {"eth0"}


def test_while_a_tool_does_not_answer_its_links_are_late() -> None:
    watch = Watch()
    npu = Sighting("npu0/hccs1", "hccs", 1.0, "npu-smi info -t hccs-bw -i 0", rates={"rx_bytes": 1.0})
    assert taken(watch, Look("npu", (npu,)), Look("nics", (counted(1.0, 1),))) == []
    assert watch.late("npu-smi info -t hccs-bw -i 3") == {"npu0/hccs1"}
    assert watch.late("hccn_tool -i 3 -stat -g") == set()
    assert watch.late(None) == set()


def test_of_links_that_come_and_go_not_all_are_kept() -> None:
    watch = Watch()
    for n in range(1500):
        list(watch.take(Look("all", (counted(float(n), 1, link=f"veth{n}"), counted(float(n), n))), float(n)))
    assert len(watch.tallies) == 1002
    assert watch.forgotten == 499
    assert watch.tallies["eth0"].present


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, (1 << 64) - 1)), min_size=1, max_size=20))
def test_no_rate_is_negative_or_more_than_was_counted(readings: list[tuple[float, int]]) -> None:
    times = sorted({time for time, _ in readings})
    tally = watched(*(counted(time, value) for time, (_, value) in zip(times, readings, strict=False)))
    assert all(rate >= 0 for rate in tally.now.values())
    assert tally.sum["rx_bytes"] <= sum(value for _, value in readings)
