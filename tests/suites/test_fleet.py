"""In what the hosts of a fleet differ, from facts alone."""

from __future__ import annotations

from itertools import count
from typing import Any

from suites.fleet import differences


def hosts(*facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": f"n{number}", "facts": each} for number, each in enumerate(facts, 1)]


def test_equal_hosts_differ_in_nothing() -> None:
    assert differences(hosts(*[{"cpu": {"model": "x", "caches": [{"level": 1}]}}] * 3)) == []
    assert differences([]) == []


def test_the_majority_and_who_has_something_else() -> None:
    found = differences(hosts(*({"software": {"kernel": kernel, "python": "3.11"}} for kernel in ("a", "a", "b", "a"))))
    assert found == [{"key": "software.kernel", "majority": "a", "outliers": {"n3": "b"}}]


def test_without_a_majority_all_are_named() -> None:
    found = differences(hosts({"limits": {"nofile": 1}}, {"limits": {"nofile": 2}}))
    assert found == [{"key": "limits.nofile", "majority": None, "outliers": {"n1": 1, "n2": 2}}]


def test_what_is_missing_or_unknown_is_a_difference() -> None:
    found = differences(hosts({"a": {"x": 1, "y": None}}, {"a": {"x": 1}}, {"a": {"x": 1}}, {"a": {"y": 7}}))
    assert found == [
        {"key": "a.x", "majority": 1, "outliers": {"n4": None}},
        {"key": "a.y", "majority": None, "outliers": {"n4": 7}},
    ]


def test_elements_with_names_are_compared_by_name() -> None:
    def facts(**mtu: int) -> dict[str, Any]:
        return {"network": {"interfaces": [{"name": name, "mtu": value} for name, value in mtu.items()]}}

    found = differences(hosts(facts(eth0=1500, lo=9), facts(lo=9, eth0=1500), facts(eth0=1400, lo=9)))
    assert found == [{"key": "network.interfaces.eth0.mtu", "majority": 1500, "outliers": {"n3": 1400}}]


def test_elements_with_ids_are_compared_by_id() -> None:
    def facts(*present: bool) -> dict[str, Any]:
        last = next(hosts_seen) * 10
        devices = [
            {"id": number, "present": each, "address": f"192.0.2.{last + number}"}
            for number, each in enumerate(present)
        ]
        return {"accelerators": {"ascend": {"devices": devices}}}

    hosts_seen = count(1)
    found = differences(hosts(facts(True, True), facts(True, False), facts(True, True)))
    assert found == [{"key": "accelerators.ascend.devices.1.present", "majority": True, "outliers": {"n2": False}}]


def test_what_every_host_has_for_itself_is_no_difference() -> None:
    found = differences(hosts(*({"memory": {"available_bytes": number, "total_bytes": 7}} for number in range(3))))
    assert found == []
