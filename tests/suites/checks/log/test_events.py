"""Rules about logs, from their lines to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from probes.host import Answer
from probes.log.patterns import PATTERNS
from suites.checks import rules
from suites.checks.log.kinds import KINDS
from suites.checks.log.xid import MEANINGS
from suites.report import Finding, Status
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

BOOT = "[    0.000000] Linux version 9.1 (made up)\n"


def logged(*lines: str, **files: str) -> dict[str, Any]:
    text = BOOT + "".join(f"[   {number}.000000] {line}\n" for number, line in enumerate(lines, 1))
    return facts_of({"dmesg": text}, {f"/var/log/{name}": held for name, held in files.items()}, sections=("log",))


def xid(code: int, rest: str = "pid=1, name=python3") -> list[Finding]:
    return ruled("log.xid", logged(f"NVRM: Xid (PCI:0000:3b:00): {code}, {rest}"))


@pytest.mark.parametrize(
    ("code", "rest", "status", "words"),
    [
        (79, "GPU has fallen off the bus.", Status.FAIL, "reboot"),
        (48, "DBE", Status.FAIL, "gpu-reset"),
        (119, "Timeout after 6s of waiting for RPC response", Status.FAIL, "gpu-reset"),
        (54, "", Status.FAIL, "power"),
        (74, "NVLink: fatal error", Status.FAIL, "nvlink"),
        (149, "NETIR_LINK_EVT Nonfatal XC0 i0 Link 08", Status.WARN, "nvlink"),
        (149, "NETIR_LINK_EVT Fatal XC0 i0 Link 08", Status.FAIL, "nvlink"),
        (154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", Status.FAIL, "do what"),
        (154, "GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)", Status.INFO, ""),
        (31, "MMU Fault", Status.INFO, "program"),
        (13, "Graphics SM Warp Exception", Status.INFO, "program"),
        (63, "Row Remapper", Status.INFO, "no need"),
        (9999, "never heard of", Status.WARN, "catalogue"),
    ],
)
def test_what_an_xid_means(code: int, rest: str, status: Status, words: str) -> None:
    (finding,) = xid(code, rest)
    assert (finding.status, finding.subject) == (status, {"host": "h", "device": "0000:3b:00.0"})
    assert words in (finding.remedy or "")
    assert finding.evidence["value"] == code
    assert f"Xid (PCI:0000:3b:00): {code}" in finding.evidence["line"]


def test_the_classes_of_xids_do_not_overlap() -> None:
    assert len(MEANINGS) == 1 + 3 + 13 + 8 + 6 + 5


@pytest.mark.parametrize(
    ("now", "able", "status"),
    [
        ("16.0 GT/s PCIe x8", "16.0 GT/s PCIe x16", Status.FAIL),
        ("8.0 GT/s PCIe x16", "16.0 GT/s PCIe x16", Status.WARN),
        ("5.0 GT/s PCIe x1", "5.0 GT/s PCIe x2", Status.PASS),
        ("8.0 GT/s PCIe x2", "8.0 GT/s PCIe x4", Status.PASS),
    ],
)
def test_bandwidth_that_the_kernel_finds_limited(now: str, able: str, status: Status) -> None:
    limit = f"limited by {now} link at 0000:3a:00.0 (capable of 252.048 Gb/s with {able} link)"
    line = f"mlx5_core 0000:3b:00.0: 63.008 Gb/s available PCIe bandwidth, {limit}"
    (finding,) = ruled("log.pcie_bandwidth_limited", logged(line))
    assert finding.status is status


@pytest.mark.parametrize(("times", "status"), [(0, Status.PASS), (1, Status.INFO), (4, Status.INFO), (5, Status.FAIL)])
def test_a_link_that_is_lost_again_and_again(times: int, status: Status) -> None:
    facts = logged(*["mlx5_core 0000:3b:00.0 ens3: Link down"] * times)
    (finding,) = ruled("log.link_flaps", facts)
    assert finding.status is status
    if times:
        assert finding.subject["device"] == "ens3"
        assert (finding.evidence["value"], finding.evidence["threshold"]) == (times, 5)


def test_lost_links_of_several_interfaces_are_not_added_up() -> None:
    lines = [f"mlx5_core 0000:3b:00.0 ens{number}: Link down" for number in range(6)]
    assert set(statuses(ruled("log.link_flaps", logged(*lines)))) == {Status.INFO}


def test_a_lower_speed_of_a_gpu_or_one_that_carries_the_port_is_a_remark() -> None:
    limit = "limited by 8.0 GT/s PCIe x16 link at 0000:3a:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)"
    gpu = logged(f"amdgpu 0000:3b:00.0: 126.028 Gb/s available PCIe bandwidth, {limit}")
    card = logged(f"{CARD}: 126.028 Gb/s available PCIe bandwidth, {limit}")
    port = {"pci_slot": "0000:3b:00.0", "speed_bytes_per_second": 100_000_000_000 // 8}
    for facts, found in (
        (gpu, Status.INFO),
        (card, Status.WARN),
        (card | {"network": {"interfaces": [port]}}, Status.INFO),
    ):
        assert statuses(ruled("log.pcie_bandwidth_limited", facts)) == [found]


def flapping(lines: list[str]) -> list[Status]:
    facts = facts_of({}, {"/var/log/syslog": "".join(f"{line}\n" for line in lines)}, sections=("log",))
    return statuses(ruled("log.link_flaps", facts))


@pytest.mark.parametrize(
    ("stamp", "times", "status"),
    [
        ("Dec  {}", [f"1 03:0{minute}:00" for minute in range(5)], Status.FAIL),
        ("Dec  {}", [f"{day} 03:00:00" for day in range(1, 8)], Status.INFO),
        ("2026-12-{}.123456+00:00", [f"01T03:0{minute}:00" for minute in range(5)], Status.FAIL),
        ("2026-12-{}.123456+00:00", [f"0{day}T03:00:00" for day in range(1, 8)], Status.INFO),
    ],
)
def test_losses_over_many_days_are_no_flapping(stamp: str, times: list[str], status: Status) -> None:
    lines = [f"{stamp.format(time)} n1 kernel: mlx5_core 0000:3b:00.0 ens3: Link down" for time in times]
    assert flapping(lines) == [status]


def test_a_link_that_is_lost_at_every_boot_does_not_flap() -> None:
    boot = ["n1 kernel: Linux version 9.1 (made up)", "n1 kernel: mlx5_core 0000:3b:00.0 ens3: Link down"]
    assert flapping([f"Dec  1 03:0{minute}:00 {line}" for minute in range(7) for line in boot]) == [Status.INFO]
    assert flapping([line for _ in range(7) for line in boot]) == [Status.INFO]


def test_what_another_program_quotes_is_no_event() -> None:
    quoted = 'pattern "NVRM: Xid (PCI:0000:4c:00): 79" leads to a page'
    for writer in ("monitor.py[811]", "ansible-command"):
        for time in ("Dec  1 03:00:00", "2026-12-01T03:00:00.000000+00:00"):
            text = f"{time} n1 {writer}: {quoted}\n"
            facts = facts_of({}, {"/var/log/syslog": text}, sections=("log",))
            assert statuses(ruled("log.xid", facts)) == [Status.PASS]


CARD = "mlx5_core 0000:3b:00.0"
LEAK = "QUERY_X(0x755) timeout. Will cause a leak of a command resource"
HEALTH = "print_health_info:423:(pid 0): Health issue observed, "


@pytest.mark.parametrize(
    ("rule", "status", "line"),
    [
        ("gpu_lost", Status.FAIL, "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."),
        ("pcie_power_insufficient", Status.INFO, f"{CARD}: Detected insufficient power on the PCIe slot (27W)."),
        ("module_error", Status.FAIL, f"{CARD}: Port module event[error]: module 0, Cable error, High Temperature"),
        ("transmit_timeout", Status.WARN, f"{CARD} ens3: TX timeout detected"),
        ("transmit_timeout", Status.WARN, f"{CARD} ens3: NETDEV WATCHDOG: CPU: 3: transmit queue 12 timed out 5010 ms"),
        ("nic_health", Status.FAIL, f"{CARD}: {HEALTH}firmware internal error, severity(3) ERROR:"),
        ("temperature", Status.WARN, f"{CARD}: {HEALTH}High temperature, severity(2) CRITICAL:"),
        ("nic_command_timeout", Status.WARN, f"{CARD}: {LEAK}"),
        ("gpu_reset_failed", Status.FAIL, "amdgpu 0000:c5:00.0: amdgpu: GPU recovery failed!"),
        (
            "gpu_ring_timeout",
            Status.WARN,
            "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=2",
        ),
        ("sxid", Status.FAIL, "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
        ("sxid", Status.WARN, "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress"),
        ("out_of_memory", Status.WARN, "Out of memory: Killed process 7 (python3)"),
        ("npu_abnormal", Status.FAIL, "[ascend] [drv_pcie] [x 1] <y> Device is abnormal. (dev_id=5; z)"),
        ("pcie_error_fatal", Status.FAIL, "nvme 0000:40:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=x"),
        ("memory_error_uncorrected", Status.FAIL, "EDAC MC2: 1 UE memory read error"),
        ("hardware_error_corrected", Status.INFO, "mce: [Hardware Error]: Machine check events logged"),
    ],
)
def test_events_that_say_all_themselves(rule: str, status: Status, line: str) -> None:
    (finding,) = ruled(f"log.{rule}", logged(line))
    assert (finding.status, finding.evidence["command"]) == (status, "dmesg")
    assert line in finding.evidence["line"]
    assert statuses(ruled(f"log.{rule}", logged())) == [Status.PASS]


def test_a_card_that_remarks_on_its_health_has_not_failed() -> None:
    facts = logged(f"{CARD}: {HEALTH}PCI poisoned error, severity(4) WARNING:")
    assert statuses(ruled("log.nic_health", facts)) == [Status.PASS]


@pytest.mark.parametrize(
    ("rule", "line", "words"),
    [
        ("driver_mismatch", "NVRM: API mismatch: the client has the version 1.2, but", "versions: the client"),
        ("nic_command_timeout", f"{CARD}: {LEAK}", ": QUERY_X(0x755) timeout"),
        ("transmit_timeout", f"{CARD} ens3: NETDEV WATCHDOG: transmit queue 1 timed out 5 ms", "at ens3"),
    ],
)
def test_the_words_of_a_line_are_taken_whole(rule: str, line: str, words: str) -> None:
    (finding,) = ruled(f"log.{rule}", logged(line))
    assert words in (finding.message or "")


@pytest.mark.parametrize(("times", "found"), [(99, []), (100, [Status.WARN])])
def test_corrected_errors_are_normal_until_they_are_many(times: int, found: list[Status]) -> None:
    lines = ["pcieport 0000:40:01.0: AER: Corrected error received: 0000:41:00.0"] * times
    assert statuses(ruled("log.pcie_error_corrected", logged(*lines))) == found


def test_every_kind_of_event_has_a_rule() -> None:
    own = {"xid", "sxid", "pcie_bandwidth_limited", "link_lost", "fabric_manager_error"}
    assert {pattern.kind for pattern in PATTERNS} - own == {kind.name for kind in KINDS}
    assert {f"log.{kind.name}" for kind in KINDS} <= set(rules())


def test_a_log_that_may_not_be_read_is_one_word_and_no_pass() -> None:
    denied = Answer(1, "", "dmesg: read kernel buffer failed: Operation not permitted\n")
    facts = facts_of({"dmesg": denied}, sections=("log",))
    (finding,) = ruled("log.unreadable", facts)
    assert finding.status is Status.SKIP
    assert "root may read it" in finding.message
    assert [finding for name in rules() if name.startswith("log.") for finding in ruled(name, facts)] == [finding]


def test_the_log_of_the_fabric_manager_says_nothing_of_the_kernel() -> None:
    line = "[Feb 27 2025 15:10:02] [ERROR] [tid 1] failed to do what was asked\n"
    facts = facts_of({}, {"/var/log/fabricmanager.log": line}, sections=("log",))
    (finding,) = ruled("log.fabric_manager_error", facts)
    assert (finding.status, finding.evidence["file"]) == (Status.WARN, "/var/log/fabricmanager.log")
    assert ruled("log.xid", facts) == []
    assert ruled("log.unreadable", facts) == []
    assert ruled("log.fabric_manager_error", logged()) == []


def test_an_error_of_the_fabric_is_not_told_twice() -> None:
    line = "[Feb 27 2025 15:10:02] [ERROR] [tid 1] failed to do what was asked\n"
    files = {"/var/log/fabricmanager.log": line}
    assert ruled("log.fabric_manager_error", facts_of({}, files, sections=("log", "accelerators"))) == []
