"""`ip -j link` and `ip -j addr`: interfaces of a host that was recorded without sysfs. May import: probes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from probes.network.interface import Interface, address
from probes.reading import Reading, Said
from probes.recorded.commandline import typed
from probes.visit import Query, Tool, Visit

TOOL = Tool("ip", places=("/usr/sbin/ip", "/sbin/ip"))


def ask(visit: Visit) -> Reading:
    """`ip -j link` tells nothing that `ip -j addr` does not, but may be all that was recorded; then addresses are
    unknown. With both, what they say together."""
    recorded = [words for words in typed(visit.recorded(), TOOL.name) if words[:1] in (["-j"], ["-json"])]
    readings = [visit.ask(TOOL, QUERY, words=words) for words in sorted(recorded) or [["-j", "addr"]]]
    first = next((reading for reading in readings if reading.values), readings[0])
    return replace(first, values={name: value for reading in readings for name, value in reading.values.items()})


def interfaces(reading: Reading) -> tuple[Interface, ...] | None:
    """In the order of the output."""
    return tuple(map(_interface, reading.values.values())) or None


def parse(text: str) -> Said:
    """Name -> its object. What is cut off in the middle is left out."""
    said = Said()
    for entry in _objects(text):
        name = entry.get("ifname")
        if isinstance(name, str) and name:
            said.value(name, entry)
    return said


QUERY = Query("interfaces", "{words}", parse, quick=True)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            entry, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        yield entry
        place = text.find("{", place)


def _interface(entry: Mapping[str, Any]) -> Interface:
    flags = entry.get("flags")
    flags = flags if isinstance(flags, list) else []
    mtu, state, kind = entry.get("mtu"), entry.get("operstate"), entry.get("link_type")
    # Some collections of samples call the master by another word.
    master = entry.get("master", entry.get("main"))
    return Interface(
        name=str(entry["ifname"]),
        state=state.lower() or None if isinstance(state, str) else None,
        mtu=mtu if isinstance(mtu, int) and mtu >= 0 else None,
        virtual=True if "MASTER" in flags else None,
        loopback=kind == "loopback" if isinstance(kind, str) else None,
        addresses=_addresses(entry["addr_info"]) if isinstance(entry.get("addr_info"), list) else None,
        up="UP" in flags if flags else None,
        carrier="LOWER_UP" in flags and state != "DOWN" if flags else None,
        master=master if isinstance(master, str) and master else None,
    )


def _addresses(entries: list[Any]) -> tuple[str, ...]:
    return tuple(filter(None, map(_address, entries)))


def _address(entry: Any) -> str | None:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("local"), str):
        return None
    found, width = address(entry["local"], None), entry.get("prefixlen")
    return f"{found}/{width}" if found and isinstance(width, int) and width >= 0 else found
