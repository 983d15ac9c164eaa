"""What the tools of the fabric say of RDMA devices: their questions, and the parsers of their answers.

These are rdma of iproute2, ibstat and ibstatus of infiniband-diags, ibv_devinfo of rdma-core, ofed_info of MLNX_OFED.
The parsers name a value `PLACE VALUE`, as in `mlx5_0/1 state`; one without a place is about the host. GUIDs, which
these tools print everywhere, only serve to tell which devices are one card. May import: probes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from probes.rdma import words
from probes.rdma.sighting import PLACE, about_host
from probes.rdma.sysfs import name_of_something
from probes.reading import Reading, Said, State
from probes.tool_text import clean
from probes.tool_text import lines as all_lines
from probes.visit import Query, Tool, Visit

_REFUSED = re.compile(r"permission denied|operation not permitted|must be root", re.IGNORECASE)
_MESSAGES = (
    (_REFUSED.pattern, State.REFUSED),
    (r"function not implemented|not supported|unknown command|is unknown|unrecognized", State.UNSUPPORTED),
)
RDMA = Tool("rdma", ("/usr/sbin/rdma", "/sbin/rdma", "/opt/mellanox/iproute2/sbin/rdma"), _MESSAGES)
IBSTAT = Tool("ibstat", ("/usr/sbin/ibstat",), _MESSAGES)
IBSTATUS = Tool("ibstatus", ("/usr/sbin/ibstatus",), _MESSAGES)
IBV_DEVINFO = Tool("ibv_devinfo", ("/usr/bin/ibv_devinfo",), _MESSAGES)
OFED_INFO = Tool("ofed_info", ("/usr/bin/ofed_info",), _MESSAGES)

_NAME = words.NAME
_LINK = re.compile(rf"(?:link\s+|\d{{1,6}}/\d{{1,6}}:\s+)({_NAME}?)/(\d{{1,3}}):?\s+(.*)")
_CA = re.compile(rf"\s*CA\s+'({_NAME})'")
_PORT = re.compile(r"\s*port\s*:?\s*(\d{1,3})\s*:?\s*", re.IGNORECASE)
_IBSTATUS = re.compile(rf"\s*Infiniband device '({_NAME})' port (\d{{1,3}}) status", re.IGNORECASE)
_HCA = re.compile(rf"\s*hca_id:\s*({_NAME})\s*")
_PANIC = re.compile(rf"ib(?:panic|warn): .*?IB device '({_NAME})'.*failed", re.IGNORECASE)
_NONE = re.compile(r"no ib devices found", re.IGNORECASE)
_OFED = re.compile(r"\s*((?:MLNX_OFED|OFED|DOCA)[\w.-]{0,80})\s*:?\s*")
_GUIDS = re.compile(r"\S*guid\s+\S+\s*", re.IGNORECASE)


_LONGEST_LINE = 400


def lines(text: str) -> list[str]:
    """Cut where no line of these tools goes on, so that patterns cannot take long over what is none of theirs."""
    return [line[:_LONGEST_LINE] for line in all_lines(text)]


def look(visit: Visit) -> dict[str, Reading]:
    """What each tool told, by its name."""
    asked = {tool.name: visit.ask(tool, query) for tool, query in QUESTIONS}
    if asked["rdma"].state is not State.TOLD:
        asked["rdma"] = visit.ask(RDMA, Query("rdma", "link", parse_link, seconds=15.0, quick=True))
    return {name: reading for name, reading in asked.items() if reading.state is not State.ABSENT}


def of_host(reading: Reading) -> Reading:
    """Without what it says of devices, which is kept with them."""
    return replace(reading, values=about_host(reading.values), lines=about_host(reading.lines))


def parse_link(text: str) -> Said:
    """`rdma link` in its old and its present form, and as JSON."""
    said = Said()
    if clean(text).lstrip().startswith("["):
        for entry in _json(clean(text)):
            line = " ".join(f"{key} {entry[key]}" for key in ("ifname", "port", *_LINK_VALUES) if key in entry)
            _link(said, f"{entry.get('ifname')}/{entry.get('port')}", {key: str(entry[key]) for key in entry}, line)
        return said
    for line in lines(text):
        if match := _LINK.match(line.strip()):
            told = match[3].split()
            _link(said, f"{match[1]}/{match[2]}", dict(pairwise(told)), _GUIDS.sub("", line))
    return said


def _link(said: Said, place: str, told: Mapping[str, str], line: str) -> None:
    """Only an InfiniBand port has a subnet; a port without one may be anything."""
    if not re.fullmatch(rf"{_NAME}/\d{{1,3}}", place):
        return
    said.value(f"{place} {PLACE}", True)
    for key, (name, parse) in _LINK_VALUES.items():
        _tell(said, place, name, parse, told.get(key), line)
    if "subnet_prefix" in told:
        said.value(f"{place} link_layer", "InfiniBand", line)


def parse_ibstat(text: str) -> Said:
    """Blocks of devices and ports. What follows them when a device goes away meanwhile is a fault."""
    said, device, place = Said(), "", ""
    cards: dict[str, str] = {}
    for line in lines(text):
        if match := _CA.match(line):
            device = place = match[1]
            said.value(f"{device} {PLACE}", True)
        elif match := _PANIC.search(line):
            if not _REFUSED.search(line):
                said.value("vanished", match[1], line)
        elif device and (match := _PORT.fullmatch(line)):
            place = f"{device}/{match[1]}"
            said.value(f"{place} {PLACE}", True)
        elif place:
            _block(said, device, place, line, _IBSTAT, cards)
    return said


def parse_ibstatus(text: str) -> Said:
    said, place = Said(), ""
    for line in lines(text):
        if match := _IBSTATUS.match(line):
            place = f"{match[1]}/{match[2]}"
            said.value(f"{place} {PLACE}", True)
        elif place:
            _block(said, "", place, line, _IBSTATUS_VALUES, {})
    return said


def parse_ibv_devinfo(text: str) -> Said:
    said, device, place = Said(), "", ""
    cards: dict[str, str] = {}
    for line in lines(text):
        if match := _HCA.fullmatch(line):
            device = place = match[1]
            said.value(f"{device} {PLACE}", True)
        elif device and (match := _PORT.fullmatch(line)):
            place = f"{device}/{match[1]}"
            said.value(f"{place} {PLACE}", True)
        elif place:
            _block(said, device, place, line, _IBV_DEVINFO, cards)
        elif _NONE.search(line):
            said.value("none", True, line)
    return said


def parse_ofed(text: str) -> Said:
    said = Said()
    for line in lines(text)[:1]:
        if match := _OFED.fullmatch(line):
            said.value("version", match[1], line)
    return said


def _block(
    said: Said, device: str, place: str, line: str, known: Mapping[str, tuple[str, words.Parser]], cards: dict[str, str]
) -> None:
    key, colon, text = line.partition(":")
    key = key.strip().lower()
    if key in ("system image guid", "sys_image_guid"):
        guid = words.guid(text)
        if guid:
            said.value(f"{device} card", cards.setdefault(guid, device))
    elif colon and key in known:
        name, parse = known[key]
        _tell(said, place, name, parse, text, line)


def _tell(said: Said, place: str, name: str, parse: words.Parser, text: str | None, line: str) -> None:
    value = None if text is None else parse(text)
    if value is not None:
        said.value(f"{place} {name}", value, line)


def _json(text: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _one_word(text: str) -> str | None:
    return text.strip() or None


def _part(text: str) -> str | None:
    """The vendor's number of a ConnectX, as sysfs writes it."""
    return f"MT{text.strip()}" if re.fullmatch(r"\s*4\d{3}\s*", text) else None


