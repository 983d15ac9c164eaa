"""/etc/hccn.conf, in which `hccn_tool -ip -s` and its like keep what they set (`address_0=...`).

Pure functions of text. May import: the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address

CONFIGURATION = "/etc/hccn.conf"
_ADDRESS = re.compile(r"\s*(IPv6)?address_([0-9]{1,4})\s*=\s*(\S+)\s*")


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
