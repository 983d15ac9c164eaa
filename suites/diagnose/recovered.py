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

_DOWN, _UP = "nccl.async_port", "nccl.port_active"
"""Rows of what is said then."""


def came_back(found: Sequence[Complaint], said: Sequence[Fact]) -> list[Complaint]:
    """Where one is up again, a fault that somebody tells of its own goes before it."""
    up: dict[tuple[str | None, str | None, str], int] = {}
    for order, fact in enumerate(said):
        if isinstance(fact, Trouble) and fact.known_as == _UP:
            up[_port(fact)] = order
    if not up:
        return list(found)
    again = {
        order
        for order, fact in enumerate(said)
        if isinstance(fact, Trouble) and fact.known_as == _DOWN and order < up.get(_port(fact), -1)
    }
    return [
        replace(one, level=Level.TRANSPORT, what=f"{one.what}, and came up again") if one.order in again else one
        for one in found
    ]


def _port(fact: Trouble) -> tuple[str | None, str | None, str]:
    return fact.who.host, fact.who.device, fact.place.file
