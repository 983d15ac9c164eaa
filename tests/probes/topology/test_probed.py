"""The graph of what the real probes read: that both go by the same names of facts."""

from __future__ import annotations

from pathlib import Path

from probes.topology import SECTIONS, graph_of
from suites.hostinfo import Wanted, look
from tests.suites.checks.told import facts_of
from tests.tree_host import TreeHost

PCI = "/sys/bus/pci/devices"


def test_a_machine_of_files(tmp_path: Path) -> None:
    """A GPU and an RDMA card at one switch, and another card at the other socket."""
    switch = "pci0000:10/0000:10:01.0/0000:11:00.0"
    places = {
        "0000:10:01.0": ("pci0000:10", "0x060400", "0x8086", "0"),
        "0000:11:00.0": ("pci0000:10/0000:10:01.0", "0x060400", "0x1000", "0"),
        "0000:12:00.0": (switch, "0x060400", "0x1000", "0"),
        "0000:12:01.0": (switch, "0x060400", "0x1000", "0"),
        "0000:13:00.0": (f"{switch}/0000:12:00.0", "0x120000", "0x19e5", "0"),
        "0000:14:00.0": (f"{switch}/0000:12:01.0", "0x020000", "0x15b3", "0"),
        "0000:30:01.0": ("pci0000:30", "0x060400", "0x8086", "1"),
        "0000:31:00.0": ("pci0000:30/0000:30:01.0", "0x020000", "0x15b3", "1"),
    }
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    for slot, (above, kind, vendor, numa) in places.items():
        folder = f"/sys/devices/{above}/{slot}"
        files |= {f"{folder}/class": kind, f"{folder}/vendor": vendor, f"{folder}/numa_node": numa}
        links[f"{PCI}/{slot}"] = f"../../../devices/{above}/{slot}"
    for number, slot in enumerate(("0000:14:00.0", "0000:31:00.0")):
        device, real = f"mlx5_{number}", f"../../devices/{places[slot][0]}/{slot}"
        files |= {f"/sys/devices/{places[slot][0]}/{slot}/infiniband/{device}/ports/1/state": "4: ACTIVE"}
        links |= {f"/sys/class/infiniband/{device}": f"{real}/infiniband/{device}"}
        files |= {f"/sys/devices/{places[slot][0]}/{slot}/net/ens{number}/mtu": "4200"}
        links |= {f"/sys/class/net/ens{number}": f"{real}/net/ens{number}"}
    for node in range(2):
        files[f"/sys/devices/system/node/node{node}/cpulist"] = f"{8 * node}-{8 * node + 7}"
    host = TreeHost(tmp_path).write(files, links)
    host.tools = {"npu-smi info": _TABLE}
    graph = graph_of(look("h", host, Wanted(SECTIONS, hurry=True)).facts)
    assert {node.name: node.parent for node in graph.nodes} == {
        "numa0": None, "numa1": None, "switch0": "numa0", "npu0": "switch0", "mlx5_0": "switch0", "mlx5_1": "numa1",
    }  # fmt: skip
    assert {(edge.a, edge.b): (edge.kind, edge.source) for edge in graph.edges} == {
        ("npu0", "mlx5_0"): ("PIX", "pci"),
        ("npu0", "mlx5_1"): ("SYS", "pci"),
        ("mlx5_0", "mlx5_1"): ("SYS", "pci"),
    }
    assert [node.attributes["interfaces"] for node in graph.of_kind("rdma")] == [["ens0"], ["ens1"]]


_TABLE = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.0                   Version: 24.1.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 90.1        40                0    / 0             |
| 0                         | 0000:13:00.0  | 0           0    / 0          3400 / 65536         |
+===========================+===============+====================================================+
"""


def test_what_nvidia_smi_prints() -> None:
    rows = [
        "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID",
        "GPU0\t X \tNV18\tPIX\t0-7\t0\t\tN/A",
        "GPU1\tNV18\t X \tSYS\t8-15\t1\t\tN/A",
        "NIC0\tPIX\tSYS\t X ",
        "",
        "NIC Legend:",
        "",
        "  NIC0: mlx5_3",
    ]
    graph = graph_of(facts_of({"nvidia-smi topo -m": "\n".join(rows)}, sections=SECTIONS))
    assert {(edge.a, edge.b): edge.kind for edge in graph.edges} == {
        ("gpu0", "gpu1"): "NV18",
        ("gpu0", "mlx5_3"): "PIX",
        ("gpu1", "mlx5_3"): "SYS",
    }
    assert {node.name: node.parent for node in graph.nodes} == {
        "numa0": None, "numa1": None, "gpu0": "numa0", "gpu1": "numa1", "mlx5_3": "numa0",
    }  # fmt: skip


def test_what_npu_smi_prints() -> None:
    rows = [
        "\t   NPU0       NPU1       CPU Affinity",
        "NPU0       X          HCCS       0-23",
        "NPU1       HCCS       X          24-47",
    ]
    graph = graph_of(facts_of({"npu-smi info -t topo": "\n".join(rows)}, sections=SECTIONS))
    assert [(edge.a, edge.b, edge.kind) for edge in graph.edges] == [("npu0", "npu1", "HCCS")]
    assert [node.attributes["affinity"] for node in graph.of_kind("accelerator")] == ["0-23", "24-47"]


def test_what_amd_smi_prints() -> None:
    rows = ["LINK TYPE TABLE:", "{0:13}{1} {2}", "{1} SELF         XGMI", "{2} XGMI         SELF"]
    printed = "\n".join(rows).format("", "0000:0c:00.0", "0000:22:00.0")
    graph = graph_of(facts_of({"amd-smi topology": printed}, sections=SECTIONS))
    assert [(edge.a, edge.b, edge.kind) for edge in graph.edges] == [("gpu0", "gpu1", "XGMI")]
