"""Rules about RDMA adapters, from files and tools' outputs to findings."""

from __future__ import annotations

import pytest

from probes.host import Answer
from suites.checks.rdma.adapters import pcie_rate
from suites.report import Status
from tests.probes.rdma.samples import devices, ibstat, sysfs
from tests.suites.checks.rdma_told import adapters, hosts_device, told
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

PANIC = "ibpanic: [77] main: stat of IB device 'mlx5_3' failed: No such file or directory\n"


def test_a_device_that_went_away_is_named() -> None:
    (finding,) = ruled("rdma.device_vanished", adapters(ibstat("mlx5_0"), PANIC))
    assert (finding.status, hosts_device(finding)) == (Status.FAIL, ("h", "mlx5_3"))
    assert finding.evidence["line"] == PANIC.strip()
    assert statuses(ruled("rdma.device_vanished", adapters(ibstat("mlx5_0")))) == [Status.PASS]


def test_a_tool_that_breaks_off_without_a_name() -> None:
    facts = facts_of({"ibstat": Answer(255, ibstat("mlx5_0"), "")}, sections=("rdma",))
    (finding,) = ruled("rdma.device_vanished", facts)
    assert (finding.status, finding.message) == (Status.WARN, "`ibstat` broke off: exit status 255 after that")


def test_a_host_that_lacks_a_device() -> None:
    full, less = told(devices(mlx5_0={}, mlx5_1={})), told(devices(mlx5_0={}))
    (finding,) = fleet("rdma.device_count", a=full, b=full, c=less)
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "c"})
    assert finding.message == "1 RDMA devices, most hosts have 2; missing: mlx5_1"
    (finding,) = fleet("rdma.device_count", a=full, b=less, c=less)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "a"})
    (finding,) = fleet("rdma.device_count", a=full, b=less)
    assert (finding.status, finding.subject) == (Status.WARN, {})
    assert statuses(fleet("rdma.device_count", a=full, b=full)) == [Status.PASS]
    assert fleet("rdma.device_count", a=full) == []


def test_firmware_of_one_model() -> None:
    old = ibstat("mlx5_9", firmware="20.11.1000")
    facts = adapters(ibstat("mlx5_0"), ibstat("mlx5_1"), ibstat("mlx5_2", kind="MT4125", firmware="22.1.1"))
    assert statuses(ruled("rdma.firmware_differs", facts)) == [Status.PASS]
    (finding,) = ruled("rdma.firmware_differs", adapters(ibstat("mlx5_0"), ibstat("mlx5_1"), old))
    assert (finding.status, hosts_device(finding)) == (Status.WARN, ("h", "mlx5_9"))
    assert finding.message == "mlx5_9: the firmware of MT4123 is 20.11.1000, and 20.99.1000 on 2 of 3"
    (finding,) = ruled("rdma.firmware_differs", adapters(ibstat("mlx5_0"), old))
    assert hosts_device(finding) == (None, None)


def on_pcie(width: str, speed: str, **files: str) -> dict[str, str]:
    folder = "/sys/class/infiniband/mlx5_0/device"
    placed = {"current_link_width": width, "max_link_width": "16", "current_link_speed": speed}
    return sysfs("mlx5_0", **files) | {f"{folder}/{name}": text for name, text in placed.items()}


def test_lanes_that_are_lost() -> None:
    (finding,) = ruled("rdma.pcie_width", told(on_pcie("8", "32.0 GT/s PCIe")))
    assert (finding.status, finding.message) == (Status.FAIL, "mlx5_0 has 8 PCIe lanes of 16")
    assert finding.evidence == {
        "file": "/sys/class/infiniband/mlx5_0/device/current_link_width", "value": 8, "line": "8", "threshold": 16,
        "source": "the adapter",
    }  # fmt: skip
    unused = on_pcie("8", "32.0 GT/s PCIe", state="1: DOWN")
    assert statuses(ruled("rdma.pcie_width", told(unused))) == [Status.WARN]
    assert statuses(ruled("rdma.pcie_width", told(on_pcie("16", "x")))) == [Status.PASS]
    assert ruled("rdma.pcie_width", told(on_pcie("0", "x"))) == []


@pytest.mark.parametrize(
    ("width", "speed", "status"),
    [("16", "16.0 GT/s PCIe", Status.PASS), ("16", "8.0 GT/s PCIe", Status.WARN), ("8", "16.0 GT/s PCIe", Status.WARN)],
)
def test_pcie_carries_the_port(width: str, speed: str, status: Status) -> None:
    assert statuses(ruled("rdma.pcie_bandwidth", told(on_pcie(width, speed)))) == [status]


def test_the_rate_of_pcie() -> None:
    assert pcie_rate("32.0 GT/s PCIe", 16) == pytest.approx(504.1e9, rel=1e-3)
    assert pcie_rate("Unknown", 16) is pcie_rate("99.0 GT/s", 16) is pcie_rate("8.0 GT/s", None) is None


def test_programs_must_be_able_to_open_the_devices() -> None:
    files = {**sysfs("mlx5_0"), "/dev/davinci0": ""}
    facts = facts_of(files=files, sections=("rdma", "accelerators"))
    assert statuses(ruled("rdma.no_user_access", facts)) == [Status.WARN]
    assert statuses(ruled("rdma.no_user_access", told(files))) == [Status.INFO]
    assert statuses(ruled("rdma.no_user_access", told({**files, "/dev/infiniband/uverbs0": ""}))) == [Status.PASS]
    assert ruled("rdma.no_user_access", told({"/dev/null": ""})) == []


def test_one_driver_stack_for_all_hosts() -> None:
    new, old = (
        facts_of({"ofed_info -s": f"MLNX_OFED_LINUX-{version}:\n"}, sections=("rdma",)) for version in ("9.9", "5.1")
    )
    (finding,) = fleet("rdma.driver_differs", a=new, b=new, c=old)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "c"})
    assert statuses(fleet("rdma.driver_differs", a=new, b=new)) == [Status.PASS]
