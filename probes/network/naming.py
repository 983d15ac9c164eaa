"""To which addresses the host's own name leads: what MPI and gloo listen at when nothing else is said.

May import: probes.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace

from probes.host import Host
from probes.kernel_text import word
from probes.reading import Reading, Said, State
from probes.visit import Query, Tool, Visit

_NAME = "/proc/sys/kernel/hostname"
_HOSTS = "/etc/hosts"
_NOT_FOUND = "exit status 2"
"""How getent says that nothing knows the name."""

TOOL = Tool("getent")


@dataclass(frozen=True, slots=True)
class HostName:
    """`addresses`: where the name leads, by `source`; () is nowhere, and None unknown. `reading`: how the system
    answered, where it was asked."""

    name: str | None
    addresses: tuple[str, ...] | None = None
    source: str | None = None
    reading: Reading | None = None


def read(host: Host, visit: Visit | None) -> HostName:
    """The system is asked as a program would ask it; where it cannot be, /etc/hosts may know."""
    name = word(host.read(_NAME))
    if name is None or not name.replace("-", "").replace(".", "").replace("_", "").isalnum():
        return HostName(name)
    reading = visit.ask(TOOL, QUERY, name=name) if visit else None
    if reading and reading.state is State.TOLD:
        return HostName(name, reading.values["addresses"], reading.source, reading)
    if reading and reading.state is State.FAILED and _NOT_FOUND in (reading.reason or ""):
        return HostName(name, (), reading.source, replace(reading, state=State.TOLD, reason="nothing knows the name"))
    listed = parse_hosts(host.read(_HOSTS) or "", name)
    return HostName(name, listed or None, _HOSTS if listed else None, reading)


def parse_addresses(text: str) -> Said:
    """`getent ahosts NAME`: an address and more in each line."""
    said = Said()
    found = tuple(dict.fromkeys(address for line in text.splitlines() if (address := _address(line))))
    if found:
        said.value("addresses", found)
    return said


def parse_hosts(text: str, name: str) -> tuple[str, ...]:
    """The addresses of lines `address name name ...` that have this name."""
    rows = (line.partition("#")[0].split() for line in text.splitlines())
    return tuple(dict.fromkeys(found for row in rows if name in row[1:] and (found := _address(row[0]))))


QUERY = Query("addresses", "ahosts {name}", parse_addresses, seconds=10.0)


def _address(line: str) -> str | None:
    try:
        return str(ipaddress.ip_address((line.split() or [""])[0].partition("%")[0]))
    except ValueError:
        return None
