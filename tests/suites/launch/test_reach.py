"""By which address hosts are reached: chosen from facts alone, and who is named when they are not reached."""

from __future__ import annotations

from typing import Any

import pytest

from suites.errors import UsageError
from suites.launch.reach import Candidate, Unreachable, blame, candidates, choose, judge, parse_filter


def interface(name: str, *addresses: str, **more: Any) -> dict[str, Any]:
    plain = {"state": "up", "mtu": 1500, "speed_bytes_per_second": None, "loopback": name == "lo"}
    return {"name": name, "addresses": addresses, **plain, **more}


HOST = [
    interface("lo", "127.0.0.1/8", "::1/128"),
    interface("docker0", "172.17.0.1/16"),
    interface("eth0", "fd00::5/64", "10.0.0.5/24"),
    interface("eth1", "10.1.0.5/24"),
    interface("eth2", "10.2.0.5/24", state="down"),
    interface("ib0", "192.168.7.5/24"),
]


def taken(text: str | None = None) -> list[str]:
    only = parse_filter(text) if text else None
    return [str(candidate.address.ip) for candidate in candidates(HOST, only)]


def test_what_leads_to_the_same_host_or_is_down_is_left_out_and_ipv4_comes_first() -> None:
    assert taken() == ["10.0.0.5", "10.1.0.5", "192.168.7.5", "fd00::5"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("eth", ["10.0.0.5", "10.1.0.5", "fd00::5"]),
        ("=eth1", ["10.1.0.5"]),
        ("eth1,ib", ["10.1.0.5", "192.168.7.5"]),
        ("^eth,docker", ["192.168.7.5"]),
        ("^=eth0", ["172.17.0.1", "10.1.0.5", "192.168.7.5"]),
        ("docker0", ["172.17.0.1"]),
        ("10.1.0.0/16", ["10.1.0.5"]),
        ("fd00::/8", ["fd00::5"]),
        ("=none", []),
    ],
)
def test_a_filter_takes_names_or_networks(text: str, wanted: list[str]) -> None:
    assert taken(text) == wanted


@pytest.mark.parametrize("text", ["", "^", "=", "eth0,", "10.0.0.0/99", "a b", "fd00::/8/8", "^="])
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--interface"):
        parse_filter(text)


def candidate(address: str, name: str = "eth0", mtu: int | None = 1500) -> Candidate:
    (found,) = candidates([interface(name, address, mtu=mtu)], None)
    return found


def test_the_network_that_most_share_is_taken_whatever_its_place() -> None:
    hosts = {
        "a": [candidate("192.168.1.1/24"), candidate("10.0.0.1/24", "ib0")],
        "b": [candidate("192.168.2.1/24"), candidate("10.0.0.2/24", "ib0")],
        "c": [candidate("10.0.0.3/24", "ib7"), candidate("192.168.3.1/24")],
    }
    assert {host: (link.interface, str(link.address.ip)) for host, link in choose(hosts).items()} == {
        "a": ("ib0", "10.0.0.1"), "b": ("ib0", "10.0.0.2"), "c": ("ib7", "10.0.0.3"),
    }  # fmt: skip


def test_without_a_network_in_common_the_first_is_taken_since_routes_may_lead_there() -> None:
    chosen = choose({"a": [candidate("10.0.1.1/24")], "b": [candidate("10.0.2.1/24")]})
    assert [str(link.address.ip) for link in chosen.values()] == ["10.0.1.1", "10.0.2.1"]


def test_one_version_of_ip_for_all() -> None:
    hosts = {"a": [candidate("10.0.0.1/24"), candidate("fd00::1/64")], "b": [candidate("fd00::2/64")]}
    assert [str(link.address.ip) for link in choose(hosts).values()] == ["fd00::1", "fd00::2"]


def test_a_host_without_an_address_is_named() -> None:
    with pytest.raises(Unreachable, match="b has no address") as refused:
        choose({"a": [candidate("10.0.0.1/24")], "b": []})
    assert refused.value.host == "b"
    with pytest.raises(Unreachable, match="no version of IP in common"):
        choose({"a": [candidate("10.0.0.1/24")], "b": [candidate("fd00::2/64")]})


@pytest.mark.parametrize(
    ("failed", "named"),
    [
        ([], []),
        (["a"], ["b"]),
        (["d"], ["a"]),
        (["a", "b"], ["b"]),
        (["a", "b", "d"], ["a", "b"]),
        (["a", "c"], ["b", "d"]),
        (["a", "b", "c", "d"], ["a", "b", "c", "d"]),
    ],
)
def test_a_host_that_is_cut_off_explains_both_failures(failed: list[str], named: list[str]) -> None:
    hosts = "a", "b", "c", "d"
    why = ["no answer" if host in failed else None for host in hosts]
    assert sorted(fault.host for fault in blame(hosts, ["1.1.1.1"] * 4, why)) == named


def test_of_two_hosts_that_do_not_reach_each_other_neither_is_singled_out() -> None:
    assert {fault.host for fault in blame(("a", "b"), ("1.1.1.1", "2.2.2.2"), ("no answer", "no answer"))} == {"a", "b"}


@pytest.mark.parametrize(
    ("facts", "rate"), [({"virtual": False, "driver": "mlx5_core"}, 1250), ({"virtual": True, "driver": None}, None)]
)
def test_a_link_has_the_rate_of_its_device(facts: dict[str, Any], rate: int | None) -> None:
    (found,) = candidates([interface("eth0", "10.0.0.1/24", speed_bytes_per_second=1250, **facts)], None)
    assert found.rate == rate


def test_an_mtu_that_others_do_not_have_is_said() -> None:
    links = {"a": candidate("10.0.0.1/24"), "b": candidate("10.0.0.2/24", mtu=1400), "c": candidate("10.0.0.3/24")}
    (finding,) = judge(links)
    assert (finding.subject, finding.evidence) == ({"host": "b", "device": "eth0"}, {"mtu": 1400, "usual": 1500})
    assert judge({"a": links["a"], "c": links["c"]}) == []


def test_an_address_that_several_hosts_have_is_nobodys() -> None:
    """As every virtual machine has behind a NAT of its own; and a host that has no other may be named twice."""
    nat = candidate("10.0.2.15/24", "aaa0")
    chosen = choose({"a": [nat, candidate("10.0.0.1/24")], "b": [nat, candidate("10.0.0.2/24")]})
    assert [str(link.address.ip) for link in chosen.values()] == ["10.0.0.1", "10.0.0.2"]
    with pytest.raises(Unreachable, match="is it named twice"):
        choose({"a": [candidate("10.0.0.1/24")], "again": [candidate("10.0.0.1/24")]})
