"""The topology as a tree."""

from __future__ import annotations

from opsdist_cli.output.topo.text import render
from tests.opsdist_cli.output.topo.records import healthy, pairs, plain, record_of


def test_devices_stand_below_their_switch_numa_node_and_socket() -> None:
    lines = render(record_of(h=healthy())).splitlines()
    place = lines.index("`- socket 1")
    assert lines[place + 1 : place + 5] == [
        "   `- numa1  CPUs 24-47",
        "      |- switch4  PCIe switch 0000:51:00.0",
        "      |  |- npu4  910B3  0000:53:00.0  nearest NIC mlx5_4 (PIX)",
        "      |  `- mlx5_4  RDMA  ens4  0000:54:00.0",
    ]
    assert "  HCCS: all 28 pairs of npu[0-7]" in lines


def test_numa_nodes_stand_alone_where_sockets_are_not_known() -> None:
    facts = plain() | {"cpu": {}}
    assert render(record_of(h=facts)).splitlines()[1] == "`- numa0  CPUs 0-3"


def test_devices_of_which_no_place_is_known_are_together() -> None:
    facts = {"rdma": {"devices": [{"name": "mlx5_0"}]}}
    assert render(record_of(h=facts)).splitlines()[1:3] == ["`- place not known", "   `- mlx5_0  RDMA"]


def test_each_fabric_and_what_is_left_to_pcie_is_counted() -> None:
    text = render(record_of(h=pairs()))
    assert "  NV12 of gpu[0-1]\n  NV12 of gpu[2-3]\n" in text
    assert "over PCIe only, 4 pairs of accelerators: SYS 4" in text
