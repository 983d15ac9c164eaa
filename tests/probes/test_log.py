"""Events in logs: the words of the programs that write them, folded and without what identifies a machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import log
from probes.host import Answer
from probes.log import events
from probes.log.patterns import PATTERNS
from probes.reading import State
from probes.recorded import open_recorded
from probes.recorded.texthost import TextHost
from probes.visit import Visit
from tests.tree_host import TreeHost

BOOT = "[    0.000000] Linux version 9.1 (made up)\n"

LINES = {
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=77, GPU has fallen off the bus.": ("xid", "0000:3b:00.0", 79),
    "NVRM: Xid (0000:3b:00): 31, Ch 00000010, engmask 00000101": ("xid", "0000:3b:00.0", 31),
    "NVRM: GPU at PCI:0000:3b:00: GPU-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f": None,
    "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.": ("gpu_lost", "0000:3b:00.0", None),
    "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x24:0x72:1568)": ("gpu_init_failed", "0000:3b:00.0", None),
    "NVRM: API mismatch: the client has the version 1.2, but": ("driver_mismatch", None, None),
    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up": ("sxid", "0000:c1:00.0", 20034),
    "mlx5_core 0000:5e:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:5d:00.0 "
    "(capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)": ("pcie_bandwidth_limited", "0000:5e:00.0", None),
    "mlx5_core 0000:5e:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)": None,
    "mlx5_core 0000:5e:00.0: mlx5_pcie_event:301:(pid 12): Detected insufficient power on the PCIe slot (27W).":
        ("pcie_power_insufficient", "0000:5e:00.0", None),
    "mlx5_core 0000:5e:00.0: Port module event: module 1, Cable plugged": None,
    "mlx5_core 0000:5e:00.0: Port module event[error]: module 1, Cable error, Bus stuck (I2C or data shorted)":
        ("module_error", "0000:5e:00.0", None),
    "mlx5_core 0000:5e:00.0: temp_warn:212:(pid 0): High temperature on sensors with bit set 0 1":
        ("temperature", "0000:5e:00.0", None),
    "mlx5_core 0000:5e:00.0 ens3: TX timeout detected": ("transmit_timeout", "0000:5e:00.0", None),
    "NETDEV WATCHDOG: ens3 (mlx5_core): transmit queue 7 timed out": ("transmit_timeout", "ens3", None),
    "mlx5_core 0000:5e:00.0: poll_health:800:(pid 0): device's health compromised - reached miss count":
        ("nic_health", "0000:5e:00.0", None),
    "mlx5_core 0000:5e:00.0: mlx5_cmd_out_err:838:(pid 9): ACCESS_REG(0x805) op_mod(0x1) failed, status bad": None,
    "mlx5_core 0000:5e:00.0: wait_func:1:(pid 9): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource":
        ("nic_command_timeout", "0000:5e:00.0", None),
    "[ascend] [drv_pcie] [made_up 12] <kworker/u3:0:15:15> Device is abnormal. (dev_id=5; msg_type=3)":
        ("npu_abnormal", None, 5),
    "[ascend] [devdrv] [made_up 12] <swapper/0:0> Heartbeat lost. (dev_id=2)": ("npu_heartbeat_lost", None, None),
    "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!": ("gpu_reset", "0000:c1:00.0", None),
    "amdgpu 0000:c1:00.0: amdgpu: socket: 0, die: 1 2 uncorrectable hardware errors detected in total in umc block":
        ("gpu_memory_uncorrected", "0000:c1:00.0", None),
    "amdgpu 0000:c1:00.0: amdgpu: 0 uncorrectable hardware errors detected in total in umc block": None,
    "pcieport 0000:40:01.0: pciehp: Slot(12): Link Down": ("pcie_link_down", "0000:40:01.0", None),
    "pcieport 0000:40:01.0: DPC: containment event, status:0x1f01": ("pcie_contained", "0000:40:01.0", None),
    "pcieport 0000:40:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)":
        ("pcie_error_fatal", "0000:40:01.0", None),
    "nvme 0000:41:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer":
        ("pcie_error_nonfatal", "0000:41:00.0", None),
    "pcieport 0000:40:01.0: AER: Multiple Corrected error received: 0000:41:00.0":
        ("pcie_error_corrected", "0000:41:00.0", None),
    "pcieport 0000:40:01.0: AER: Corrected error message received from 0000:41:00.0":
        ("pcie_error_corrected", "0000:41:00.0", None),
    "Out of memory: Killed process 4242 (python3) total-vm:12kB": ("out_of_memory", "python3", None),
    "Memory cgroup out of memory: Killed process 4242 (python3) total-vm:12kB": ("out_of_memory", "python3", None),
    "INFO: task python3:4242 blocked for more than 120 seconds.": ("hung_task", "python3", None),
    "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:4242]": ("lockup", None, None),
    "EDAC MC2: 1 UE memory read error on CPU_SrcID#1": ("memory_error_uncorrected", "MC2", None),
    "EDAC MC2: 3 CE memory read error on CPU_SrcID#1": ("memory_error_corrected", "MC2", None),
    "EDAC MC2: Giving out device to module i10nm_edac": None,
    "{2}[Hardware Error]: event severity: recoverable": ("hardware_error_fatal", None, None),
    "mce: [Hardware Error]: Machine check events logged": ("hardware_error_corrected", None, None),
    "CPU12: Package temperature above threshold, cpu clock throttled": ("cpu_throttled", "CPU12", None),
    "systemd-networkd[812]: ib3: Lost carrier": ("link_lost", "ib3", None),
    "systemd-networkd[812]: ib3: Gained carrier": None,
    "systemd-networkd[812]: veth12ab: Lost carrier": None,
    "systemd-networkd[812]: enx02005e000001: Lost carrier": None,
    "NetworkManager[9]: <info> device (ens3): carrier: link disconnected": None,
    "NetworkManager[9]: <info> device (ens3): carrier: link connected": None,
    "mlx5_core 0000:5e:00.0 ens3: Link down": ("link_lost", "ens3", None),
    "igb 0000:02:00.0 eno1: igb: eno1 NIC Link is Down": ("link_lost", "eno1", None),
    "bond0: (slave ens3): link status definitely down, disabling slave": ("link_lost", "ens3", None),
    "ata1: SATA link down (SStatus 0 SControl 300)": None,
    "docker0: port 1(veth12ab) entered disabled state": None,
}  # fmt: skip
LINES["NetworkManager[9]: <info> device (ens3): carrier: link disconnected"] = ("link_lost", "ens3", None)


@pytest.mark.parametrize("stamp", ["[ 1234.567890] ", "[Sun Feb 23 16:24:18 2025] ", "Aug 17 06:18:01 n1 kernel: ", ""])
@pytest.mark.parametrize(("line", "found"), LINES.items())
def test_lines(line: str, found: tuple[str, str | None, int | None] | None, stamp: str) -> None:
    told = [(event.kind, event.device, event.code) for event in events.find(f"{BOOT}{stamp}{line}\n")]
    assert told == ([found] if found else [])


def test_every_kind_of_event_is_among_these_lines() -> None:
    seen = {found[0] for found in LINES.values() if found}
    assert {pattern.kind for pattern in PATTERNS} - seen == {
        "fabric_manager_error",
        "gpu_ring_timeout",
        "gpu_reset_failed",
    }


def test_what_is_said_again_is_counted() -> None:
    line = "NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n"
    text = f"[Sun Feb 23 16:24:18 2025] {line}[Sun Feb 23 16:24:19 2025] {line.replace('48', '64')}"
    first, second = events.find(text + f"[Sun Feb 23 16:27:12 2025] {line}")
    assert (first.code, first.count, first.first, first.last) == (
        48, 2, "Sun Feb 23 16:24:18 2025", "Sun Feb 23 16:27:12 2025",
    )  # fmt: skip
    assert (second.code, second.count) == (64, 1)


def test_what_two_programs_say_is_counted_once() -> None:
    kernel = "[ 1.000000] mlx5_core 0000:5e:00.0 ens3: Link down\n"
    daemon = "Aug 17 06:18:01 n1 systemd-networkd[8]: ens3: Lost carrier\n"
    (event,) = events.find((kernel + daemon) * 3 + kernel)
    assert event.count == 4


def test_identities_are_hidden() -> None:
    (event,) = events.find("[ 1.000000] mlx5_core 0000:5e:00.0 ens3: Link down, was 02:00:5e:00:53:01\n")
    assert event.line == "[ 1.000000] mlx5_core 0000:5e:00.0 ens3: Link down, was (hidden)"


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("[   18.617069] a", "18.617069"),
        ("<6>[   18.617069] a", "18.617069"),
        ("[Sun Dec  1 14:54:40 2024] a", "Sun Dec  1 14:54:40 2024"),
        ("[Feb 27 2025 15:10:02] [ERROR] a", "Feb 27 2025 15:10:02"),
        ("2025-02-27T15:10:02,123456+00:00 a", "2025-02-27T15:10:02,123456+00:00"),
        ("Aug  7 06:18:01 node-a kernel: a", "Aug  7 06:18:01"),
        ("dmesg: read kernel buffer failed: Operation not permitted", None),
        ("", None),
    ],
)
def test_times(line: str, time: str | None) -> None:
    assert events.stamp(line) == time


def test_a_log_without_events_is_none_and_not_unknown(tree: TreeHost) -> None:
    tree.tools = {"dmesg": BOOT}
    assert log.read(Visit(tree)).events == ()


def test_a_log_that_may_not_be_read_is_unknown(tree: TreeHost) -> None:
    tree.tools = {"dmesg": Answer(1, "", "dmesg: read kernel buffer failed: Operation not permitted\n")}
    found = log.read(Visit(tree))
    assert found.events is None
    assert found.sources["dmesg"].state is State.REFUSED


def test_the_same_words_as_a_recorded_output() -> None:
    host = TextHost({}, {"dmesg -T": Answer(0, "dmesg: read kernel buffer failed: Operation not permitted\n", "")})
    assert log.read(Visit(host)).events is None


def test_unknown_without_a_log(tree: TreeHost) -> None:
    tree.tools = {}
    assert log.read(Visit(tree)) == log.LogFacts(None, {})


def test_parts_of_a_log_in_several_files(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"dmesg_{number}.txt").write_text(f"[ {number}.000000] EDAC MC{number}: 1 UE memory read error\n")
    (recorded,) = open_recorded(tmp_path)
    assert [event.device for event in log.read(Visit(recorded.host)).events or ()] == ["MC1", "MC2"]


def test_files_of_a_recorded_host() -> None:
    line = "Aug 17 06:18:01 n1 systemd-networkd[8]: ib3: Lost carrier\n"
    fabric = "[Feb 27 2025 15:10:02] [ERROR] [tid 1] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch "
    files = {
        "/var/log/syslog": line * 3,
        "/var/log/messages": "",
        "/var/log/fabricmanager.log": f"{fabric}pci bus id 00000000:86:00.0 physical id 3 port 61\n",
    }
    found = log.read(Visit(TextHost(files, {})))
    flap, switch = found.events or ()
    assert (flap.kind, flap.count, flap.source) == ("link_lost", 3, "/var/log/syslog")
    assert (switch.kind, switch.device, switch.code) == ("fabric_manager_error", "0000:86:00.0", 12028)
    assert {name: reading.state for name, reading in found.sources.items()} == {
        "syslog": State.TOLD, "messages": State.FAILED, "fabric manager": State.TOLD,
    }  # fmt: skip


def test_of_a_file_only_the_end_is_read(tree: TreeHost) -> None:
    line = "Aug 17 06:18:01 n1 kernel: Out of memory: Killed process 1 ({})\n"
    filling = "Aug 17 06:18:02 n1 systemd[1]: made up\n" * 30_000
    tree.write({"/var/log/syslog": line.format("a") + filling + line.format("b")})
    tree.tools = {}
    found = log.read(Visit(tree))
    assert [(event.device, event.source) for event in found.events or ()] == [("b", "/var/log/syslog")]
    assert found.sources["syslog"].source == "/var/log/syslog"


def test_the_kernels_lines_in_a_file_are_not_counted_again(tree: TreeHost) -> None:
    line = "Out of memory: Killed process 1 (a)\n"
    tree.write({"/var/log/kern.log": f"Aug 17 06:18:01 n1 kernel: {line}"})
    tree.tools = {"dmesg": f"[ 1.000000] {line}[ 2.000000] {line}"}
    (event,) = log.read(Visit(tree)).events or ()
    assert (event.count, event.source) == (2, "dmesg")


@given(st.text(), st.sampled_from(list(LINES)), st.integers(0, 60))
def test_no_text_makes_it_raise(text: str, line: str, cut: int) -> None:
    for each in (text, line[:cut] + text + line[cut:], f"[ 1.000000] {line[:cut]}{text}"):
        log.parse(each)


def test_a_long_line_without_an_end_takes_no_time() -> None:
    word = "AER NVRM: Xid (PCI:0000:3b:00 mlx5_core 0000:5e:00.0 [ascend] amdgpu 0000:c1:00.0 uncorrectable timeout "
    assert log.parse(word * 20_000 + "\n" + "ink down " * 50_000) is not None


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("-- No entries --\n", True),
        ("Hint: You are currently not seeing messages from other users and the system.\n-- No entries --\n", False),
    ],
)
def test_a_journal_without_entries_has_been_read(text: str, is_read: bool) -> None:
    assert bool(log.parse(text)) is is_read
