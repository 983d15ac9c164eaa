"""/proc/net/bonding: bonds and what each of their members does. May import: probes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probes.host import Host
from probes.network.interface import parse_speed
from probes.tool_text import pairs, whole

_FOLDER = "/proc/net/bonding"
_NAME = re.compile(r"\w[\w.:@-]*")
"""What was recorded may also hold names that are none."""


@dataclass(frozen=True, slots=True)
class BondMember:
    """`aggregator`: with which of the others it carries traffic together. `failures`: how often its link was lost."""

    name: str
    state: str | None
    speed_bytes_per_second: int | None
    aggregator: int | None
    failures: int | None


@dataclass(frozen=True, slots=True)
class Bond:
    """`aggregator` is the one in use. `partner`: the switch speaks LACP; None where the mode needs none."""

    name: str
    mode: str | None
    state: str | None
    aggregator: int | None
    partner: bool | None
    members: tuple[BondMember, ...]


def bonds(host: Host) -> tuple[Bond, ...]:
    names = filter(_NAME.fullmatch, host.listdir(_FOLDER) or ())
    return tuple(parse(name, host.read(f"{_FOLDER}/{name}") or "") for name in names)


def parse(name: str, text: str) -> Bond:
    """What stands before the first member is of the bond as a whole."""
    blocks: list[dict[str, str]] = [{}]
    for key, value, _ in pairs(text):
        if key == "Slave Interface":
            blocks.append({})
        blocks[-1].setdefault(key, value)
    whole_bond, *members = blocks
    partner = whole_bond.get("Partner Mac Address")
    return Bond(
        name=name,
        mode=whole_bond.get("Bonding Mode") or None,
        state=whole_bond.get("MII Status") or None,
        aggregator=whole(whole_bond.get("Aggregator ID", "")),
        partner=None if partner is None else partner.strip("0:") != "",
        members=tuple(_member(member) for member in members if member["Slave Interface"]),
    )


def _member(block: Mapping[str, str]) -> BondMember:
    return BondMember(
        name=block["Slave Interface"],
        state=block.get("MII Status") or None,
        speed_bytes_per_second=parse_speed(block.get("Speed", "").partition("Mbps")[0]),
        aggregator=whole(block.get("Aggregator ID", "")),
        failures=whole(block.get("Link Failure Count", "")),
    )
