"""How NCCL and HCCL name interfaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.checks.environment.interface_choice import Interface, bridged, is_down, loopback, parse, usable

NAMES = ("docker0", "eth0", "eth1", "ib0", "lo")


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("eth", ("eth0", "eth1")),
        ("=eth", ()),
        ("=eth0,ib0", ("eth0", "ib0")),
        ("^docker", ("eth0", "eth1", "ib0", "lo")),
        ("^docker,lo", ("eth0", "eth1", "ib0")),
        ("^=eth0,lo", ("docker0", "eth1", "ib0")),
    ],
)
def test_what_is_taken(text: str, taken: tuple[str, ...]) -> None:
    choice = parse(text)
    assert choice is not None
    assert tuple(name for name in NAMES if choice.takes(name)) == taken


@pytest.mark.parametrize("text", ["", "eth0, eth1", "eth0,", "eth0,=eth1", "^", "=^eth0", "==eth0", "^^eth"])
def test_what_is_taken_as_a_part_of_a_name(text: str) -> None:
    assert parse(text) is None


@given(st.text(), st.text())
def test_no_text_is_too_strange(text: str, name: str) -> None:
    if choice := parse(text):
        assert choice.takes(name) in (True, False)


def test_bridges() -> None:
    assert [name for name in ("docker0", "br-1a2b", "veth12", "bridge0", "eth0", "bond0") if bridged(name)] == [
        "docker0",
        "br-1a2b",
        "veth12",
    ]


def interface(name: str, state: str = "up", loopback: bool | None = False, *addresses: str) -> Interface:
    return {"name": name, "state": state, "loopback": loopback, "addresses": list(addresses)}


def test_over_which_interfaces_other_hosts_are_reached() -> None:
    address = "192.0.2.1/24"
    unknown = {**interface("eth4"), "addresses": None}
    found = usable([
        interface("eth0", "up", False, address),
        interface("eth1", "down", False, address),
        interface("eth2", "up", False),
        interface("lo", "unknown", None, address),
        interface("dummy-loop", "unknown", True, address),
        interface("docker0", "up", False, address),
        unknown,
    ])  # fmt: skip
    assert [each["name"] for each in found] == ["eth0", "eth4"]


def test_loopback_by_what_the_kernel_says_or_by_its_name() -> None:
    assert loopback(interface("x", loopback=True))
    assert loopback(interface("lo", loopback=None))
    assert not loopback(interface("eth0"))


def test_states_in_which_nothing_goes_through() -> None:
    states = ("up", "unknown", "down", "lowerlayerdown", "dormant")
    assert [state for state in states if is_down(interface("eth0", state))] == ["down", "lowerlayerdown"]
