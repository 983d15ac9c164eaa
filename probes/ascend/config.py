"""/etc/hccn.conf, in which `hccn_tool -ip -s` and its like keep what they set (`address_0=...`).

Pure functions of text. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address

from probes.reading import Reading, Said, told
from probes.tool_text import lines

CONFIGURATION = "/etc/hccn.conf"
_ADDRESS = re.compile(r"\s*(IPv6)?address_([0-9]{1,4})\s*=\s*(\S+)\s*")
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]{0,60}?)_([0-9]{1,4})\s*=\s*(\S.{0,200})")


def parse_addresses(text: str) -> Mapping[int, str | None]:
    """Physical id -> address, of lines `address_0=192.0.2.10` and `IPv6address_0=...`, which counts where there is no
    other. None for what is no address."""
    found: dict[int, str | None] = {}
    for line in sorted(lines(text), key=lambda line: "IPv6" not in line):
        if match := _ADDRESS.fullmatch(line):
            device, told = int(match[2]), _address(match[3])
            found[device] = found.get(device) if told is None else told
    return found


def of_host(text: str | None) -> dict[str, Reading]:
    """All that the file sets, where there is one."""
    said = parse_settings(text or "")
    return {"settings": told(CONFIGURATION, said)} if said else {}


def parse_settings(text: str) -> Said:
    """`devices`: physical id -> the name of each setting without the id -> its value; the last of a name counts, as it
    was written last. Hardware addresses are left out."""
    said = Said()
    devices: dict[str, dict[str, str]] = {}
    for line in lines(text):
        match = _SETTING.fullmatch(line)
        if match and not match[1].lower().startswith(("mac", "arp")):
            devices.setdefault(str(int(match[2])), {})[match[1]] = match[3].strip()
            said.lines[f"{match[1]}_{int(match[2])}"] = line.strip()[:200]
    if devices:
        said.value("devices", devices)
    return said


def _address(text: str) -> str | None:
    try:
        return str(ip_address(text))
    except ValueError:
        return None
