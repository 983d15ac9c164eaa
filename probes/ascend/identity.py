"""The ids of NPUs, in one table: card, chip, logical and physical id name the same device in different tools.

`npu-smi -i` takes the card and `-c` the chip on it; `hccn_tool -i` and /dev/davinci* the physical id; the logical id is
what ASCEND_VISIBLE_DEVICES counts by. On cards with two dies the physical id is 2 x card + chip (driver source).
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probes.host import Host
from probes.reading import Reading

_ASKED = re.compile(r"hccn_tool.* -i ([0-9]{1,4})(?![0-9])")
_DEVICE = re.compile(r"davinci([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Identity:
    """`id` is the physical one."""

    id: int
    present: bool
    card: int | None = None
    chip: int | None = None
    logical: int | None = None
    name: str | None = None
    bus: str | None = None


def identities(host: Host, configured: set[int], readings: Mapping[str, Reading]) -> tuple[Identity, ...] | None:
    """All devices that anything knows of, by physical id; None where nothing could be asked."""
    files = host.listdir("/dev")
    present = {int(name[1]) for name in map(_DEVICE.fullmatch, files or ()) if name}
    recorded = {int(match[1]) for line in host.recorded() or () if (match := _ASKED.search(line))}
    known = present | configured | recorded
    if files is None and not known:
        return None
    return tuple(Identity(device, device in present) for device in sorted(known))
