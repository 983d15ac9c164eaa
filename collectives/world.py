"""The world as the ranks find it when they meet: what each says of itself, and the proof that it is the one asked for.

May import: the standard library, errors, placement, rendezvous.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from collectives.errors import RendezvousError
from collectives.placement import Placement
from collectives.rendezvous import Store


def meet(store: Store, key: str, placement: Placement, timeout: float, **more: Any) -> list[dict[str, Any]]:
    """Tell the others of this rank, under a key of this backend's own, and prove the world they form.

    What each rank says, in the order of ranks: `node`, `pid`, `version`, `size` and `more`. Raises RendezvousError.
    """
    hello = {
        "node": placement.node, "pid": os.getpid(), "version": version("opsdist"), "size": placement.world_size, **more,
    }  # fmt: skip
    world = store.gather(key, placement.rank, hello, placement.world_size, timeout)
    prove(world)
    return world


def prove(world: Sequence[dict[str, Any]]) -> None:
    """Every rank is a process of its own, runs the same opsdist and means the same world. Raises RendezvousError."""
    processes: dict[tuple[int, int], int] = {}
    for rank, member in enumerate(world):
        other = processes.setdefault((member["node"], member["pid"]), rank)
        if other != rank:
            raise RendezvousError(f"ranks {other} and {rank} are the same process (pid {member['pid']})")
        if member["size"] != len(world):
            raise RendezvousError(f"rank {rank} was told of {member['size']} ranks, others of {len(world)}")
        if member["version"] != world[0]["version"]:
            raise RendezvousError(
                f"rank {rank} runs opsdist {member['version']}, rank 0 {world[0]['version']}; install the same version"
            )


def has_ended(pid: int) -> bool:
    """Whether a process of this host has ended, be it that nobody has taken note of it yet."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # a kernel that does not tell
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(0))
    finally:
        os.close(descriptor)
