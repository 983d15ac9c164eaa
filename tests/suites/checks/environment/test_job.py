"""Rules about the first node of a job, HCCL's ports and the devices that ranks may use."""

from __future__ import annotations

import pytest

from suites.report import Status
from tests.suites.checks.plain_hosts import GPUS, NPUS, found_on, host, set_here, silent
from tests.suites.checks.ruled import ruled, statuses

PORTS = "environment.ports_not_reserved"


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({"MASTER_ADDR": "127.0.0.1", "NNODES": "2"}, [Status.FAIL]),
        ({"MASTER_ADDR": "localhost", "SLURM_NNODES": "4"}, [Status.FAIL]),
        ({"MASTER_ADDR": "::1", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}, [Status.FAIL]),
        ({"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}, []),
        ({"MASTER_ADDR": "localhost"}, []),
        ({"MASTER_ADDR": "node1", "NNODES": "2"}, []),
    ],
)
def test_the_first_node(environ: dict[str, str], found: list[Status]) -> None:
    assert statuses(found_on("environment.master_loopback", set_here(**environ))) == found


def with_ports(reserved: str, **environ: str) -> dict[str, object]:
    files = {
        **NPUS,
        "/proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
        "/proc/sys/net/ipv4/ip_local_reserved_ports": reserved,
    }
    return host("environment", "limits", "accelerators", files=files, **environ)


@pytest.mark.parametrize(
    ("reserved", "environ", "found"),
    [
        ("\n", {}, [Status.WARN]),
        ("60000-60015\n", {}, [Status.WARN]),
        ("60000-60031\n", {}, []),
        ("22,59000-61000\n", {}, []),
        ("60000-60015,60016-60031\n", {}, []),
        ("\n", {"HCCL_IF_BASE_PORT": "20000"}, []),  # below the range from which the kernel gives
        ("60000-60031\n", {"HCCL_IF_BASE_PORT": "50000"}, [Status.WARN]),
        ("\n", {"HCCL_HOST_SOCKET_PORT_RANGE": "auto"}, []),
        ("\n", {"HCCL_HOST_SOCKET_PORT_RANGE": "40000-40007"}, [Status.WARN]),
        ("\n", {"HCCL_HOST_SOCKET_PORT_RANGE": "32768"}, [Status.WARN]),
        ("\n", {"HCCL_HOST_SOCKET_PORT_RANGE": "32767,61000"}, []),
    ],
)
def test_ports(reserved: str, environ: dict[str, str], found: list[Status]) -> None:
    assert statuses(found_on(PORTS, with_ports(reserved, **environ))) == found


def test_the_remedy_can_be_typed() -> None:
    (finding,) = found_on(PORTS, with_ports("\n"))
    assert (finding.remedy or "").startswith("sysctl -w net.ipv4.ip_local_reserved_ports=60000-60031 ")


def test_ports_of_a_host_without_npus_or_of_unknown_settings_say_nothing() -> None:
    facts = host("environment", "limits", "accelerators", files={"/proc/sys/net/ipv4/ip_local_port_range": "1 60999"})
    assert ruled(PORTS, facts) == []
    assert ruled(PORTS, host("environment", "limits", "accelerators", files=NPUS)) == []


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, []),
        ({"CUDA_VISIBLE_DEVICES": "0,2"}, [Status.FAIL]),
        ({"CUDA_VISIBLE_DEVICES": "0,0"}, [Status.WARN]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-made-up"}, []),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": "0", "LOCAL_WORLD_SIZE": "2"}, [Status.FAIL]),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "LOCAL_WORLD_SIZE": "2"}, []),
        ({"ASCEND_RT_VISIBLE_DEVICES": "7"}, []),  # there is no NPU here to compare with
    ],
)
def test_devices_that_are_shown(environ: dict[str, str], found: list[Status]) -> None:
    facts = set_here("accelerators", commands=GPUS, **environ)
    assert statuses(found_on("environment.visible_devices", facts)) == found


def test_devices_of_ascend() -> None:
    facts = host("environment", "accelerators", files=NPUS, ASCEND_RT_VISIBLE_DEVICES="0,2")
    assert statuses(found_on("environment.visible_devices", facts)) == [Status.FAIL]
    facts = host("environment", "accelerators", files=NPUS, ASCEND_RT_VISIBLE_DEVICES="0,1")
    assert silent("environment.visible_devices", facts)


@pytest.mark.parametrize(
    ("huge", "environ", "found"),
    [
        ("2097152", {}, []),
        ("536870912", {}, [Status.INFO]),
        ("536870912", {"HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT": "FALSE"}, [Status.INFO]),
        ("536870912", {"HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT": "true"}, []),
    ],
)
def test_pages_of_another_size(huge: str, environ: dict[str, str], found: list[Status]) -> None:
    files = {"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size": huge}
    facts = host("environment", "memory", "accelerators", files=files | NPUS, **environ)
    assert statuses(found_on("environment.direct_post", facts)) == found
    assert ruled("environment.direct_post", host("environment", "memory", "accelerators", files=files)) == []
