"""The fabric manager, which sets up the NVSwitches of a host: whether it runs, and what it has written in its log.

And the version of the kernel's driver, with which its own must be equal. Logs grow without end; their last part tells
what matters now. May import: probes.
"""

from __future__ import annotations

import re

from probes.by_device import pci_address
from probes.host import Host
from probes.reading import Reading, Said, State, told
from probes.tool_text import lines
from probes.visit import Query, Tool

TOOL = Tool(
    "systemctl", messages=((r"not been booted|Failed to connect|Host is down|Operation not permitted", State.REFUSED),)
)
LOG = "/var/log/fabricmanager.log"
DRIVER = "/proc/driver/nvidia/version"
_LAST = 1 << 20
"""Bytes of a log that are looked at."""
_KEPT = 20
"""Errors that are kept, the latest ones."""
_SWITCH = re.compile(r"NVSwitch (non-fatal|fatal) error (\d{1,6})", re.IGNORECASE)
_PORT = re.compile(r"\bport (\d{1,4})")
_LEVEL = re.compile(r"\[(ERROR|CRITICAL|FATAL)\]")
_OWN_VERSION = re.compile(r"Fabric Manager version(?: is)?:? (\d[\d.]{0,20}\d)", re.IGNORECASE)
_UNLIKE = re.compile(
    r"version (\d[\d.]{0,20}\d) (?:don't|doesn't|does not|do not) match (?:with )?driver version (\d[\d.]{0,20}\d)",
    re.IGNORECASE,
)
_DRIVER_VERSION = re.compile(r"NVRM version:.*?\s(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)\s")
_STATES = ("active", "inactive", "failed", "activating", "deactivating", "reloading")


def parse_state(text: str) -> Said:
    said = Said()
    for line in lines(text)[:1]:
        if line.strip() in _STATES:
            said.value("state", line.strip(), line)
    return said


def parse_log(text: str) -> Said:
    """`switch_errors`, the latest: number, whether fatal, switch and port; `errors`: how many other lines there are.
    `wanted`: the driver's version where the manager complained of it."""
    said = Said()
    found: list[tuple[dict[str, object], str]] = []
    others: list[str] = []
    version: tuple[str, str] | None = None
    unlike: tuple[str, str, str] | None = None
    for line in lines(text):
        if match := _SWITCH.search(line):
            port = _PORT.search(line)
            error = {"error": int(match[2]), "fatal": match[1].lower() == "fatal", "switch": pci_address(line)}
            found.append((error | {"port": int(port[1]) if port else None}, line))
        elif _LEVEL.search(line):
            others.append(line)
        if match := _OWN_VERSION.search(line):
            version = match[1], line
        if match := _UNLIKE.search(line):
            unlike = match[1], match[2], line
    if unlike:
        said.value("version", unlike[0], unlike[2])
        said.value("wanted", unlike[1], unlike[2])
    if version:
        said.value("version", *version)
    if found:
        said.moment("switch_errors", [error for error, _ in found[-_KEPT:]], found[-1][1])
    if others:
        said.moment("errors", len(others), others[-1])
    if not said and text.strip():
        said.moment("errors", 0)
    return said


def parse_driver(text: str) -> Said:
    said = Said()
    for line in lines(text):
        if match := _DRIVER_VERSION.search(line + " "):
            said.value("driver", match[1], line)
    return said


def of_files(host: Host) -> dict[str, Reading]:
    """Those that are there, and can be read."""
    texts = {
        "driver": (DRIVER, host.read(DRIVER), parse_driver),
        "fabric_log": (LOG, host.tail(LOG, _LAST), parse_log),
    }
    found = {name: (path, parse(text)) for name, (path, text, parse) in texts.items() if text is not None}
    return {name: told(path, said) for name, (path, said) in found.items() if said}


QUERIES = (Query("fabric_manager", "is-active nvidia-fabricmanager", parse_state, seconds=10.0),)
