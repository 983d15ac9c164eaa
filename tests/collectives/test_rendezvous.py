"""The store in which ranks meet: deadlines that name who is missing, strangers, and servers that come late or go."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
import zmq

from collectives.errors import RendezvousError, ResourceError
from collectives.rendezvous import Store, StoreServer
from tests.collectives.inproc_world import run_threads

TOKEN = "geheim-tökén"
LONG, SHORT = 20.0, 0.1


@pytest.fixture
def address() -> str:
    return f"ipc://@opsdist-test-{secrets.token_hex(8)}"


@pytest.fixture
def server(address: str) -> Iterator[StoreServer]:
    server = StoreServer(address, TOKEN)
    yield server
    server.close()


@pytest.fixture
def store(server: StoreServer) -> Iterator[Store]:
    store = Store(server.address, TOKEN)
    yield store
    store.close()


def gathered(address: str, rank: int, size: int, timeout: float, token: str = TOKEN) -> Any:
    """What a rank gets for its own number; the connection is its own."""
    store = Store(address, token)
    try:
        return store.gather("world", rank, {"rank": rank}, size, timeout)
    finally:
        store.close()


def test_a_value_is_stored_and_waited_for(store: Store, server: StoreServer) -> None:
    late = Store(server.address, TOKEN)
    try:
        [value, _] = run_threads([lambda: late.get("key", LONG), lambda: store.set("key", [1, "zwei"], LONG)])
        assert value == [1, "zwei"]
        store.set("key", "new", LONG)
        assert late.get("key", LONG) == "new"
    finally:
        late.close()


def test_a_value_that_never_comes_runs_into_the_deadline(store: Store) -> None:
    with pytest.raises(RendezvousError, match="nothing was stored under 'key'"):
        store.get("key", SHORT)


def test_everybody_gets_everybodys_value_in_order(server: StoreServer) -> None:
    size = 8
    results = run_threads([lambda rank=rank: gathered(server.address, rank, size, LONG) for rank in range(size)])  # type: ignore[misc]
    assert results == [[{"rank": rank} for rank in range(size)]] * size


def test_a_deadline_names_the_missing_ranks(server: StoreServer) -> None:
    def body(rank: int) -> RendezvousError:
        with pytest.raises(RendezvousError, match=r"2 of 4 ranks did not arrive within 0.5 s: ranks 1, 3") as caught:
            gathered(server.address, rank, 4, 0.5)
        return caught.value

    for error in run_threads([lambda: body(0), lambda: body(2)]):
        assert error.waiting_for == (1, 3)


def test_a_rank_of_another_world_does_not_count(server: StoreServer) -> None:
    def of_a_larger_world() -> None:
        with pytest.raises(RendezvousError):
            gathered(server.address, 7, 8, 0.5)

    def rank_0() -> None:
        with pytest.raises(RendezvousError, match="rank 1"):
            gathered(server.address, 0, 2, 0.5)

    run_threads([of_a_larger_world, rank_0])


def test_a_server_that_closes_tells_those_who_wait_who_is_missing(address: str) -> None:
    """As when rank 0, which serves, gives up: the others learn the same, and at once."""
    server = StoreServer(address, TOKEN)

    def waiting() -> RendezvousError:
        with pytest.raises(RendezvousError, match=r": rank 2$") as caught:
            gathered(address, 1, 3, LONG)
        return caught.value

    def serving() -> None:
        with pytest.raises(RendezvousError, match=r"ranks? .*2"):
            gathered(address, 0, 3, 1.0)
        server.close()

    [error, _] = run_threads([waiting, serving])
    assert error.waiting_for == (2,)


def test_a_wrong_token_is_not_answered(server: StoreServer) -> None:
    with pytest.raises(RendezvousError, match="did not answer"):
        gathered(server.address, 0, 1, SHORT, token="guessed")
    assert gathered(server.address, 0, 1, LONG) == [{"rank": 0}]


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"no JSON"],
        [b"[]"],
        [b"{}"],
        [json.dumps({"token": TOKEN}).encode()],
        [json.dumps({"token": TOKEN, "key": "world", "request": "x", "expected": {}}).encode()],
        [b"[" * 100_000],
        [b"x" * (2 << 20)],
        [b"one", b"two"],
    ],
    ids=["empty", "text", "list", "no token", "no key", "wrong types", "deep", "long", "parts"],
)
def test_garbage_does_not_stop_the_server(server: StoreServer, parts: list[bytes]) -> None:
    with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.setsockopt(zmq.LINGER, 0)
        stranger.connect(server.address)
        for _ in range(3):
            stranger.send_multipart(parts)
        assert gathered(server.address, 0, 1, LONG) == [{"rank": 0}]


def test_a_server_may_come_late(address: str) -> None:
    store = Store(address, TOKEN)
    server = None
    try:
        with pytest.raises(RendezvousError, match="did not answer"):
            store.gather("world", 0, "early", 1, SHORT)
        server = StoreServer(address, TOKEN)
        assert store.gather("world", 0, "late", 1, LONG) == ["late"]
    finally:
        store.close()
        if server:
            server.close()


def test_an_address_in_use_is_refused(server: StoreServer) -> None:
    with pytest.raises(ResourceError, match="cannot listen on"):
        StoreServer(server.address, TOKEN)


@pytest.mark.parametrize("bad", ["", "nonsense", "tcp://"])
def test_what_is_no_address_is_refused(bad: str) -> None:
    with pytest.raises(RendezvousError):
        StoreServer(bad, TOKEN)
    with pytest.raises(RendezvousError):
        Store(bad, TOKEN)


def test_a_tcp_port_is_chosen_by_the_system_and_kept() -> None:
    server = StoreServer("tcp://127.0.0.1:*", TOKEN)
    try:
        assert server.address.startswith("tcp://127.0.0.1:")
        assert gathered(server.address, 0, 1, LONG) == [{"rank": 0}]
    finally:
        server.close()
