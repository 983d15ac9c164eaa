"""What is understood of a topology as NCCL has it."""

from __future__ import annotations

from probes.nvidia.nccl_topology import of_file, parse
from tests.tree_host import TreeHost

TOPOLOGY = """\
<system version="1">
  <cpu numaid="1" affinity="ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207">
    <pci busid="0000:16:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:19:00.0" class="0x030200" vendor="0x10de" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="3" sm="90" rank="3" gdr="1"><nvlink target="0000:07:00.0" count="18" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:1a:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_3" dev="3" speed="400000" port="1" guid="0x4711" gdr="0"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
"""


def test_devices_with_what_is_above_them() -> None:
    place = {"transfers": 32.0, "width": 16, "bridges": 1}
    assert parse(TOPOLOGY).values == {
        "numa": [1],
        "gpus": [{"bus": "0000:19:00.0", **place, "index": 3, "architecture": 90, "gdr": True, "nvlinks": 18}],
        "cards": [{"bus": "0000:1a:00.0", **place, "name": "mlx5_3", "gdr": False, "speed": 400000}],
    }


def test_a_file_for_ranks_to_come_has_no_ranks() -> None:
    (gpu,) = parse(
        '<system><cpu numaid="0"><pci busid="0001:00:00.0" class="0x030200" link_width="16"/></cpu></system>'
    ).values["gpus"]
    assert gpu == {
        "bus": "0001:00:00.0", "transfers": None, "width": 16, "bridges": 0, "index": None, "architecture": None,
        "gdr": None, "nvlinks": 0,
    }  # fmt: skip


def test_gpus_of_others_are_left_out() -> None:
    assert "gpus" not in parse(TOPOLOGY.replace("0x10de", "0x1002")).values


def test_what_declares_entities_is_not_read() -> None:
    assert not parse('<!DOCTYPE system [<!ENTITY a "1">]>' + TOPOLOGY)


def test_the_file_that_is_named_counts(tree: TreeHost) -> None:
    tree.write({"/opt/topo.xml": TOPOLOGY, "/var/run/nvidia-topologyd/virtualTopology.xml": "<system/>"})
    assert of_file(tree) is None
    tree.variables = {"NCCL_TOPO_FILE": "/opt/topo.xml"}
    reading = of_file(tree)
    assert reading is not None
    assert reading.source == "/opt/topo.xml"
