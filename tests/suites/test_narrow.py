"""The facts of some devices only."""

from __future__ import annotations

from typing import Any

import pytest

from suites.errors import UsageError
from suites.narrow import narrowed

FACTS: dict[str, Any] = {
    "cpu": {"model": "x"},
    "network": {"interfaces": [{"name": "eth0"}, {"name": "lo"}], "hostname": "h"},
    "rdma": {"devices": [{"name": "mlx5_0"}]},
    "pcie": {"devices": [{"id": "0000:01:00.0"}]},
    "accelerators": {
        "ascend": {"devices": [{"id": 0}, {"id": 3}], "configured": True},
        "nvidia": {"devices": None},
        "amd": {"devices": []},
    },
}


@pytest.mark.parametrize(
    ("devices", "interfaces", "rdma", "npus"),
    [
        (("lo",), ["lo"], [], []),
        (("mlx5_0", "npu3"), [], ["mlx5_0"], [3]),
        (("3",), [], [], [3]),
        (("0000:01:00.0",), [], [], []),
    ],
)
def test_only_these(devices: tuple[str, ...], interfaces: list[str], rdma: list[str], npus: list[int]) -> None:
    kept = narrowed(FACTS, devices)
    assert [each["name"] for each in kept["network"]["interfaces"]] == interfaces
    assert [each["name"] for each in kept["rdma"]["devices"]] == rdma
    assert [each["id"] for each in kept["accelerators"]["ascend"]["devices"]] == npus
    assert len(kept["pcie"]["devices"]) == ("0000:01:00.0" in devices)
    assert kept["cpu"] == FACTS["cpu"]
    assert kept["accelerators"]["nvidia"]["devices"] is None


def test_what_is_not_there_is_refused_with_what_is() -> None:
    with pytest.raises(UsageError, match=r"no device 'gpu0'; known: eth0, lo, mlx5_0, 0000:01:00\.0, npu0, npu3$"):
        narrowed(FACTS, ("gpu0",))
    with pytest.raises(UsageError, match="known: none, as far as was looked"):
        narrowed({"network": {"interfaces": None}}, ("eth0",))
