"""The sections network, pcie, log and clock as text, from what the probes tell."""

from __future__ import annotations

import json

from opsdist_cli.output.sections import section_text
from tests.suites.checks.told import facts_of

LSPCI = """\
18:00.0 PCI bridge: Made Up Switch
	Bus: primary=17, secondary=19, subordinate=19, sec-latency=0
		ACSCtl:	SrcValid+ TransBlk-
19:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)
	NUMA node: 1
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM L1
		LnkSta:	Speed 32GT/s, Width x8 (downgraded)
	Kernel driver in use: nvidia
"""


def text(section: str, commands: dict[str, str], files: dict[str, str] | None = None) -> list[str]:
    facts = facts_of(commands, files, sections=(section,))
    return [" ".join(line.split()) for line in section_text(section, facts[section])]


def test_pcie() -> None:
    assert text("pcie", {"lspci -vvv": LSPCI}) == [
        "address lanes GT/s node device",
        "0000:19:00.0 x8 of x16 32 of 32 1 NVIDIA Corporation Device 2330 (rev a1), driver nvidia",
        "bridges above them 1, ACS on at 1",
        "IOMMU unknown",
        "virtual machine unknown",
    ]
    assert text("pcie", {})[0] == "devices unknown"
    assert text("pcie", {"lspci": "19:00.0 3D controller: NVIDIA Corporation Device 2330\n"})[1] == (
        "0000:19:00.0 unknown unknown unknown NVIDIA Corporation Device 2330, driver unknown"
    )


def test_log() -> None:
    line = "NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n"
    assert text("log", {"dmesg": f"[ 1.000000] {line}[ 2.000000] {line}"}) == [
        "event device count last what",
        "xid 0000:3b:00.0 2 2.000000 48 pid=1, DBE",
        "dmesg dmesg was read",
    ]
    assert text("log", {"dmesg": "[ 1.000000] Linux\n"})[0] == "events none that matters to communication"
    denied = "dmesg: read kernel buffer failed: Operation not permitted"
    assert text("log", {"dmesg": denied + "\n"}) == ["events unknown", f"dmesg unknown ({denied})"]


def test_clock() -> None:
    tracking = "Stratum         : 3\nSystem time     : 0.002 seconds slow of NTP time\nLeap status     : Normal\n"
    assert text("clock", {"chronyc tracking": tracking}) == [
        "synchronised yes (by chronyc tracking)",
        "offset 2 ms behind",
        "stratum 3",
        "counter unknown",
        "clocks of cards unknown",
    ]
    assert text("clock", {"chronyc tracking": "506 Cannot talk to daemon\n"})[0] == (
        "synchronised unknown (506 Cannot talk to daemon)"
    )


def test_network() -> None:
    links = [{"ifname": "ens3", "flags": ["UP", "LOWER_UP"], "operstate": "UP", "mtu": 9000, "master": "bond0"}]
    commands = {
        "ip -j link": json.dumps(links),
        "ethtool -i ens3": "driver: quick\nfirmware-version: 9.1\n",
        "ethtool --show-fec ens3": "Active FEC encoding: RS\n",
        "ethtool ens4": "Link detected: no (No cable)\n",
    }
    files = {
        "/proc/net/bonding/bond0": "Bonding Mode: active-backup\n\nSlave Interface: ens3\nMII Status: up\n",
        "/proc/sys/kernel/hostname": "n7\n",
        "/etc/hosts": "127.0.1.1 n7\n",
    }
    assert " ".join(text("network", commands, files)) == (
        "ens3 state up, speed unknown (driver quick does not tell), MTU 9000, driver quick, PCI unknown, NUMA node "
        "unknown, part of bond0, firmware 9.1, FEC RS, addresses unknown "
        "ens4 state unknown, speed unknown, MTU unknown, driver unknown, PCI unknown, NUMA node unknown, "
        "no link (No cable), addresses unknown "
        "bond bond0 active-backup: ens3 up own name n7 leads to 127.0.1.1 (by /etc/hosts)"
    )
