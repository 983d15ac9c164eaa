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

from collectives.errors import RendezvousError, ResourceError
from collectives.rendezvous import Store

_LONGEST = 256
_KNOCK_SECONDS = 0.001


def exchange(rank: int, size: int, descriptor: int, proof: str, store: Store, timeout: float) -> list[int]:
    """Give `descriptor` to all ranks and return theirs (one's own is -1), to be closed by the caller.

    `proof` is what only ranks of this run know. Raises RendezvousError naming who did not come, ResourceError.
    """
    deadline = time.monotonic() + timeout
    found = [-1] * size
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"\0opsdist-regions-{proof[:16]}-{rank}-{os.getpid()}")
        listener.listen(size)
        listener.setblocking(False)
        name = listener.getsockname()
        names = store.gather("regions", rank, name.decode("latin-1"), size, timeout)
        hello = json.dumps({"rank": rank, "proof": proof}).encode()
        try:
            # One out, one in: descriptors under way count against a limit of the system.
            for distance in range(1, size):
                other = (rank + distance) % size
                _give(names[other].encode("latin-1"), hello, descriptor, deadline)
                _take_one(listener, found, proof, deadline)
        except (ConnectionError, FileNotFoundError):
            _close(found)
            raise RendezvousError(f"rank {other} was gone when rank {rank} came to it", (other,)) from None
        except TimeoutError:
            missing = [other for other in range(size) if found[other] < 0 and other != rank]
            _close(found)
            raise RendezvousError(
                f"rank {rank} was not given the memory of rank{'s' * (len(missing) > 1)} "
                f"{', '.join(map(str, missing))} within {timeout:g} s",
                tuple(missing),
            ) from None
        except OSError as error:
            _close(found)
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


def _take_one(listener: socket.socket, found: list[int], proof: str, deadline: float) -> None:
    """From whoever comes next; strangers are sent away."""
    while True:
        listener.settimeout(_left(deadline))
        peer, _ = listener.accept()
        with peer:
            peer.settimeout(_left(deadline))
            data, descriptors, _, _ = socket.recv_fds(peer, _LONGEST, 1)
        rank = _rank(data, proof)
        if rank is not None and descriptors and 0 <= rank < len(found) and found[rank] < 0:
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


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        if descriptor >= 0:
            os.close(descriptor)
