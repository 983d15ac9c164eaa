"""When links are looked at, and what the record says of a watch. No test here waits: the clock is told the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from probes.reading import State
from probes.traffic import Look, Sighting
from suites.asker import Asker
from suites.monitor import Monitor
from tests.schema import validate


class Clock:
    """Stands, unless somebody waits, or looking takes time."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time

    def stays(self, seconds: float) -> bool:
        self.time += seconds
        return True


class Links:
    """A source that tells whatever it is given for each look, one after the other; the last one again and again."""

    def __init__(self, clock: Clock, *looks: Callable[[float], Look], takes: float = 0.0) -> None:
        self.clock, self.looks, self.takes, self.times = clock, list(looks), takes, list[float]()

    def look(self) -> Look:
        self.times.append(self.clock())
        found = (self.looks.pop(0) if len(self.looks) > 1 else self.looks[0])(self.clock())
        self.clock.time += self.takes
        return found


def nic(time: float, **more: Any) -> Look:
    return Look("interfaces", (Sighting("eth0", "nic", time, "/sys/x", **more),))


def steady(time: float) -> Look:
    """A thousand bytes a second."""
    return nic(time, traffic={"rx_bytes": round(time * 1000), "tx_bytes": 0}, limit=4000.0)


def monitor(clock: Clock, source: Links, interval: float = 1.0, duration: float | None = None) -> Monitor:
    asker = Asker(lambda: None, clock)
    return Monitor(["opsdist", "monitor"], interval, duration, "host", [source], asker, clock)


def record(watching: Monitor, code: int = 0) -> dict[str, Any]:
    found = watching.report(code).record()
    validate(found)
    return found


def test_samples_at_the_beginning_each_interval_and_at_the_end() -> None:
    clock = Clock()
    links = Links(clock, steady)
    samples = list(monitor(clock, links, duration=3.5).samples(clock.stays))
    for sample in samples:
        validate(sample)
    assert [sample["seconds"] for sample in samples] == [0.0, 1.0, 2.0, 3.0, 3.5]
    assert [sample["number"] for sample in samples] == [0, 1, 2, 3, 4]
    rates = [sample["links"][0]["rx_bytes_per_second"] for sample in samples]
    assert rates == [None, 1000.0, 1000.0, 1000.0, 1000.0]
    assert [sample["links"][0]["share"] for sample in samples[1:]] == [0.25] * 4


def test_a_whole_number_of_intervals_has_no_sample_twice() -> None:
    clock = Clock()
    links = Links(clock, steady)
    assert len(list(monitor(clock, links, interval=0.1, duration=1.0).samples(clock.stays))) == 11


def test_looking_takes_time_and_the_samples_do_not_drift() -> None:
    clock = Clock()
    links = Links(clock, steady, takes=0.3)
    list(monitor(clock, links, duration=4.0).samples(clock.stays))
    assert links.times == [1000.0, 1001.0, 1002.0, 1003.0, 1004.0]


def test_what_takes_longer_than_the_interval_leaves_samples_out() -> None:
    clock = Clock()
    links = Links(clock, steady, takes=2.5)
    list(monitor(clock, links, duration=7.0).samples(clock.stays))
    assert links.times == [1000.0, 1003.0, 1006.0, 1008.5]


def test_it_ends_when_nobody_stays() -> None:
    clock = Clock()
    watching = monitor(clock, Links(clock, steady))
    assert [sample["number"] for sample in watching.samples(lambda seconds: False)] == [0]
    assert record(watching)["samples"] == 0


def test_the_record_of_a_watch() -> None:
    clock = Clock()
    watching = monitor(clock, Links(clock, steady), duration=4.0)
    list(watching.samples(clock.stays))
    found = record(watching)
    assert (found["kind"], found["samples"], found["seconds"], found["interval"]) == ("monitor", 4, 4.0, 1.0)
    (link,) = found["links"]
    assert link["rx"] == {
        "bytes": 4000,
        "packets": None,
        "bytes_per_second": {"n": 4, "min": 1000.0, "median": 1000.0, "max": 1000.0, "last": 1000.0},
    }
    assert (link["limit_bytes_per_second"], link["errors"], found["findings"]) == (4000.0, None, [])


def watch(*looks: Callable[[float], Look]) -> dict[str, Any]:
    """The record after each of these was seen once."""
    clock = Clock()
    watching = monitor(clock, Links(clock, *looks), duration=len(looks) - 1.0)
    list(watching.samples(clock.stays))
    return record(watching)


