"""What listens between hosts: open to who has the token, deaf to everybody else, whatever they send."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from collectives.errors import RendezvousError
from collectives.rendezvous import Store, StoreServer
from collectives.transport.base import HEADER
from collectives.transport.zmq import ZmqWire

TOKEN = "a token that only this run has"
LONG, SHORT = 30.0, 0.3
PIECES = 40


@pytest.fixture
def server() -> Iterator[StoreServer]:
    server = StoreServer("tcp://127.0.0.1:*", TOKEN)
    yield server
    server.close()


def asked(server: StoreServer, token: str, timeout: float) -> object:
    store = Store(server.address, token)
    try:
        store.set("key", {"is": "kept"}, timeout)
        return store.get("key", timeout)
    finally:
        store.close()


def test_who_has_the_token_is_answered(server: StoreServer) -> None:
    assert asked(server, TOKEN, LONG) == {"is": "kept"}


@pytest.mark.parametrize("token", ["", "another token", TOKEN + " "])
def test_who_has_another_is_not(server: StoreServer, token: str) -> None:
    with pytest.raises(RendezvousError, match="did not answer"):
        asked(server, token, SHORT)
    assert asked(server, TOKEN, LONG) == {"is": "kept"}


def test_the_token_goes_over_no_wire() -> None:
    """Somebody who listens in sees none of what is said."""
    seen = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LONG)
        store = Store(f"tcp://127.0.0.1:{listener.getsockname()[1]}", TOKEN)
        try:
            with pytest.raises(RendezvousError):
                store.set("key", "value", SHORT)
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(SHORT)
                # The greeting of ZMTP 3.1 with CURVE, so that it says more.
                connection.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x01CURVE" + bytes(15) + b"\x01" + bytes(31))
                try:
                    while data := connection.recv(4096):
                        seen += data
                except TimeoutError:
                    pass
        finally:
            store.close()
    assert b"CURVE" in seen
    assert TOKEN.encode() not in seen
    assert b"key" not in seen.replace(b"KEY", b"")


@pytest.mark.parametrize("seed", range(3))
def test_garbage_is_dropped_and_others_are_served(server: StoreServer, seed: int) -> None:
    chance = random.Random(seed)
    where = urlsplit(server.address)
    for _ in range(PIECES):
        with socket.create_connection((where.hostname, where.port)) as stranger:
            start = chance.choice([b"", b"GET / HTTP/1.1\r\n\r\n", b"\xff" + bytes(8) + b"\x7f\x03\x01NULL"])
            stranger.sendall(start + chance.randbytes(chance.choice([0, 1, 64, 4096])))
    assert asked(server, TOKEN, LONG) == {"is": "kept"}


def test_a_wire_takes_nothing_from_who_has_another_token() -> None:
    wire, friend, stranger = (
        ZmqWire("tcp://127.0.0.1:*", token) for token in (TOKEN, TOKEN, "another token")
    )  # fmt: skip
    try:
        for other, payload in ((stranger, b"evil"), (friend, b"good")):
            other.connect([wire.address])
            other.post(0, bytes(HEADER.size), payload)
        arrived = [bytes(payload) for _, payload in wire.poll(LONG)]
        arrived += [bytes(payload) for _, payload in wire.poll(SHORT)]
        assert arrived == [b"good"]
    finally:
        for each in (wire, friend, stranger):
            each.close(deliver=False)
