"""The words of RDMA ports: the kernel's, those of rdma-core, of iproute2 and of infiniband-diags, as one of each.

`4: ACTIVE`, `PORT_ACTIVE (4)`, `Active` and `ACTIVE` are one state. Pure functions of text.
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from probes.tool_text import number

Parser = Callable[[str], Any]
"""A value of a text; None for what is not understood."""
NAME = r"[\w.:-]{1,64}"
"""What a device's name is made of."""
ACTIVE = "ACTIVE"

_STATES: Mapping[str, str] = {
    "nop": "NOP",
    "down": "DOWN",
    "init": "INIT",
    "initialize": "INIT",
    "initializing": "INIT",
    "armed": "ARMED",
    "active": ACTIVE,
    "activedefer": "ACTIVE_DEFER",
}
_PHYSICAL: Mapping[str, str] = {
    "sleep": "Sleep",
    "polling": "Polling",
    "disabled": "Disabled",
    "portconfigurationtraining": "PortConfigurationTraining",
    "portconfigurationtrainning": "PortConfigurationTraining",  # as rdma-core spells it
    "linkup": "LinkUp",
    "linkerrorrecovery": "LinkErrorRecovery",
    "linkerrorrecover": "LinkErrorRecovery",  # as iproute2 does
    "phytest": "PhyTest",
}
_LANES = {"infiniband": "InfiniBand", "ethernet": "Ethernet"}
_NOISE = re.compile(r"^\s*\d+\s*:|\(\s*\d*\s*\)\s*$|[^A-Za-z(]+")
_LONGEST_WORD = 64
_GIGABITS = re.compile(r"\s*(\d{1,6}(?:\.\d{1,3})?)")


def state(text: str) -> str | None:
    """NOP, DOWN, INIT, ARMED, ACTIVE or ACTIVE_DEFER."""
    return _STATES.get(_letters(text).removeprefix("port"))


def physical_state(text: str) -> str | None:
    return _PHYSICAL.get(_letters(text))


def link_layer(text: str) -> str | None:
    """InfiniBand or Ethernet; EFA and the like say "Unspecified", which is unknown."""
    return _LANES.get(text.strip().lower())


def rate(text: str) -> int | None:
    """`200 Gb/sec (4X HDR)` and a bare `200` in bits per second."""
    found = _GIGABITS.match(text)
    return round(float(found[1]) * 1e9) or None if found else None


def local_id(text: str) -> int | None:
    """`0x33bf` or `13247`; 0 is none, and so is 65535, which a port has that nobody gave one."""
    try:
        found = int(text.strip()[:12], 0)
    except ValueError:
        return None
    return found if 0 < found < 0xFFFF else None


def mtu(text: str) -> int | None:
    """`4096 (5)`."""
    found = number(text)
    return int(found) if found is not None and 0 < found <= 65536 else None


def guid(text: str) -> str | None:
    """Its digits; None for one that is all zeros or none at all. Only to tell whether two are the same: it identifies a
    machine and is not kept."""
    digits = text.strip().lower().removeprefix("0x").replace(":", "")
    return digits if re.fullmatch(r"[0-9a-f]{16}", digits) and digits.strip("0") else None


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts mlx5_2 before mlx5_10."""
    parts = re.findall(r"([0-9]{1,18})|([^0-9]+)", name)
    return tuple((0, int(digits), digits) if digits else (1, 0, rest) for digits, rest in parts)


def _letters(text: str) -> str:
    return _NOISE.sub("", text[:_LONGEST_WORD]).lower()