_STATE = ("state", words.state)
_LINK_LAYER = ("link_layer", words.link_layer)
_LINK_VALUES: Mapping[str, tuple[str, words.Parser]] = {
    "state": _STATE,
    "physical_state": ("physical_state", words.physical_state),
    "lid": ("lid", words.local_id),
    "sm_lid": ("sm_lid", words.local_id),
    "netdev": ("netdev", _one_word),
}
_IBSTAT: Mapping[str, tuple[str, words.Parser]] = {
    "ca type": ("kind", name_of_something),
    "firmware version": ("firmware", name_of_something),
    "state": _STATE,
    "physical state": ("physical_state", words.physical_state),
    "rate": ("rate_text", _one_word),
    "base lid": ("lid", words.local_id),
    "sm lid": ("sm_lid", words.local_id),
    "link layer": _LINK_LAYER,
}
_IBSTATUS_VALUES: Mapping[str, tuple[str, words.Parser]] = {
    "base lid": ("lid", words.local_id),
    "sm lid": ("sm_lid", words.local_id),
    "state": _STATE,
    "phys state": ("physical_state", words.physical_state),
    "rate": ("rate_text", _one_word),
    "link_layer": _LINK_LAYER,
}
_IBV_DEVINFO: Mapping[str, tuple[str, words.Parser]] = {
    "fw_ver": ("firmware", name_of_something),
    "vendor_part_id": ("kind", _part),
    "board_id": ("board", name_of_something),
    "state": _STATE,
    "phys_state": ("physical_state", words.physical_state),
    "active_mtu": ("active_mtu", words.mtu),
    "port_lid": ("lid", words.local_id),
    "sm_lid": ("sm_lid", words.local_id),
    "link_layer": _LINK_LAYER,
}
QUESTIONS: tuple[tuple[Tool, Query], ...] = (
    (RDMA, Query("rdma", "-j link", parse_link, seconds=15.0, quick=True)),
    (IBSTAT, Query("ibstat", "", parse_ibstat, seconds=15.0, quick=True)),
    (IBSTATUS, Query("ibstatus", "", parse_ibstatus, seconds=15.0)),
    (IBV_DEVINFO, Query("ibv_devinfo", "", parse_ibv_devinfo, seconds=15.0, quick=True)),
    (OFED_INFO, Query("ofed_info", "-s", parse_ofed, seconds=15.0)),
)
