"""The section rdma as text."""

from __future__ import annotations

from typing import Any

from opsdist_cli.output.sections.rdma import render
from tests.probes.rdma.samples import ROCE, devices
from tests.suites.checks.told import facts_of


def lines(**host: Any) -> list[str]:
    return render(facts_of(sections=("rdma",), **host)["rdma"])


def test_a_row_for_each_port_with_no_rate_where_there_is_none() -> None:
    files = devices(mlx5_2={}, mlx5_10={"state": "1: DOWN", "phys_state": "2: Polling", "link_layer": ROCE})
    assert lines(files=files, commands={"ofed_info -s": "MLNX_OFED_LINUX-9.9:\n"}) == [
        "  port       state   link     rate      layer       MTU  interface, firmware",
        "  mlx5_2/1   ACTIVE  LinkUp   200 Gb/s  InfiniBand  -    MT4123 20.99.1000",
        "  mlx5_10/1  DOWN    Polling  -         Ethernet    -    MT4123 20.99.1000",
        "  driver                  MLNX_OFED_LINUX-9.9",
    ]


def test_none_and_unknown() -> None:
    assert lines() == ["  devices                 unknown"]
    assert lines(commands={"ibv_devinfo": "No IB devices found\n"}) == ["  devices                 none"]


def test_a_device_that_programs_cannot_open() -> None:
    files = {"/sys/class/infiniband/mlx5_0/hca_type": "MT4123", "/dev/null": ""}
    assert lines(files=files)[1:] == [
        "  mlx5_0  no port is known  -     -     -      -    MT4123",
        "  for programs            nothing in /dev/infiniband to open",
    ]
