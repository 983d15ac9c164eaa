"""Rules about single devices in the topology that NCCL has, from its file to the finding."""

from __future__ import annotations

import pytest

from suites.report import Status
from tests.probes.nvidia.test_nccl_topology import TOPOLOGY
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

XML = "/var/run/nvidia-topologyd/virtualTopology.xml"
CARD = 'class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"'


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ('link_speed="32.0 GT/s PCIe" link_width="16"', [Status.PASS]),
        ('link_speed="32.0 GT/s PCIe" link_width="8"', [Status.WARN]),
        ('link_speed="16.0 GT/s PCIe" link_width="16"', [Status.WARN]),
        ('link_speed="" link_width="0"', []),
    ],
)
def test_a_card_that_pcie_holds_up(link: str, found: list[Status]) -> None:
    text = TOPOLOGY.replace(CARD, f'class="0x020700" {link}')
    findings = ruled("nvidia.nccl_card_pcie", facts_of(files={XML: text}))
    assert statuses(findings) == found
    if Status.WARN in found:
        assert findings[0].subject["device"] == "mlx5_3"


def test_a_gpu_with_fewer_nvlinks_than_the_others() -> None:
    gpu = (
        '<pci busid="0000:{0}9:00.0" class="0x030200" vendor="0x10de"><gpu dev="{0}" sm="90">'
        '<nvlink target="0000:07:00.0" count="9"/><nvlink target="0000:08:00.0" count="{1}"/></gpu></pci>'
    )
    text = '<system version="1"><cpu numaid="0">{}</cpu></system>'
    odd = text.format("".join(gpu.format(number, 7 if number == 2 else 9) for number in range(4)))
    bad = [each for each in ruled("nvidia.nccl_nvlinks", facts_of(files={XML: odd})) if each.status is Status.WARN]
    assert [each.message for each in bad] == ["gpu2 has 16 NVLinks, and 3 of 4 GPUs have 18"]
    two = text.format(gpu.format(0, 9) + gpu.format(1, 7))
    assert ruled("nvidia.nccl_nvlinks", facts_of(files={XML: two})) == []
