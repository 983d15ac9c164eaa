"""Whatever becomes of what a host says on its way, looking at it and judging it breaks on nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.host import Answer
from probes.recorded.texthost import TextHost
from suites.hostinfo import Looked, Wanted, look
from suites.inforeport import Measure, report
from suites.report import Status, now
from tests.made_up.npu_host import NpuHost
from tests.mutation import spoiled
from tests.schema import validate

HOST = NpuHost(alarm=(3,), unlinked=(5,), on_pcie=6, errors={2: 9})
COMMANDS, FILES = HOST.commands(), HOST.files()
OTHERS = {
    "nvidia-smi": "| NVIDIA-SMI 550.1   Driver Version: 550.1   CUDA Version: 12.4 |\n",
    "nvidia-smi --query-gpu --format=csv": "index, name, pci.bus_id\n0, X100, 00000000:19:00.0\n",
    "nvidia-smi topo -m": "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-7\t0\nNIC0\tPIX\t X \n",
    "nvidia-smi nvlink -s": "GPU 0: X100 (UUID: GPU-0)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n",
    "amd-smi topology": "ACCESS TABLE:\n             0000:01:00.0 0000:02:00.0\n0000:01:00.0 ENABLED ENABLED\n",
    "ibstat": "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n",
    "dmesg": "[12.5] NVRM: Xid (PCI:0000:19:00): 79, pid=1, GPU has fallen off the bus.\n",
    "lspci -vvv": "19:00.0 3D controller: NVIDIA X\n\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n",
    "ethtool eth7": "Settings for eth7:\n\tSpeed: Unknown!\n\tLink detected: no (No cable)\n",
    "ip -j link": '[{"ifname": "eth7", "mtu": 1500, "operstate": "DOWN"}]\n',
    "chronyc tracking": "Leap status     : Not synchronised\nSystem time : 0.1 seconds fast of NTP time\n",
}


@cache
def earlier() -> dict[str, Any]:
    """The facts of the host before anything was spoiled."""
    return look("h", TextHost(FILES, {line: Answer(0, text, "") for line, text in COMMANDS.items()}), Wanted()).facts


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_nothing_breaks(data: st.DataObject) -> None:
    texts = {**COMMANDS, **OTHERS}
    for line in data.draw(st.lists(st.sampled_from(sorted(texts)), min_size=1, max_size=3, unique=True)):
        texts[line] = data.draw(spoiled(texts[line].encode())).decode("utf-8", "replace")
    files = dict(FILES)
    path = data.draw(st.sampled_from(sorted(files)))
    files[path] = data.draw(spoiled(files[path].encode())).decode("utf-8", "replace")
    seen = look("h", TextHost(files, {line: Answer(0, text, "") for line, text in texts.items()}), Wanted())
    found = report(["opsdist"], now(), Looked([seen]), Measure(earlier={"h": earlier()}))
    assert [finding for finding in found.findings if finding.status is Status.ERROR] == []
    validate(found.record())
