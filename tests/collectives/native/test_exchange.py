"""Ranks hand each other their memory: whatever goes wrong, no descriptor is left, and strangers get nothing."""

from __future__ import annotations

import gc
import os
import secrets
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("collectives.native._core", reason="needs the compiled core", exc_type=ImportError)

from collectives.backends.builtin import BACKEND
from collectives.errors import RendezvousError, ResourceError
from collectives.native.exchange import exchange
from collectives.native.region import HUGE, Region
from collectives.placement import Placement
from collectives.rendezvous import Store, StoreServer
from tests.collectives.inproc_world import run_threads
from tests.leftovers import until

PROOF = "0123456789abcdef"
TOKEN = "token"
_LISTENING = 1 << 16
"""The flag that /proc/net/unix shows of a socket that can be connected to."""


@pytest.fixture(name="server")
def _server() -> Iterator[StoreServer]:
    server = StoreServer(f"ipc://@opsdist-test-{secrets.token_hex(8)}", TOKEN)
    yield server
    server.close()


def descriptors() -> set[str]:
    gc.collect()
    return set(os.listdir("/proc/self/fd"))


def swap(
    server: StoreServer, rank: int, size: int, proof: str = PROOF, timeout: float = 20.0, near: Sequence[int] = ()
) -> dict[int, int]:
    """What this rank is given, all being near unless told; its own region says who it is in its first byte."""
    region = Region(HUGE)
    region.allocate(1, np.dtype(np.uint8))[:] = rank + 1
    store = Store(server.address, TOKEN)
    try:
        return exchange(rank, size, near or range(size), region.descriptor, proof, store, timeout)
    finally:
        store.close()
        region.close()


@pytest.mark.parametrize("size", [1, 2, 5, 16])
def test_every_rank_gets_the_memory_of_every_other(server: StoreServer, size: int) -> None:
    found = run_threads([lambda rank=rank: swap(server, rank, size) for rank in range(size)])  # type: ignore[misc]
    for rank, given in enumerate(found):
        assert set(given) == set(range(size)) - {rank}
        assert len(set(given.values())) == size - 1
        for descriptor in given.values():
            os.close(descriptor)


def test_ranks_of_two_hosts_give_theirs_to_their_neighbours_alone(server: StoreServer) -> None:
    hosts = [(0, 2), (1, 3, 4)]
    near = {rank: host for host in hosts for rank in host}
    found = run_threads([lambda rank=rank: swap(server, rank, 5, near=near[rank]) for rank in range(5)])  # type: ignore[misc]
    for rank, given in enumerate(found):
        assert set(given) == set(near[rank]) - {rank}
        for descriptor in given.values():
            os.close(descriptor)


def test_who_does_not_come_is_named_and_nothing_is_kept(server: StoreServer) -> None:
    before = descriptors()

    def absent() -> None:
        store = Store(server.address, TOKEN)
        store.gather("regions", 2, "\0nobody-listens-here", 3, 20.0)
        store.close()

    def present(rank: int) -> tuple[int, ...]:
        with pytest.raises((RendezvousError, ResourceError), match=f"rank {rank}") as caught:
            swap(server, rank, 3, timeout=0.5)
        return getattr(caught.value, "waiting_for", ())

    run_threads([lambda: present(0), lambda: present(1), absent])
    assert descriptors() == before


@pytest.mark.parametrize(
    "words",
    [(b"no json", b"{}"), (b'{"rank": 1, "proof": "wrong"}', b'{"rank": 7, "proof": "%s"}' % PROOF.encode())],
    ids=["no frame", "no rank"],
)
def test_strangers_are_sent_away(server: StoreServer, words: tuple[bytes, bytes]) -> None:
    """Anybody on the host can connect to an abstract socket. Two come first; more would not be let in before rank 1 is
    there, and with that the socket may be gone."""
    before = descriptors()
    strangers = threading.Event()

    def rank(number: int) -> dict[int, int]:
        if number == 1:
            assert strangers.wait(20.0)
        return swap(server, number, 2)

    def knock() -> None:
        name = f"opsdist-regions-{PROOF}-0-{os.getpid()}"
        until(lambda: _listens(name), 20.0, "the socket of rank 0")
        for text in words:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
                peer.connect(f"\0{name}")
                socket.send_fds(peer, [text], [0])
        strangers.set()

    first, second, _ = run_threads([lambda: rank(0), lambda: rank(1), knock])
    os.close(first[1])
    os.close(second[0])
    assert descriptors() == before


def _listens(name: str) -> bool:
    sockets = [line.split() for line in Path("/proc/net/unix").read_text().splitlines() if line.endswith(f"@{name}")]
    return any(int(fields[3], 16) & _LISTENING for fields in sockets)


def test_a_world_that_was_closed_leaves_no_descriptor(server: StoreServer) -> None:
    before = descriptors()
    placement = Placement(0, 1, 0, 1, 0, 1)
    for _ in range(3):
        store = Store(server.address, TOKEN)
        with BACKEND.open(placement, store, TOKEN, 20.0) as comm:
            data = comm.allocate(100, "float32")
            comm.allreduce(data)
            del data
        store.close()
        del comm, store
    assert descriptors() == before
