"""Rules about variables that name interfaces, RDMA devices and addresses."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.plain_hosts import adapters, found_on, interfaces, set_here, silent
from tests.suites.checks.ruled import ruled, statuses

RULE = "environment.interface"
HERE = interfaces(eth0="192.0.2.7/24", eth1=None, docker0="198.51.100.1/24")


@pytest.mark.parametrize(
    ("name", "value", "status", "text"),
    [
        ("NCCL_SOCKET_IFNAME", "ib", Status.FAIL, "begins with ib; there are: lo, eth0, eth1, docker0"),
        ("NCCL_SOCKET_IFNAME", "=eth", Status.FAIL, "no interface here is called eth"),
        ("HCCL_SOCKET_IFNAME", "=enp1,enp2", Status.FAIL, "no interface here is called enp1 or enp2"),
        ("NCCL_SOCKET_IFNAME", "eth0, eth1", Status.FAIL, "are taken as parts of names"),
        ("NCCL_SOCKET_IFNAME", "=eth1", Status.FAIL, "eth1 is down"),
        ("NCCL_SOCKET_IFNAME", "lo", Status.INFO, "lo is loopback"),
        ("HCCL_SOCKET_IFNAME", "docker", Status.WARN, "docker0 is a bridge of this host"),
        ("NCCL_SOCKET_IFNAME", "^docker", Status.WARN, "loopback may be chosen"),
        ("NCCL_SOCKET_IFNAME", "^=docker0", Status.WARN, "loopback may be chosen"),
        ("NCCL_SOCKET_IFNAME", "^eth,lo", Status.FAIL, "it excludes every interface"),
        ("GLOO_SOCKET_IFNAME", "^lo", Status.FAIL, "it takes plain names"),
        ("GLOO_SOCKET_IFNAME", "=eth0", Status.FAIL, "takes plain names"),
        ("GLOO_SOCKET_IFNAME", "eth", Status.FAIL, "no interface here is called eth"),
        ("TP_SOCKET_IFNAME", "ib0", Status.FAIL, "no interface here is called ib0"),
        ("OMPI_MCA_btl_tcp_if_include", "eth9", Status.FAIL, "no interface here is called eth9"),
        ("OMPI_MCA_btl_tcp_if_exclude", "docker0", Status.WARN, "loopback may be chosen"),
        ("OMPI_MCA_btl_tcp_if_include", "203.0.113.0/24", Status.FAIL, "no interface here is called 203.0.113.0/24"),
    ],
)  # fmt: skip
def test_interfaces_that_do_not_do(name: str, value: str, status: Status, text: str) -> None:
    (finding,) = found_on(RULE, set_here("network", commands=HERE, **{name: value}))
    assert (finding.status, finding.evidence["variable"]) == (status, name)
    assert text in finding.message
    assert finding.remedy


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_SOCKET_IFNAME", "eth"),
        ("NCCL_SOCKET_IFNAME", "=eth0"),
        ("NCCL_SOCKET_IFNAME", "=eth0,eth9"),
        ("NCCL_SOCKET_IFNAME", "^docker,lo"),
        ("NCCL_SOCKET_IFNAME", "^lo,docker"),
        ("HCCL_SOCKET_IFNAME", "^=lo,docker0"),
        ("GLOO_SOCKET_IFNAME", "eth0"),
        ("OMPI_MCA_btl_tcp_if_include", "eth0,lo"),
        ("OMPI_MCA_btl_tcp_if_include", "192.0.2.0/24"),
        ("OMPI_MCA_btl_tcp_if_exclude", "docker0,lo"),
        ("OMPI_MCA_btl_tcp_if_exclude", "127.0.0.1/8,docker0"),
    ],
)
def test_interfaces_that_do(name: str, value: str) -> None:
    assert silent(RULE, set_here("network", commands=HERE, **{name: value}))


def test_loopback_fails_a_job_of_several_nodes() -> None:
    facts = set_here("network", commands=HERE, NCCL_SOCKET_IFNAME="lo", SLURM_NNODES="2")
    assert statuses(found_on(RULE, facts)) == [Status.FAIL]


def test_interfaces_that_are_unknown_are_no_fault() -> None:
    assert ruled(RULE, set_here("network", NCCL_SOCKET_IFNAME="eth0")) == []
    assert silent(RULE, set_here("network", OMPI_MCA_btl_tcp_if_exclude="docker0"))


def test_the_remedy_names_what_could_be_used() -> None:
    (finding,) = found_on(RULE, set_here("network", commands=HERE, NCCL_SOCKET_IFNAME="ib"))
    assert finding.remedy is not None
    assert "(eth0)" in finding.remedy


@pytest.mark.parametrize(
    ("value", "status", "text"),
    [
        ("ib_made", Status.FAIL, "it leaves no RDMA device; there are: mlx5_0, mlx5_1, mlx5_10"),
        ("=mlx5_0:1,mlx5_9:1", Status.FAIL, "there is no mlx5_9 here"),
        ("mlx5_1", Status.WARN, "mlx5_1 stands for mlx5_10 too"),
        ("^mlx5", Status.FAIL, "it leaves no RDMA device"),
        ("mlx5_0, mlx5_1", Status.FAIL, "parts of names"),
    ],
)
def test_rdma_devices_that_do_not_do(value: str, status: Status, text: str) -> None:
    (finding,) = found_on("environment.adapter", set_here("rdma", commands=adapters(0, 1, 10), NCCL_IB_HCA=value))
    assert finding.status is status
    assert text in finding.message


@pytest.mark.parametrize("value", ["mlx5", "=mlx5_0:1,mlx5_10", "^=mlx5_1", "mlx5_0,mlx5_10", "=mlx5_0:1:0:0"])
def test_rdma_devices_that_do(value: str) -> None:
    assert silent("environment.adapter", set_here("rdma", commands=adapters(0, 1, 10), NCCL_IB_HCA=value))


@pytest.mark.parametrize(("value", "found"), [("mlx5_0:1,eth0", 0), ("all", 0), ("mlx5_7:1", 1), ("eth9,mlx5_0:1", 1)])
def test_devices_of_ucx(value: str, found: int) -> None:
    facts = set_here("rdma", "network", commands={**adapters(0), **HERE}, UCX_NET_DEVICES=value)
    assert len(found_on("environment.adapter", facts)) == found


def gids(state: str = "ACTIVE", **places: str) -> dict[str, Any]:
    """One RoCE port with these GIDs: place -> type, of IPv6 below place 2."""
    listed = [
        {"index": int(place[1:]), "type": kind, "family": "ipv6" if int(place[1:]) < 2 else "ipv4"}
        for place, kind in places.items()
    ]
    port = {"id": 1, "state": state, "link_layer": "Ethernet", "gids": listed}
    return {"devices": [{"name": "mlx5_0", "virtual": None, "ports": [port]}]}


@pytest.mark.parametrize(
    ("index", "found"),
    [("3", []), ("-1", []), ("2", [Status.WARN]), ("9", [Status.FAIL])],
)
def test_a_gid_by_its_place(index: str, found: list[Status]) -> None:
    facts = {**set_here(NCCL_IB_GID_INDEX=index), "rdma": gids(n2="IB/RoCE v1", n3="RoCE v2")}
    assert statuses(found_on("environment.gid_index", facts)) == found


def test_a_gid_of_a_port_that_nccl_may_not_use_does_not_matter() -> None:
    facts = {**set_here(NCCL_IB_GID_INDEX="9", NCCL_IB_HCA="=mlx5_7"), "rdma": gids(n3="RoCE v2")}
    assert ruled("environment.gid_index", facts) == []


def test_the_remedy_names_the_place_of_roce_v2() -> None:
    facts = {**set_here(NCCL_IB_GID_INDEX="9"), "rdma": gids(n1="RoCE v2", n2="IB/RoCE v1", n3="RoCE v2")}
    (finding,) = found_on("environment.gid_index", facts)
    assert "or set it to 3" in (finding.remedy or "")
    assert finding.subject == {"host": "h", "device": "mlx5_0"}


def test_ports_that_are_down_or_have_no_gids_are_not_judged() -> None:
    facts = set_here(NCCL_IB_GID_INDEX="9")
    assert ruled("environment.gid_index", {**facts, "rdma": gids("DOWN", n3="RoCE v2")}) == []
    assert ruled("environment.gid_index", {**facts, "rdma": gids()}) == []


def test_no_rdma_device_is_known() -> None:
    assert ruled("environment.adapter", {**set_here(NCCL_IB_HCA="mlx5"), "rdma": {"devices": None}}) == []


@pytest.mark.parametrize(("value", "found"), [("192.0.2.8", [Status.FAIL]), ("192.0.2.7", []), ("nonsense", [])])
def test_the_address_hccl_is_to_use(value: str, found: list[Status]) -> None:
    facts = set_here("network", commands=HERE, HCCL_IF_IP=value)
    assert statuses(found_on("environment.foreign_address", facts)) == found
