"""How the ranks of a world meet and which engine they take: the native core where all have it, else the portable one.

May import: everything of this package that an engine needs; zmq only through the transport.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from collectives import native
from collectives.engine import Engine
from collectives.errors import RendezvousError
from collectives.placement import Placement
from collectives.portable import PortableEngine
from collectives.rendezvous import Store
from collectives.secrets import secret


def join(placement: Placement, store: Store, token: str, timeout: float) -> Engine:
    """Say hello, prove the world, connect. Raises RendezvousError, ResourceError."""
    missing = native.unavailable()
    hello = {
        "node": placement.node, "pid": os.getpid(), "version": version("opsdist"), "size": placement.world_size,
        "without": missing,
    }  # fmt: skip
    world = store.gather("world", placement.rank, hello, placement.world_size, timeout)
    prove_world(world)
    without = [rank for rank, member in enumerate(world) if member["without"]]
    if without:
        return _portable(placement, store, token, timeout, f"rank {without[0]}: {world[without[0]]['without']}")
    from collectives.native.engine import open_native

    return open_native(placement, store, token, timeout)


def prove_world(world: Sequence[dict[str, Any]]) -> None:
    """Every rank is a process of its own, runs the same opsdist and means the same world. Raises RendezvousError."""
    processes: dict[tuple[object, object], int] = {}
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


def _portable(placement: Placement, store: Store, token: str, timeout: float, why: str) -> Engine:
    from collectives.progress import Engine as Progress
    from collectives.transport.streams import Streams
    from collectives.transport.zmq import ZmqWire

    wire = ZmqWire(f"ipc://@opsdist-{secret(token, 'wire'):016x}-{placement.rank}-{os.getpid()}")
    try:
        addresses = store.gather("wire", placement.rank, wire.address, placement.world_size, timeout)
    except RendezvousError:
        wire.close()
        raise
    wire.connect(addresses)
    streams = Streams(placement.rank, placement.world_size, wire, secret(token, "run"))
    return PortableEngine(Progress(streams, timeout), why)
