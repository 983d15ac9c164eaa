"""Which lines of a log are events, by the words of the programs that write them. Pure.

The words are those of the Linux kernel and its drivers (mlx5_core, amdgpu, AER, EDAC), of NVIDIA's driver and fabric
manager, of the Ascend driver, and of systemd-networkd and NetworkManager. May import: the standard library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SLOT = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
_CARD = rf"(?:(?P<device>{_SLOT}).{{0,80}}?)?"
"""The address of the card that a line is about, if it names one."""
_INSIDE = "veth|docker|br-|virbr|cali|cni|flannel|lxc|vnet|tap|tun|dummy|fwpr|fwln|ifb|wl|usb|enx|lo\\b"
_PORT = rf"(?<![\w.-])(?!(?:{_INSIDE}))[A-Za-z][\w.-]{{0,20}}"
"""A network interface, but for those that come and go with containers and virtual machines, and those on USB, as BMCs
have."""
_AER = rf"(?P<device>{_SLOT}): (?:AER: )?PCIe Bus Error: severity="
_RECEIVED = rf"error (?:message )?received:? ?(?:from )?(?P<device>{_SLOT})?"
_HARDWARE = r"\[Hardware Error\]: +"


@dataclass(frozen=True, slots=True)
class Pattern:
    """`word`: what every such line holds, to pass over the others quickly. The expression may name groups device, code
    and detail."""

    kind: str
    word: str
    expression: re.Pattern[str]

    def matches(self, line: str) -> re.Match[str] | None:
        return self.expression.search(line) if self.word in line else None


def _pattern(kind: str, word: str, expression: str) -> Pattern:
    return Pattern(kind, word, re.compile(expression))


PATTERNS = (
    _pattern("sxid", "SXid", rf"SXid \((?:PCI:)?(?P<device>{_SLOT})\): ?(?P<code>\d{{1,6}})(?:, (?P<detail>.*))?"),
    _pattern("xid", "Xid", rf"Xid \((?:PCI:)?(?P<device>{_SLOT})\): ?(?P<code>\d{{1,5}})(?:, (?P<detail>.*))?"),
    _pattern("gpu_lost", "fallen off the bus", rf"NVRM:.{{0,60}}?{_CARD}fallen off the bus"),
    _pattern("gpu_init_failed", "RmInitAdapter failed", rf"NVRM: GPU (?P<device>{_SLOT}): RmInitAdapter failed"),
    _pattern("driver_mismatch", "API mismatch", r"NVRM: API mismatch:? *(?P<detail>.*)"),
    _pattern(
        "fabric_manager_error", "[ERROR]",
        r"^\[[^\]]{1,40}\] \[ERROR\] \[tid \d{1,9}\] (?P<detail>.*?NVSwitch (?:non-)?fatal error (?P<code>\d{1,6})"
        rf".{{0,60}}?pci bus id (?P<device>{_SLOT}).*)",
    ),
    _pattern("fabric_manager_error", "[ERROR]", r"^\[[^\]]{1,40}\] \[ERROR\] \[tid \d{1,9}\] (?P<detail>.*)"),
    _pattern(
        "pcie_bandwidth_limited", "available PCIe bandwidth, limited by",
        rf"(?P<device>{_SLOT}): (?P<detail>[\d.]{{1,12}} Gb/s available PCIe bandwidth, limited by .*)",
    ),
    _pattern(
        "pcie_power_insufficient", "insufficient power",
        rf"{_CARD}[Dd]etected insufficient power on the PCIe slot(?: \((?P<detail>\d{{1,4}}W)\))?",
    ),
    _pattern("module_error", "Port module event[error]", rf"{_CARD}Port module event\[error\]: (?P<detail>.*)"),
    _pattern("temperature", "High temperature on sensors", rf"{_CARD}High temperature on sensors(?P<detail>.*)"),
    _pattern(
        "transmit_timeout", "transmit queue",
        rf"NETDEV WATCHDOG: (?:CPU: \d+: )?(?P<device>{_PORT}) .*transmit queue .*timed out",
    ),
    _pattern(
        "transmit_timeout", "NETDEV WATCHDOG",
        rf"(?P<device>{_PORT})(?: \([a-z]+\))?: NETDEV WATCHDOG: .*transmit queue .*timed out",
    ),
    _pattern("transmit_timeout", "TX timeout", rf"{_CARD}TX timeout (?:detected|on queue)"),
    _pattern("temperature", "Health issue observed", rf"{_CARD}Health issue observed, (?P<detail>[Hh]igh temp.*)"),
    _pattern(
        "nic_health", "Health issue observed",
        rf"{_CARD}Health issue observed, (?P<detail>.{{1,80}}?, severity\([0-3]\).*)",
    ),
    _pattern(
        "nic_health", "mlx5_core",
        rf"mlx5_core (?P<device>{_SLOT}).{{0,100}}?(?P<detail>health compromised.*|Fatal error \d.*|"
        r"[Hh]ealth recovery failed.*|handling bad device here.*)",
    ),
    _pattern(
        "nic_command_timeout", "Will cause a leak of a command resource",
        rf"{_CARD}(?P<detail>[A-Z_0-9]+\(0x[0-9a-f]+\) timeout\. Will cause a leak.*)",
    ),
    _pattern(
        "npu_abnormal", "[ascend]",
        r"(?P<detail>[Dd]evice is abnormal.{0,20}?dev_?id=(?P<code>\d{1,3}))",
    ),
    _pattern(
        "npu_heartbeat_lost", "[ascend]",
        r"(?P<detail>[Hh]eart ?beat.{0,40}(?:lost|abnormal|stop|broken).*)",
    ),
    _pattern("gpu_reset", "GPU reset begin", rf"amdgpu (?P<device>{_SLOT}).*GPU reset begin"),
    _pattern(
        "gpu_memory_uncorrected", "uncorrectable",
        rf"amdgpu (?P<device>{_SLOT}).*?(?P<detail>[1-9]\d* uncorrectable .*)",
    ),
    _pattern(
        "gpu_reset_failed", "amdgpu",
        rf"amdgpu (?P<device>{_SLOT}).*?(?P<detail>GPU (?:[Rr]ecovery [Ff]ailed|reset\(\d+\) failed).*)",
    ),
    _pattern(
        "gpu_ring_timeout", "timeout",
        rf"amdgpu(?: (?P<device>{_SLOT})|_job_timedout).*?(?P<detail>ring \S+ timeout.*)",
    ),
    _pattern(
        "pcie_link_down", "pciehp",
        rf"(?P<device>{_SLOT}): pciehp: (?P<detail>Slot\([^)]*\): (?:Link Down|Card not present))",
    ),
    _pattern("pcie_contained", "containment event", rf"(?P<device>{_SLOT}): (?:DPC: )?(?P<detail>containment event.*)"),
    _pattern("pcie_error_fatal", "PCIe Bus Error", rf"{_AER}Uncorrect(?:ed|able) \(Fatal\)(?:, )?(?P<detail>.*)"),
    _pattern(
        "pcie_error_nonfatal", "PCIe Bus Error", rf"{_AER}Uncorrect(?:ed|able) \(Non-Fatal\)(?:, )?(?P<detail>.*)"
    ),
    _pattern("pcie_error_corrected", "PCIe Bus Error", rf"{_AER}Correct(?:ed|able)(?:, )?(?P<detail>.*)"),
    _pattern("pcie_error_fatal", "AER", rf"AER: (?:Multiple )?Uncorrect(?:ed|able) \(Fatal\) {_RECEIVED}"),
    _pattern("pcie_error_nonfatal", "AER", rf"AER: (?:Multiple )?Uncorrect(?:ed|able) \(Non-Fatal\) {_RECEIVED}"),
    _pattern("pcie_error_corrected", "AER", rf"AER: (?:Multiple )?Correct(?:ed|able) {_RECEIVED}"),
    _pattern(
        "out_of_memory", "ut of memory: Kill",
        r"[Oo]ut of memory: Kill(?:ed)? process \d{1,9} \((?P<device>[^)]{1,40})\)",
    ),
    _pattern(
        "hung_task", "blocked for more than",
        r"task (?P<device>\S{1,40}):\d{1,9} blocked for more than (?P<detail>\d+ seconds)",
    ),
    _pattern("lockup", "lockup - CPU#", r"(?P<detail>soft lockup - CPU#.*)"),
    _pattern("memory_error_uncorrected", "EDAC", r"EDAC (?P<device>MC\d{1,3}): [1-9]\d* UE (?P<detail>.*)"),
    _pattern("memory_error_corrected", "EDAC", r"EDAC (?P<device>MC\d{1,3}): [1-9]\d* CE (?P<detail>.*)"),
    _pattern(
        "hardware_error_fatal", "[Hardware Error]", rf"{_HARDWARE}event severity: (?P<detail>fatal|recoverable)"
    ),
    _pattern("hardware_error_corrected", "[Hardware Error]", rf"{_HARDWARE}event severity: (?P<detail>corrected|info)"),
    _pattern(
        "hardware_error_fatal", "[Hardware Error]",
        rf"{_HARDWARE}(?P<detail>(?:CPU \d+: Machine Check Exception|Uncorrected error).*)",
    ),
    _pattern(
        "hardware_error_corrected", "[Hardware Error]",
        rf"{_HARDWARE}(?P<detail>Corrected error.*|Machine check events logged)",
    ),
    _pattern(
        "cpu_throttled", "temperature above threshold",
        r"(?P<device>CPU\d{1,4}): (?:Core|Package) temperature above threshold",
    ),
    _pattern("link_lost", "ost carrier", rf"(?P<device>{_PORT}): [Ll]ost carrier"),
    _pattern("link_lost", "link disconnected", rf"device \((?P<device>{_PORT})\): carrier: link disconnected"),
    _pattern("link_lost", "link status definitely down", rf"(?P<device>{_PORT})\)?: link status definitely down"),
    _pattern("link_lost", "ink", rf"(?P<device>{_PORT})(?:: (?:NIC )?| NIC )[Ll]ink (?:is )?(?:[Dd]own|DOWN)"),
)  # fmt: skip
"""In this order: the first that fits a line counts."""

_LINK_DOWN = ("ink down", "ink Down", "ink is down", "ink is Down", "ink is DOWN")
WORDS = (*dict.fromkeys(pattern.word for pattern in PATTERNS if pattern.word != "ink"), *_LINK_DOWN)
"""A line with none of these is no event."""
