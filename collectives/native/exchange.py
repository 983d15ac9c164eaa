"""How the ranks of one host hand each other their regions: descriptors over abstract Unix sockets.

That a descriptor could be passed is also what makes two ranks neighbours on one host.
May import: the standard library, errors, rendezvous.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import socket
import time
from collections.abc import Iterable, Sequence

from collectives.errors import RendezvousError, ResourceError
from collectives.rendezvous import Store

_LONGEST = 256
_KNOCK_SECONDS = 0.001


def exchange(
    rank: int, size: int, near: Sequence[int], descriptor: int, proof: str, store: Store, timeout: float
) -> dict[int, int]:
    """Give `descriptor` to the other ranks of this host and return theirs, to be closed by the caller.

    `near` are the ranks of this host. All `size` ranks of the world meet for it. `proof` is what only they know. Raises
    RendezvousError naming who did not come, ResourceError.
    """
    deadline = time.monotonic() + timeout
    found: dict[int, int] = {}
    mine = near.index(rank)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"\0opsdist-regions-{proof[:16]}-{rank}-{os.getpid()}")
        listener.listen(size)
        listener.setblocking(False)
        name = listener.getsockname()
        names = store.gather("regions", rank, name.decode("latin-1"), size, timeout)
        hello = json.dumps({"rank": rank, "proof": proof}).encode()
        try:
            # One out, one in: descriptors under way count against a limit of the system.
            for distance in range(1, len(near)):
                other = near[(mine + distance) % len(near)]
                _give(names[other].encode("latin-1"), hello, descriptor, deadline)
                _take_one(listener, found, near, proof, deadline)
        except (ConnectionError, FileNotFoundError):
            _close(found.values())
            raise RendezvousError(f"rank {other} was gone when rank {rank} came to it", (other,)) from None
        except TimeoutError:
            missing = [other for other in near if other not in found and other != rank]
            _close(found.values())
            raise RendezvousError(
                f"rank {rank} was not given the memory of rank{'s' * (len(missing) > 1)} "
                f"{', '.join(map(str, missing))} within {timeout:g} s",
                tuple(missing),
            ) from None
        except OSError as error:
            _close(found.values())
            raise ResourceError(f"rank {rank} cannot share memory: {error.strerror}; raise `ulimit -n`") from None
    return found


def _give(name: bytes, hello: bytes, descriptor: int, deadline: float) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        while True:
            peer.settimeout(_left(deadline))
            try:
                peer.connect(name)
                break
            except BlockingIOError:  # too many stand before its door; a Unix socket does not wait for that
                time.sleep(_KNOCK_SECONDS)
        socket.send_fds(peer, [hello], [descriptor])


def _take_one(listener: socket.socket, found: dict[int, int], near: Sequence[int], proof: str, deadline: float) -> None:
    """From whoever comes next; strangers are sent away."""
    while True:
        listener.settimeout(_left(deadline))
        peer, _ = listener.accept()
        with peer:
            peer.settimeout(_left(deadline))
            data, descriptors, _, _ = socket.recv_fds(peer, _LONGEST, 1)
        rank = _rank(data, proof)
        if rank is not None and descriptors and rank in near and rank not in found:
            found[rank] = descriptors[0]
            return
        _close(descriptors)


def _rank(data: bytes, proof: str) -> int | None:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        hello = json.loads(data)
        if hmac.compare_digest(str(hello["proof"]), proof):
            return int(hello["rank"])
    return None


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
