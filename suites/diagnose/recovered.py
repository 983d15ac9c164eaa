"""Ports of network cards that went down and came up again: that may have broken what was under way, or nothing.

May import: complaints' Complaint, facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from suites.diagnose.facts import Fact, Level, Trouble

if TYPE_CHECKING:
    from suites.diagnose.complaints import Complaint

_BACK = {"nccl.port_active": "nccl.async_port", "kernel.link_back": "kernel.link_lost"}
"""Row of what is said when one comes up -> when it goes down."""
_Port = tuple[str, str | None, str | None, str]


def came_back(found: Sequence[Complaint], said: Sequence[Fact]) -> list[Complaint]:
    """Where one is up again, a fault that somebody tells of its own goes before it."""
    up: dict[_Port, int] = {}
    for order, fact in enumerate(said):
        if isinstance(fact, Trouble) and (down := _BACK.get(fact.known_as)):
            up[_port(fact, down)] = order
    if not up:
        return list(found)
    again = {
        order
        for order, fact in enumerate(said)
        if isinstance(fact, Trouble) and order < up.get(_port(fact, fact.known_as), -1)
    }
    return [
        replace(one, level=Level.TRANSPORT, what=f"{one.what}, and came up again") if one.order in again else one
        for one in found
    ]


def _port(fact: Trouble, down: str) -> _Port:
    device = next((subject.who.device for subject in fact.about), fact.who.device)
    return down, fact.who.host, device, fact.place.file