def link(kind: str, **more: Any) -> Callable[[float], Look]:
    return lambda time: Look("all", (Sighting("l", kind, time, "s", **more),))


@pytest.mark.parametrize(
    ("kind", "what", "status"),
    [
        ("rdma", "errors", "warn"),
        ("nic", "errors", "warn"),
        ("rdma", "retransmits", "warn"),
        ("tcp", "retransmits", "info"),
        ("nic", "drops", "info"),
    ],
)
def test_what_grew_is_a_finding(kind: str, what: str, status: str) -> None:
    (finding,) = watch(link(kind, **{what: {"a": 5, "b": 1}}), link(kind, **{what: {"a": 9, "b": 1}}))["findings"]
    assert (finding["check"], finding["status"]) == (f"monitor.{what}", status)
    assert finding["subject"] == {"host": "host", "link": "l"}
    assert "a by 4" in finding["message"]
    assert finding["evidence"]["grown"] == {"a": 4}
    assert finding["remedy"]


def test_errors_of_before_the_watch_are_none() -> None:
    assert watch(link("rdma", errors={"a": 5}), link("rdma", errors={"a": 5}))["findings"] == []


@pytest.mark.parametrize(
    ("kind", "limit", "found"),
    [("nvlink", None, ["monitor.vanished"]), ("nic", 1e9, ["monitor.vanished"]), ("nic", None, [])],
)
def test_a_link_that_vanished_is_a_finding_where_a_device_stood_behind_it(
    kind: str, limit: float | None, found: list[str]
) -> None:
    result = watch(link(kind, limit=limit), lambda time: Look("all", ()))
    assert [finding["check"] for finding in result["findings"]] == found
    (event,) = result["events"]
    assert (event["change"], event["link"]) == ("vanished", "l")
    assert result["links"][0]["present"] is False


def test_events_are_kept_up_to_a_number() -> None:
    def flapping(time: float) -> Look:
        return Look("all", (Sighting("a", "nic", time, "s"),) if int(time) % 2 else ())

    result = watch(*[flapping] * 301)
    assert (len(result["events"]), result["events_left_out"]) == (200, 100)


def silent(scope: str, state: State, reason: str, question: str) -> Look:
    return Look(scope, (), state, reason, question)


def test_a_tool_that_hung_is_a_finding_once() -> None:
    clock = Clock()
    watching = monitor(clock, Links(clock, steady), duration=1.0)
    for look in (
        silent("npu0 stat", State.LATE, "not asked: `hccn_tool -x` had not ended", "hccn_tool -i 0 -stat -g"),
        silent("npu1 stat", State.LATE, "no end after 15 s", "hccn_tool -i 1 -stat -g"),
        silent("npu0 hccs-bw", State.REFUSED, "no permission", "npu-smi -i 0"),
        silent("npu1 hccs-bw", State.REFUSED, "no permission", "npu-smi -i 1"),
        silent("nvlink -e", State.ABSENT, "there is none", "nvidia-smi nvlink -e"),
    ):
        list(watching.watch.take(look, 1.0))
    found = record(watching)
    assert [(finding["check"], finding["status"], finding["message"]) for finding in found["findings"]] == [
        ("monitor.late", "warn", "npu0 stat: not asked: `hccn_tool -x` had not ended"),
        ("monitor.silent", "skip", "npu0 hccs-bw: no permission"),
    ]
    assert [source["state"] for source in found["sources"]] == ["late", "late", "refused", "refused", "absent"]


def test_what_a_tool_told_before_it_hung_is_not_shown_as_what_is_now() -> None:
    clock = Clock()
    watching = monitor(clock, Links(clock, steady), duration=9.0)
    told = Sighting("npu0/hccs1", "hccs", 1.0, "npu-smi info -t hccs-bw", rates={"rx_bytes": 5.0}, limit=10.0)
    list(watching.watch.take(Look("npu0 hccs-bw", (told,)), 1.0))
    watching.asker.hear("npu-smi info -t hccs-bw -i 1")
    first, *_, last = watching.samples(clock.stays)
    validate(last)

    def shown(sample: dict[str, Any]) -> tuple[object, ...]:
        (found,) = [link for link in sample["links"] if link["kind"] == "hccs"]
        return sample["late"], found["late"], found["rx_bytes_per_second"], found["share"]

    assert shown(first) == (None, False, 5.0, 0.5)
    assert shown(last) == ("npu-smi info -t hccs-bw -i 1", True, None, None)
