"""Rules about NVSwitches, their manager and NCCL's topology, from what tools and files hold to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.probes.nvidia.samples import NO_PROCESSES, details, fabric, gpu_details, gpu_rows, table
from tests.probes.nvidia.test_fabric import ERROR, STARTED
from tests.probes.nvidia.test_nccl_topology import TOPOLOGY
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

LOG = "/var/log/fabricmanager.log"
SERVICE = "systemctl is-active nvidia-fabricmanager"
XML = "/var/run/nvidia-topologyd/virtualTopology.xml"


@pytest.mark.parametrize(("state", "status", "found"), [
    ("Completed", "Success", [Status.PASS]), ("In Progress", "N/A", [Status.FAIL]),
    ("Completed", "Initialization Failure", [Status.FAIL]), ("Not Supported", "N/A", []), ("N/A", "N/A", []),
])  # fmt: skip
def test_the_fabric_of_a_gpu(state: str, status: str, found: list[Status]) -> None:
    text = details(gpu_details(sections=fabric(state, status)))
    assert statuses(ruled("nvidia.fabric_state", facts_of({"nvidia-smi -q": text}))) == found


@pytest.mark.parametrize(
    ("bandwidth", "found"), [("Full", Status.PASS), ("N/A", Status.PASS), ("Degraded", Status.FAIL)]
)
def test_the_health_of_a_fabric(bandwidth: str, found: Status) -> None:
    section = fabric() + f"        Health\n            Bandwidth                     : {bandwidth}\n"
    facts = facts_of({"nvidia-smi -q": details(gpu_details(sections=section))})
    assert statuses(ruled("nvidia.fabric_state", facts)) == [found]


def host(state: str, count: int, name: str) -> dict[str, Any]:
    gpus = table(*(gpu_rows(index, name=name) for index in range(count))) + NO_PROCESSES
    return facts_of({"nvidia-smi": gpus, SERVICE: state + "\n"})


def test_a_manager_that_does_not_run() -> None:
    (finding,) = ruled("nvidia.fabric_manager", host("inactive", 8, "NVIDIA H100 80GB HBM3"))
    assert (finding.status, finding.evidence["value"]) == (Status.WARN, "inactive")
    assert statuses(ruled("nvidia.fabric_manager", host("active", 8, "NVIDIA H100 80GB HBM3"))) == [Status.PASS]


def test_where_there_are_no_switches_none_is_needed() -> None:
    assert ruled("nvidia.fabric_manager", host("inactive", 8, "NVIDIA L40S")) == []
    assert ruled("nvidia.fabric_manager", host("inactive", 4, "NVIDIA A100-SXM4-40GB")) == []
    assert ruled("nvidia.fabric_manager", host("inactive", 8, "Tesla V100-SXM2-32GB")) == []
    assert statuses(ruled("nvidia.fabric_manager", host("failed", 4, "NVIDIA A100-SXM4-40GB"))) == [Status.WARN]


def test_its_log_tells_that_there_are_switches() -> None:
    assert statuses(ruled("nvidia.fabric_manager", facts_of({SERVICE: "inactive\n"}, {LOG: STARTED}))) == [Status.WARN]


@pytest.mark.parametrize(("kind", "status"), [("non-fatal", Status.WARN), ("fatal", Status.FAIL)])
def test_errors_of_switches(kind: str, status: Status) -> None:
    (finding,) = ruled("nvidia.fabric_errors", facts_of(files={LOG: STARTED + "\n" + ERROR.format(kind, 12028)}))
    assert (finding.status, finding.subject["device"]) == (status, "nvswitch 0000:86:00.0")
    assert "12028" in finding.message
    assert "port 61" in finding.message


def test_other_errors_of_the_manager() -> None:
    (finding,) = ruled("nvidia.fabric_errors", facts_of(files={LOG: f"{STARTED}\n[x] [ERROR] [tid 1] quux"}))
    assert (finding.status, finding.evidence["line"]) == (Status.WARN, "[x] [ERROR] [tid 1] quux")


def test_a_log_without_errors() -> None:
    facts = facts_of(files={LOG: "[Jan 01 2024 09:00:00] [INFO] [tid 46] multicast group 0 is freed.\n"})
    assert statuses(ruled("nvidia.fabric_errors", facts)) == [Status.PASS]


def test_versions_of_manager_and_driver() -> None:
    driver = table(gpu_rows(0)) + NO_PROCESSES
    assert statuses(ruled("nvidia.fabric_version", facts_of({"nvidia-smi": driver}, {LOG: STARTED}))) == [Status.PASS]
    other = STARTED.replace("999.10.01", "999.11.02")
    (finding,) = ruled("nvidia.fabric_version", facts_of({"nvidia-smi": driver}, {LOG: other}))
    assert (finding.status, finding.evidence["threshold"]) == (Status.FAIL, "999.10.01")
    complaint = "[x] [ERROR] interface version 999.10.01 don't match with driver version 999.11.02."
    assert statuses(ruled("nvidia.fabric_version", facts_of(files={LOG: complaint}))) == [Status.FAIL]
    assert ruled("nvidia.fabric_version", facts_of(files={LOG: STARTED})) == []


REAL = TOPOLOGY.replace('gdr="0"', 'gdr="1"')
FLAT = """\
<system version="1">
  <cpu numaid="-1" arch="x86_64">
    <pci busid="0000:05:00.0" class="0x030200" vendor="0x10de" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1"/>
    </pci>
  </cpu>
