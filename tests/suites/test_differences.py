"""In what hosts differ, from facts alone."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.differences import GONE, THERE, changed, differences, steady


def hosts(*facts: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(f"n{number}", each) for number, each in enumerate(facts, 1)]


def test_equal_hosts_differ_in_nothing() -> None:
    assert differences(hosts(*[{"cpu": {"model": "x", "caches": [{"level": 1}]}}] * 3)) == []
    assert differences([]) == []


@pytest.mark.parametrize("kernels", ["aaba", "baaa", "aaab"])
def test_the_majority_and_who_has_something_else(kernels: str) -> None:
    found = differences(hosts(*({"software": {"kernel": kernel, "python": "3.11"}} for kernel in kernels)))
    odd = f"n{kernels.index('b') + 1}"
    assert found == [{"key": "software.kernel", "majority": "a", "outliers": {odd: "b"}}]


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


def test_what_one_lacks_altogether_is_one_difference() -> None:
    def facts(*cards: int) -> dict[str, Any]:
        return {
            "devices": [{"id": card, "name": "x", "readings": {"link": {"values": {"status": "UP"}}}} for card in cards]
        }

    found = differences(hosts(facts(0, 1), facts(0), facts(0, 1)))
    assert found == [{"key": "devices.1", "majority": THERE, "outliers": {"n2": None}}]
    assert differences(hosts(facts(0), facts(), facts(0))) == [
        {"key": "devices.0", "majority": THERE, "outliers": {"n2": None}}
    ]


def test_what_one_lacks_is_compared_among_the_others() -> None:
    def facts(*mtu: int) -> dict[str, Any]:
        return {"ports": [{"name": "ib0", "mtu": each} for each in mtu]}

    found = differences(hosts(facts(), facts(9000), facts(1500), facts(9000)))
    assert found == [
        {"key": "ports.ib0", "majority": THERE, "outliers": {"n1": None}},
        {"key": "ports.ib0.mtu", "majority": 9000, "outliers": {"n3": 1500}},
    ]


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


def test_what_every_host_has_for_itself_or_for_a_moment_is_no_difference() -> None:
    own = [
        "memory.available_bytes",
        "network.addresses",
        "x.counters",
        "x.momentary",
        "x.lines",
        "x.reason",
        "x.source",
    ]

    def facts(value: int) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for path in own:
            part, name = path.split(".")
            tree.setdefault(part, {})[name] = value
        return tree

    assert differences(hosts(facts(1), facts(2))) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "id", "name"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_any_facts(before: Any, after: Any) -> None:
    """What differs is what the two sides have, by the key under which each has it."""
    assert list(changed(before, before)) == []
    kept, other = dict(steady(before)), dict(steady(after))
    for key, first, second in changed(before, after):
        assert first != second
        assert first in (None, THERE, GONE) or kept[key] == first
        assert second in (None, THERE, GONE) or other[key] == second


def reading(state: str, **values: object) -> dict[str, Any]:
    return {"source": "tool", "state": state, "values": values}


def test_what_a_tool_would_not_tell_is_no_difference() -> None:
    told, other, refused = reading("told", mtu=1500), reading("told", mtu=4200), reading("refused")
    assert differences(hosts({"mtu": told}, {"mtu": refused}, {"mtu": told}, {})) == []
    assert list(changed({"mtu": told}, {"mtu": refused})) == []
    assert list(changed({"mtu": refused}, {"mtu": told})) == []
    assert list(changed({"mtu": told}, {})) == []
    (found,) = differences(hosts({"mtu": told}, {"mtu": refused}, {"mtu": told}, {"mtu": other}))
    assert found["key"] == "mtu.values.mtu"
    assert list(changed({"mtu": told}, {"mtu": other})) == [("mtu.values.mtu", 1500, 4200)]


def test_what_is_gone_is_not_unknown() -> None:
    device = {"id": 6, "mtu": 1500}
    assert list(changed({"devices": [device, {**device, "id": 7}]}, {"devices": [device]})) == [
        ("devices.7", THERE, GONE)
    ]
    assert list(changed({"devices": [device]}, {"devices": [{**device, "mtu": None}]})) == [
        ("devices.6.mtu", 1500, None)
    ]
