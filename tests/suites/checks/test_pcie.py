"""Rules about PCI Express, from what lspci prints and sysfs holds to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

GPU = "3D controller: NVIDIA Corporation Device 2330 (rev a1)"
NIC = "Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]"
SMALL = "Ethernet controller: Broadcom Inc. and subsidiaries NetXtreme BCM5720 Gigabit Ethernet PCIe"


def block(head: str, slot: str = "19:00.0", cap: str = "32GT/s, Width x16", now: str = "32GT/s, Width x16") -> str:
    return f"{slot} {head}\n\t\tLnkCap:\tPort #0, Speed {cap}, ASPM L1\n\t\tLnkSta:\tSpeed {now}\n"


def bridge(slot: str, below: str, flag: str) -> str:
    return (
        f"{slot} PCI bridge: Made Up Switch\n\tBus: primary={slot[:2]}, secondary={below}, subordinate={below}, "
        f"sec-latency=0\n\t\tACSCtl:\tSrcValid{flag} TransBlk-\n"
    )


def pcie(*blocks: str, files: dict[str, str] | None = None) -> dict[str, Any]:
    return facts_of({"lspci -vvv": "".join(blocks)} if blocks else {}, files, sections=("pcie",))


def test_half_the_lanes_are_a_failure_with_the_line() -> None:
    (finding,) = ruled("pcie.width_low", pcie(block(GPU, now="32GT/s (ok), Width x8 (downgraded)")))
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "h", "device": "0000:19:00.0"})
    assert finding.message == "the PCIe link of accelerator 0000:19:00.0 has 8 of its 16 lanes"
    assert finding.evidence == {
        "command": "lspci -vvv", "value": 8, "threshold": 16, "source": "what the device itself can do",
        "line": "LnkSta:\tSpeed 32GT/s (ok), Width x8 (downgraded)",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("head", "cap", "now", "found"),
    [
        (GPU, "32GT/s, Width x16", "32GT/s, Width x16", [Status.PASS]),
        (GPU, "32GT/s, Width x16", "2.5GT/s (downgraded), Width x16 (ok)", [Status.PASS]),
        (NIC, "16GT/s, Width x16", "16GT/s, Width x8 (downgraded)", [Status.FAIL]),
        ("Infiniband controller: Made Up HCA", "16GT/s, Width x16", "16GT/s, Width x4", [Status.FAIL]),
        ("Ethernet controller: Intel Corporation E810-C", "16GT/s, Width x16", "16GT/s, Width x8", [Status.FAIL]),
        (SMALL, "5GT/s, Width x2", "5GT/s (ok), Width x1 (downgraded)", []),
        ("PCI bridge: PEX890xx", "32GT/s, Width x16", "16GT/s (downgraded), Width x8 (downgraded)", []),
        ("Non-Volatile memory controller: Disk", "16GT/s, Width x4", "16GT/s, Width x2", []),
    ],
)
def test_whose_lanes_matter(head: str, cap: str, now: str, found: list[Status]) -> None:
    assert statuses(ruled("pcie.width_low", pcie(block(head, cap=cap, now=now)))) == found


def test_a_slot_with_fewer_lanes_is_how_the_board_was_made() -> None:
    slot = bridge("18:00.0", "19", "-") + "\t\tLnkCap:\tPort #1, Speed 32GT/s, Width x8\n"
    (finding,) = ruled("pcie.width_low", pcie(slot, block(NIC, now="32GT/s, Width x8 (downgraded)")))
    assert finding.status is Status.WARN
    assert "the slot itself has 8" in finding.message


@pytest.mark.parametrize(
    ("root", "switch", "found"),
    [(16, 8, [("0000:16:00.0", "8 of 16")]), (16, 16, []), (8, 8, [])],
)
def test_a_switch_that_has_lost_lanes(root: int, switch: int, found: list[tuple[str, str]]) -> None:
    def port(slot: str, buses: str, most: int, now: int) -> str:
        first, last = buses.split("-")
        return (
            f"{slot} PCI bridge: Made Up\n\tBus: primary=00, secondary={first}, subordinate={last}, sec-latency=0\n"
            f"\t\tLnkCap:\tSpeed 32GT/s, Width x{most}\n\t\tLnkSta:\tSpeed 32GT/s, Width x{now}\n"
        )

    ports = [
        port("15:01.0", "16-1f", root, switch),
        port("16:00.0", "17-1f", 16, switch),
        port("17:03.0", "1b-1b", 16, 8),
    ]
    facts = pcie(*ports, block(NIC, "1b:00.0", cap="32GT/s, Width x8", now="32GT/s, Width x8"))
    findings = [each for each in ruled("pcie.width_low", facts) if each.status is Status.FAIL]
    assert [(each.subject["device"], each.message.partition(" has ")[2][:7]) for each in findings] == found


def test_width_in_sysfs_names_the_file() -> None:
    folder = "/sys/bus/pci/devices/0000:c1:00.0"
    files = {"class": "0x120000", "vendor": "0x19e5", "current_link_width": "8", "max_link_width": "16"}
    facts = pcie(files={f"{folder}/{name}": text for name, text in files.items()})
    (finding,) = ruled("pcie.width_low", facts)
    assert (finding.status, finding.evidence["file"]) == (Status.FAIL, f"{folder}/current_link_width")


def test_a_lower_speed_is_a_remark_and_said_once() -> None:
    slow = [block(GPU, f"{slot}:00.0", now="16GT/s (downgraded), Width x16") for slot in ("19", "29", "39", "49", "59")]
    (finding,) = ruled("pcie.speed_low", pcie(*slow))
    assert (finding.status, finding.subject) == (Status.INFO, {"host": "h"})
    assert "0000:49:00.0 16 of 32 GT/s and 1 more" in finding.message
    assert statuses(ruled("pcie.speed_low", pcie(block(GPU)))) == [Status.PASS]


def test_a_gpu_that_sleeps_or_is_judged_by_its_own_tool_is_no_remark() -> None:
    assert ruled("pcie.speed_low", pcie(block(GPU, now="2.5GT/s (downgraded), Width x16"))) == []
    csv = "index, pci.bus_id, pcie.link.gen.current, pcie.link.gen.max\n0, 00000000:19:00.0, 4, 5\n"
    commands = {"lspci -vvv": block(GPU, now="16GT/s, Width x16"), "nvidia-smi --query-gpu=index --format=csv": csv}
    assert ruled("pcie.speed_low", facts_of(commands, sections=("pcie", "accelerators"))) == []


def test_a_network_card_below_its_speed_is_a_warning() -> None:
    card = block(NIC, now="16GT/s (downgraded), Width x16")
    (finding,) = ruled("pcie.card_speed_low", pcie(card))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "0000:19:00.0")
    assert finding.message == "the PCIe link of network card 0000:19:00.0 runs at 16 of its 32 GT/s"
    assert statuses(ruled("pcie.speed_low", pcie(card))) == [Status.PASS]
    assert statuses(ruled("pcie.card_speed_low", pcie(block(NIC)))) == [Status.PASS]


@pytest.mark.parametrize(("gigabits", "found"), [(200, []), (400, [Status.WARN])])
def test_a_network_card_whose_ports_need_no_more_is_a_remark(gigabits: int, found: list[Status]) -> None:
    port = {"pci_slot": "0000:19:00.0", "speed_bytes_per_second": gigabits * 10**9 // 8}
    facts = pcie(block(NIC, now="16GT/s (downgraded), Width x16")) | {"network": {"interfaces": [port]}}
    assert statuses(ruled("pcie.card_speed_low", facts)) == found


def test_a_network_card_in_a_slot_of_an_older_generation_is_a_remark() -> None:
    slot = bridge("18:00.0", "19", "-") + "\t\tLnkCap:\tPort #1, Speed 16GT/s, Width x16\n"
    facts = pcie(slot, block(NIC, now="16GT/s (downgraded), Width x16"))
    assert ruled("pcie.card_speed_low", facts) == []
    assert statuses(ruled("pcie.speed_low", facts)) == [Status.INFO]


@pytest.mark.parametrize("text", [f"19:00.0 {GPU[:-9]} (rev ff)\n", f"19:00.0 {GPU}\n\t!!! Unknown header type 7f\n"])
def test_a_device_that_reads_all_ones_is_off_the_bus(text: str) -> None:
    (finding,) = ruled("pcie.off_bus", pcie(text))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "0000:19:00.0")
    assert finding.evidence["line"] == text.splitlines()[-1].strip()
    assert statuses(ruled("pcie.off_bus", pcie(block(GPU)))) == [Status.PASS]


def test_acs_above_a_device_is_a_warning() -> None:
    small = bridge("50:00.0", "51", "+") + block(SMALL, "51:00.0", cap="5GT/s, Width x2")
    facts = pcie(bridge("18:00.0", "19", "+"), block(GPU), small)
    (finding,) = ruled("pcie.acs_on", facts)
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "0000:18:00.0")
    assert finding.evidence["line"] == "ACSCtl:\tSrcValid+ TransBlk-"


def test_acs_in_a_virtual_machine_has_to_be_on() -> None:
    virtual = "00:03.0 Ethernet controller: Red Hat, Inc. Virtio network device\n"
    assert ruled("pcie.acs_on", pcie(bridge("18:00.0", "19", "+"), block(GPU), virtual)) == []


def test_acs_where_nothing_could_be_a_peer_is_no_matter() -> None:
    assert (
        ruled("pcie.acs_on", pcie(bridge("50:00.0", "51", "+"), block(SMALL, "51:00.0", cap="5GT/s, Width x2"))) == []
    )


def test_acs_at_a_bridge_alone_was_worth_recording() -> None:
    assert statuses(ruled("pcie.acs_on", pcie(bridge("50:00.0", "51", "+")))) == [Status.WARN]


def test_acs_off_passes() -> None:
    assert statuses(ruled("pcie.acs_on", pcie(bridge("18:00.0", "19", "-"), block(GPU)))) == [Status.PASS]


@pytest.mark.parametrize(
    ("rule", "head", "line", "found"),
    [
        ("relaxed_ordering_off", GPU, "RlxdOrd- ExtTag+", [Status.INFO]),
        ("relaxed_ordering_off", GPU, "RlxdOrd+ ExtTag+", [Status.PASS]),
        ("relaxed_ordering_off", GPU + " Virtual Function", "RlxdOrd- ExtTag+", []),
        ("relaxed_ordering_off", SMALL, "RlxdOrd- ExtTag-", []),
        ("read_request_small", NIC, "MaxPayload 256 bytes, MaxReadReq 256 bytes", [Status.WARN]),
        ("read_request_small", NIC, "MaxPayload 256 bytes, MaxReadReq 512 bytes", [Status.PASS]),
        ("read_request_small", NIC + " Virtual Function", "MaxPayload 128 bytes, MaxReadReq 128 bytes", []),
        ("read_request_small", GPU, "MaxPayload 128 bytes, MaxReadReq 128 bytes", []),
    ],
)
def test_what_a_device_is_set_to(rule: str, head: str, line: str, found: list[Status]) -> None:
    cap = "5GT/s, Width x2" if head == SMALL else "32GT/s, Width x16"
    assert statuses(ruled(f"pcie.{rule}", pcie(block(head, cap=cap) + f"\t\t\t{line}\n"))) == found


def test_an_iommu_that_translates_is_a_remark() -> None:
    on = {"/sys/class/iommu/dmar0/x": "", "/proc/cmdline": "intel_iommu=on"}
    assert statuses(ruled("pcie.iommu_translates", pcie(block(GPU), files=on))) == [Status.INFO]
    passing = on | {"/proc/cmdline": "iommu=pt"}
    assert statuses(ruled("pcie.iommu_translates", pcie(block(GPU), files=passing))) == [Status.PASS]
    assert ruled("pcie.iommu_translates", pcie(block(SMALL, cap="5GT/s, Width x2"), files=on)) == []


def test_a_device_with_fewer_lanes_than_its_peers_where_its_own_ability_is_unknown() -> None:
    def gpu(slot: str, lanes: int) -> str:
        return f"{slot}:00.0 {GPU}\n\t\tLnkSta:\tSpeed 16GT/s, Width x{lanes}\n"

    (finding,) = fleet("pcie.width_differs", a=pcie(gpu("19", 16), gpu("29", 8)), b=pcie(gpu("19", 16)))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "a", "device": "0000:29:00.0"})


def test_an_accelerator_that_is_missing_is_named() -> None:
    both = pcie(block(GPU), block(GPU, "29:00.0"))
    (finding,) = fleet("pcie.accelerators_differ", a=both, b=pcie(block(GPU)))
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "b", "device": "0000:29:00.0"})
    assert statuses(fleet("pcie.accelerators_differ", a=both, b=both)) == [Status.PASS]
    assert fleet("pcie.accelerators_differ", a=both) == []


def test_where_addresses_are_unlike_only_numbers_are_compared() -> None:
    a, b = pcie(block(GPU), block(GPU, "29:00.0")), pcie(block(GPU, "99:00.0"))
    (finding,) = fleet("pcie.accelerators_differ", a=a, b=b)
    assert finding.subject == {}
    assert "a: 2; b: 1" in finding.message


def test_a_device_that_was_there_earlier() -> None:
    before, after = pcie(block(GPU), block(NIC, "29:00.0")), pcie(block(GPU))
    (finding,) = ruled("pcie.device_gone", after, earlier=before)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "0000:29:00.0")
    assert statuses(ruled("pcie.device_gone", before, earlier=before)) == [Status.PASS]
    assert ruled("pcie.device_gone", pcie(), earlier=before) == []


def test_what_a_rule_of_its_own_judges_is_not_told_twice() -> None:
    narrow = block(GPU, now="32GT/s, Width x8")
    csv = "index, pci.bus_id, pcie.link.width.current, pcie.link.width.max\n0, 00000000:19:00.0, 8, 16\n"
    commands = {"lspci -vvv": narrow, "nvidia-smi --query-gpu=index --format=csv": csv}
    facts = facts_of(commands, sections=("pcie", "accelerators"))
    assert statuses(ruled("nvidia.pcie_width", facts)) == [Status.FAIL]
    assert ruled("pcie.width_low", facts) == []
    assert statuses(ruled("pcie.width_low", facts_of({"lspci -vvv": narrow}, sections=("pcie",)))) == [Status.FAIL]