</system>
"""


def topology(text: str) -> list[Status]:
    return statuses(ruled("nvidia.nccl_topology", facts_of(files={XML: text})))


def test_the_topology_of_a_real_machine() -> None:
    assert topology(REAL) == [Status.PASS]


def test_the_flat_topology_of_a_virtual_machine() -> None:
    (finding,) = ruled("nvidia.nccl_topology", facts_of(files={XML: FLAT}))
    assert finding.status is Status.WARN
    assert len(finding.evidence["value"]) == 3
    assert finding.evidence["file"] == XML


def test_one_hint_alone_is_a_small_machine() -> None:
    small = FLAT.replace("16.0 GT/s", "32.0 GT/s").replace('numaid="-1"', 'numaid="0"')
    assert topology(small) == [Status.PASS]
    assert topology(REAL.replace('numaid="1"', 'numaid="-1"')) == [Status.PASS]


def test_of_two_gpus_none_is_the_slower() -> None:
    slow = REAL.replace("0000:19:00.0", "0000:29:00.0").replace("32.0 GT/s", "64.0 GT/s").replace('dev="3"', 'dev="4"')
    both = REAL.replace("</system>", "") + slow.replace('<system version="1">', "")
    assert topology(both) == [Status.PASS]
    third = REAL.replace("0000:19:00.0", "0000:39:00.0").replace("32.0 GT/s", "64.0 GT/s").replace('dev="3"', 'dev="5"')
    assert topology(both.replace("</system>", "") + third.replace('<system version="1">', "")) == [Status.WARN]


def test_signs_that_are_certain() -> None:
    assert topology(TOPOLOGY) == [Status.WARN]
    assert topology(REAL.replace('sm="90" rank="3" gdr="1"', 'sm="90" rank="3" gdr="0"')) == [Status.WARN]
    gpu = '<pci busid="0000:19:00.0" class="0x030200" vendor="0x10de" link_speed="32.0 GT/s PCIe" link_width="{}"/>'
    assert topology(f'<system><cpu numaid="0"><pci busid="1">{gpu.format(0)}</pci></cpu></system>') == [Status.WARN]
    assert topology(f'<system><cpu numaid="0"><pci busid="1">{gpu.format(16)}</pci></cpu></system>') == [Status.PASS]


@pytest.mark.parametrize(("section", "found"), [
    (fabric("Completed", "NVML_SUCCESS"), Status.PASS),
    (fabric() + "        Health\n            Summary : Healthy\n", Status.PASS),
    (fabric() + "        Health\n            Summary : Unhealthy\n", Status.FAIL),
    (fabric("In Progress"), Status.FAIL),
    (fabric("Completed", "Initialization Failure"), Status.FAIL),
])  # fmt: skip
def test_words_of_a_fabric(section: str, found: Status) -> None:
    (finding,) = ruled("nvidia.fabric_state", facts_of({"nvidia-smi -q": details(gpu_details(sections=section))}))
    assert finding.status is found
    if found is Status.FAIL:
        assert finding.subject["device"] == "gpu0"
        assert "line" in finding.evidence


def test_a_manager_of_which_nothing_is_told() -> None:
    silent = "System has not been booted with systemd as init system (PID 1). Can't operate."
    (finding,) = ruled("nvidia.fabric_manager", host(silent, 8, "NVIDIA H100 80GB HBM3"))
    assert (finding.status, finding.message) == (Status.SKIP, silent)
    assert finding.evidence["command"] == SERVICE
    assert ruled("nvidia.fabric_manager", host(silent, 8, "NVIDIA L40S")) == []
    assert ruled("nvidia.fabric_manager", host("inactive", 8, "Tesla P100-SXM2-16GB")) == []


def test_a_gpu_with_a_fabric_needs_the_manager() -> None:
    facts = facts_of({"nvidia-smi -q": details(gpu_details(sections=fabric())), SERVICE: "inactive\n"})
    assert statuses(ruled("nvidia.fabric_manager", facts)) == [Status.WARN]


def test_a_host_without_a_manager_has_nothing_to_judge() -> None:
    facts = facts_of({"nvidia-smi": table(gpu_rows(0)) + NO_PROCESSES})
    for rule in ("fabric_manager", "fabric_errors", "fabric_version", "nccl_topology"):
        assert ruled(f"nvidia.{rule}", facts) == []


def test_the_fatal_error_is_told_though_others_followed() -> None:
    log = "\n".join([ERROR.format("fatal", 20034), ERROR.format("non-fatal", 12028)])
    (finding,) = ruled("nvidia.fabric_errors", facts_of(files={LOG: log}))
    assert "logged fatal NVSwitch error 20034" in finding.message
    assert finding.evidence["value"]
    (finding,) = ruled("nvidia.fabric_errors", facts_of(files={LOG: ERROR.format("non-fatal", 12028)}))
    assert "non-fatal NVSwitch error 12028" in finding.message


def test_an_error_of_no_known_switch_and_port() -> None:
    log = "[Jan 01 2024 10:00:00] [ERROR] [tid 47] detected NVSwitch fatal error 20034"
    (finding,) = ruled("nvidia.fabric_errors", facts_of(files={LOG: log}))
    assert finding.subject == {"host": "h"}
    assert finding.message.endswith("20034")


def test_whose_version_the_manager_should_have() -> None:
    commands = {"nvidia-smi": table(gpu_rows(0)) + NO_PROCESSES}
    facts = facts_of(commands, {LOG: STARTED.replace("999.10.01", "999.11.02")})
    (finding,) = ruled("nvidia.fabric_version", facts)
    assert finding.evidence["source"] == "nvidia-smi"


NUMA = '<cpu numaid="{}"><pci busid="1">{}</pci></cpu>'
GPU = (
    '<pci busid="0000:{0}:00.0" class="0x030200" vendor="0x10de" link_speed="{1} GT/s PCIe" link_width="16">'
    '<gpu dev="{2}" sm="{3}" rank="0" gdr="1"/></pci>'
)
CARD = (
    '<pci busid="0000:{0}:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="{1}">'
    '<nic><net name="{2}" dev="0" speed="{3}" port="1" guid="0x4711" gdr="{4}"/></nic></pci>'
)


def system(*devices: str, numa: int = 0) -> list[str]:
    """What speaks against the topology of a machine with these devices."""
    text = f"<system>{NUMA.format(numa, ''.join(devices))}</system>"
    (finding,) = ruled("nvidia.nccl_topology", facts_of(files={XML: text}))
    return list(finding.evidence.get("value", ()))


def test_two_hints_are_enough_and_one_is_not() -> None:
    older = GPU.format("19", "16.0", 0, 80)
    assert system(older, numa=-1) == []
    assert len(system(GPU.format("19", "16.0", 0, 90), numa=-1)) == 2
    assert len(system(older, CARD.format("1a", 0, "mlx5_0", 400000, 1), numa=-1)) == 2
    cards = [CARD.format(f"2{place}", 16, f"mlx5_{place}", speed, 1) for place, speed in enumerate((400, 400, 100))]
    assert system(*cards, numa=-1)[1:] == ["mlx5_2 is slower than its peers"]
    assert system(*cards[1:], numa=-1) == []


def test_a_card_that_is_not_for_rdma_needs_no_gpudirect() -> None:
    assert system(CARD.format("1a", 16, "eth0", 25000, 0)) == []
    assert system(CARD.format("1a", 16, "mlx5_0", 25000, 0)) == ["mlx5_0: no GPUDirect RDMA"]


def test_what_is_not_told_is_not_slower() -> None:
    gpus = [GPU.format(f"3{place}", "32.0", place, 90) for place in range(3)]
    assert system(*gpus, GPU.format("39", "", 9, 90)) == []
    assert system(*gpus, GPU.format("39", "16.0", 9, 90))[0] == "gpu9: slower than its peers"
    unnamed = GPU.format("39", "16.0", 9, 90).partition("<gpu")[0] + "</pci>"
    assert system(*gpus, unnamed)[0] == "0000:39:00.0: slower than its peers"


def test_one_gpu_below_the_root_is_no_flat_machine() -> None:
    gpu = GPU.format("19", "32.0", 0, 90)
    below, at_root = NUMA.format(-1, gpu), f'<cpu numaid="0">{gpu.replace(":19:", ":29:")}</cpu>'
    assert topology(f"<system>{below}{at_root}</system>") == [Status.PASS]


@pytest.mark.parametrize(("key", "status"), [
    ("Route Unhealthy", Status.FAIL), ("Access Timeout Recovery", Status.WARN),
    ("Route Recovery in progress", Status.WARN),
])  # fmt: skip
def test_the_parts_of_the_health_of_a_fabric(key: str, status: Status) -> None:
    for said, found in (("True", status), ("False", Status.PASS), ("N/A", Status.PASS)):
        section = fabric() + f"        Health\n            Bandwidth : Full\n            {key} : {said}\n"
        facts = facts_of({"nvidia-smi -q": details(gpu_details(sections=section))})
        assert statuses(ruled("nvidia.fabric_state", facts)) == [found]


def test_an_error_as_the_status_of_a_fabric_was_read() -> None:
    facts = facts_of({"nvidia-smi -q": details(gpu_details(sections=fabric("Completed", "Insufficient Resources")))})
    (finding,) = ruled("nvidia.fabric_state", facts)
    assert (finding.status, finding.message) == (Status.FAIL, "gpu0 could not join its fabric: Insufficient Resources")
    assert Status.WARN not in statuses(ruled("nvidia.unreadable", facts))
