"""How the ranks of a world meet and which engine they take: the native core where all have it, else the portable one,
whose messages go through ZeroMQ.

May import: everything of this package that an engine needs; zmq only through the transport.
"""

from __future__ import annotations

import os

from collectives import native
from collectives.address import any_port, towards
from collectives.engine import Engine
from collectives.errors import RendezvousError
from collectives.native.engine import open_native
from collectives.placement import Placement
from collectives.portable import PortableEngine
from collectives.recorder import Recorder
from collectives.rendezvous import Store
from collectives.secrets import secret
from collectives.world import meet


def join(
    placement: Placement,
    store: Store,
    token: str,
    timeout: float,
    address: str | None,
    recorder: Recorder | None = None,
) -> Engine:
    """Say hello, prove the world, connect. `address` is where other hosts reach this one, by default that from which
    the store is reached. Raises RendezvousError, ResourceError."""
    world = meet(store, "world", placement, timeout, without=native.unavailable())
    address = (address or towards(store.address)) if placement.node_count > 1 else None
    without = [rank for rank, member in enumerate(world) if member["without"]]
    if without:
        reason, _, _ = str(world[without[0]]["without"]).partition("; ")
        here = f"ipc://@opsdist-{secret(token, 'wire'):016x}-{placement.rank}-{os.getpid()}"
        bind = any_port(address) if address else here
        return _portable(placement, store, token, timeout, f"rank {without[0]}: {reason}", bind, recorder)
    return open_native(placement, store, token, timeout, address, recorder)


def _portable(
    placement: Placement, store: Store, token: str, timeout: float, why: str, bind: str, recorder: Recorder | None
) -> Engine:
    from collectives.progress import Engine as Progress
    from collectives.transport.streams import Streams
    from collectives.transport.zmq import ZmqWire

    wire = ZmqWire(bind, token)
    try:
        addresses = store.gather("wire", placement.rank, wire.address, placement.world_size, timeout)
    except RendezvousError:
        wire.close()
        raise
    wire.connect(addresses)
    streams = Streams(placement.rank, placement.world_size, wire, secret(token, "run"))
    return PortableEngine(Progress(streams, timeout), why, recorder)
