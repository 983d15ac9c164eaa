"""What ranks have recorded, taken by their agent and told to the controller: see collectives/ring.py.

The agent holds the memory of each ring, so it needs nothing of the rank: that may be dead, stopped or busy.
May import: frames, protocol, starters, collectives' ring.
"""

from __future__ import annotations

import base64
import contextlib
import os
import zlib
from collections.abc import Iterator, Sequence

from collectives import ring
from suites.launch.frames import FROM_RANKS, check
from suites.launch.protocol import BrokenFrame, Frame
from suites.launch.starters import Member

_LEVEL = 1
"""Of compression: most of a ring is zeros or repeats itself."""
_MOST = ring.LENGTH + ring.TRAILER.size


def reach(member: Member, frame: Frame) -> None:
    """Get hold of the ring of a rank that was not forked from the agent, which the rank tells of; where that is refused
    there is none. Raises BrokenFrame."""
    check(frame, FROM_RANKS)
    path = f"/proc/{member.pid}/fd/{frame['descriptor']}"
    with contextlib.suppress(OSError):
        if member.ring is None and ring.NAME in os.readlink(path):
            member.ring = os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def recorded(members: Sequence[Member]) -> Iterator[Frame]:
    """What each has recorded until now, of those that have begun to and whose ring is at hand."""
    for member in members:
        with contextlib.suppress(OSError):
            if member.ring is not None and (found := ring.snapshot(member.ring)).startswith(ring.MAGIC):
                data = base64.b64encode(zlib.compress(found, _LEVEL)).decode()
                yield {"type": "recorded", "rank": member.rank, "data": data}


def unpacked(data: str) -> bytes:
    """The snapshot. Raises BrokenFrame for what is none, or is larger than any."""
    try:
        unpacking = zlib.decompressobj()
        found = unpacking.decompress(base64.b64decode(data, validate=True), _MOST)
    except (ValueError, zlib.error) as error:
        raise BrokenFrame(f"what a rank has recorded is spoilt: {error}") from None
    if not unpacking.eof:
        raise BrokenFrame(f"what a rank has recorded is cut, or longer than {_MOST} bytes")
    return found
