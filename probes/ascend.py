"""Ascend NPUs: which there are, and by which addresses their own network cards reach each other.

Source: the devices' files in /dev, and /etc/hccn.conf, in which `hccn_tool -ip -s` keeps addresses (`address_0=...`).
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from probes.host import Host

_CONFIGURATION = "/etc/hccn.conf"
_DEVICE = re.compile(r"davinci([0-9]{1,4})")
_ADDRESS = re.compile(r"\s*(IPv6)?address_([0-9]{1,4})\s*=\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class AscendDevice:
    """By its physical id. `present`: there is a file for it in /dev, where a container has but those it was given."""

    id: int
    present: bool
    address: str | None


@dataclass(frozen=True, slots=True)
class AscendFacts:
    """Devices that /dev or the configuration know, by id; None where neither can be read. `configured`: there is an
    /etc/hccn.conf; None where it cannot be read."""

    devices: tuple[AscendDevice, ...] | None
    configured: bool | None


def read(host: Host) -> AscendFacts:
    text = host.read(_CONFIGURATION)
    files = host.listdir("/dev")
    addresses = parse_addresses(text or "")
    present = {int(name[1]) for name in map(_DEVICE.fullmatch, files or ()) if name}
    devices = tuple(
        AscendDevice(device, device in present, addresses.get(device)) for device in sorted(present | set(addresses))
    )
    absent = host.listdir("/etc") is not None and not host.exists(_CONFIGURATION)
    return AscendFacts(
        devices=None if files is None and text is None else devices,
        configured=True if text is not None else False if absent else None,
    )


def parse_addresses(text: str) -> Mapping[int, str | None]:
    """Physical id -> address, of lines `address_0=192.0.2.10` and `IPv6address_0=...`, which counts where there is no
    other. None for what is no address."""
    found: dict[int, str | None] = {}
    for line in sorted(text.splitlines(), key=lambda line: "IPv6" not in line):
        if match := _ADDRESS.fullmatch(line):
            device, told = int(match[2]), _address(match[3])
            found[device] = found.get(device) if told is None else told
    return found


def _address(text: str) -> str | None:
    try:
        return str(ip_address(text))
    except ValueError:
        return None
