"""Answers of `hccn_tool` about the state and the settings of one port.

Formats: the source of hccn_tool in the Ascend driver (hccn_tool/tool.c, tool_ops.c) and the vendor's manuals.
Pure functions of text. May import: probes.
"""

from __future__ import annotations

import re

from probes.ascend.hccn_words import address, fields, measured, rows
from probes.reading import Said
from probes.tool_text import lines, whole

_SHAPING = re.compile(r"(bw_limit|bw_max|bw_cur)\[\s*([0-9]{1,9})\s*Mbps\s*\]", re.IGNORECASE)
_NOT_SET = re.compile(r"no (?:ip|gateway) was preset|does not exist! Please preset", re.IGNORECASE)
_PORT = re.compile(r"port ([0-9]{1,3})")
_CONNECTION = re.compile(r"[A-Z]+(?: [A-Z]+)?")


def parse_link(text: str) -> Said:
    said = Said()
    for key, value, line in fields(text):
        if key == "link status" and value:
            said.value("status", value.upper(), line)
    return said


def parse_net_health(text: str) -> Said:
    said = Said()
    for key, value, line in fields(text):
        if key == "net health status" and value:
            said.value("status", value, line)
    return said


def parse_ip(text: str) -> Said:
    """`configured`: whether there is an address at all."""
    said = _not_set(text)
    for key, value, line in fields(text):
        if key in ("ipaddr", "ipv6_address", "ipv6 address", "ip address"):
            found = address(value.partition("/")[0])
            said.value("address", found, line)
            said.value("configured", found is not None, line)
        elif key in ("netmask", "prefix_length", "prefix length") and value:
            said.value("netmask", value, line)
    return said


def parse_gateway(text: str) -> Said:
    said = _not_set(text)
    for key, value, line in fields(text):
        if key in ("default gateway", "gateway", "ipv6 gateway", "ipv6_gateway"):
            found = address(value.split(",")[0])
            said.value("address", found, line)
            said.value("configured", found is not None, line)
    return said


def parse_netdetect(text: str) -> Said:
    said = _not_set(text)
    for key, value, line in fields(text):
        if key.startswith("netdetect"):
            found = address(value)
            said.value("address", found, line)
            said.value("configured", found is not None, line)
    return said


def parse_speed(text: str) -> Said:
    """`mbps`, or `unknown`; of 950 the `ports`, of which `width` is how many of `cap` lanes run."""
    said = Said()
    for key, value, line in fields(text):
        if key == "speed":
            if (speed := whole(value)) is not None:
                said.value("mbps", speed, line)
            elif value.lower().startswith("unknown"):
                said.value("unknown", True, line)
    ports = []
    for row, line in rows(text):
        if {"udie", "port", "speed", "cap", "width", "status"} <= row.keys():
            named = {key: row[key] for key in ("udie", "port", "cap", "width", "status")}
            ports.append({**named, "gbps": measured(row["speed"])})
            said.lines.setdefault(f"port {row['port']}", line.strip()[:200])
    if ports:
        said.value("ports", ports)
    return said


def parse_duplex(text: str) -> Said:
    said = Said()
    for key, value, line in fields(text):
        if key == "duplex" and value:
            said.value("duplex", value.rstrip("!").capitalize(), line)
    return said


def parse_mtu(text: str) -> Said:
    said = Said()
    for key, value, line in fields(text):
        if key in ("mtu", "eth mtu") and (size := whole(value)) is not None:
            said.value("mtu", size, line)
    return said


def parse_fec(text: str) -> Said:
    """`mode`: rs, no, auto or what else stands before "FEC mode"."""
    said = Said()
    for key, value, line in fields(text):
        if key == "fec mode" and value:
            said.value("mode", value.lower().replace("fec mode", "").strip() or value.lower(), line)
    return said


def parse_lldp(text: str) -> Said:
    """The `port` of the switch that this port is connected to, and the switch's name. Addresses are left out, as they
    identify a machine."""
    said = Said()
    heading = ""
    for line in lines(text):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon and line.strip().endswith("TLV"):
            heading = line.strip().lower()
        elif key.lower() == "ifname" and value:
            said.value("port", value, line)
        elif heading == "system name tlv" and line.strip():
            said.value("switch", line.strip(), line)
            heading = ""
    return said


def parse_shaping(text: str) -> Said:
    said = Said()
    for line in lines(text):
        for name, mbps in _SHAPING.findall(line):
            said.value(name.lower(), int(mbps), line)
    return said


def parse_auto_downgrade(text: str) -> Said:
    said = Said()
    for key, value, line in fields(text):
        if key in ("downgrade status", "setting", "ability") and value:
            said.value(key.split()[-1], value.lower(), line)
    return said


def parse_dev_info(text: str) -> Said:
    """The ports of a 950."""
    said = Said()
    ports = []
    for row, line in rows(text):
        if {"udie id", "port id", "link status"} <= row.keys():
            ports.append({
                "udie": row["udie id"], "port": row["port id"], "gbps": measured(row.get("speed ability(gbps)", "")),
                "type": row.get("port type") or None, "status": row["link status"].upper(),
                "media": row.get("media type") or None,
            })  # fmt: skip
            said.lines.setdefault(f"port {row['port id']}", line.strip()[:200])
    if ports:
        said.value("ports", ports)
    return said


def parse_ub_connect(text: str) -> Said:
    """How the ports of a 950 are connected to other NPUs, together and each."""
    said = Said()
    ports = {}
    for key, value, line in fields(text):
        state = _CONNECTION.match(value.upper())
        if key == "link status" and state:
            said.value("status", state[0], line)
        elif (port := _PORT.fullmatch(key)) and state:
            ports[port[1]] = state[0]
            said.lines.setdefault(key, line.strip()[:200])
    if ports:
        said.value("ports", ports)
    return said


def _not_set(text: str) -> Said:
    """What is said where nothing is configured."""
    said = Said()
    for line in lines(text):
        if _NOT_SET.search(line):
            said.value("configured", False, line)
    return said
