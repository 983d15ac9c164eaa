"""Every wire of TRANSPORTS, under Streams, passes the same checks."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import pytest
import zmq

from collectives.transport import TRANSPORTS
from collectives.transport.base import HEADER, Wire
from collectives.transport.inproc import Hub, InprocWire
from collectives.transport.zmq import ZmqWire
from tests.conformance import TRANSPORT_CHECKS, Wires, drive, ends, finished, into, out, settle, tag


@contextmanager
def inproc(size: int) -> Iterator[Sequence[Wire]]:
    hub = Hub(size, random.Random(size))
    yield [InprocWire(hub, rank) for rank in range(size)]


@contextmanager
def _zmq(size: int, address: Callable[[], str]) -> Iterator[Sequence[ZmqWire]]:
    wires = [ZmqWire(address()) for _ in range(size)]
    try:
        for wire in wires:
            wire.connect([each.address for each in wires])
        yield wires
    finally:
        for wire in wires:
            wire._context.destroy(linger=0)  # what a check has left unread is nobody's


def ipc(size: int) -> AbstractContextManager[Sequence[ZmqWire]]:
    return _zmq(size, lambda: f"ipc://@opsdist-test-{secrets.token_hex(8)}")


def tcp(size: int) -> AbstractContextManager[Sequence[ZmqWire]]:
    return _zmq(size, lambda: "tcp://127.0.0.1:*")


MAKERS: dict[str, Wires] = {"inproc": inproc, "zmq-ipc": ipc, "zmq-tcp": tcp}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("check", TRANSPORT_CHECKS, ids=lambda check: check.__name__)
def test_transport(check: Callable[[Wires], None], maker: str) -> None:
    check(MAKERS[maker])


def test_every_transport_of_the_table_is_checked() -> None:
    assert {maker.partition("-")[0] for maker in MAKERS} == set(TRANSPORTS)


@pytest.mark.parametrize(
    ("parts", "seen"),
    [
        ([b"x" * (5 << 20)], 0),  # dropped before it is taken in
        ([b"x" * HEADER.size, b"y" * (5 << 20)], 0),
        ([b"x"] * 5, 1),  # one message, however many parts
        ([b""], 1),
    ],
    ids=["long", "long second part", "five parts", "empty"],
)
def test_zmq_drops_what_is_too_long_or_in_too_many_parts(parts: list[bytes], seen: int) -> None:
    with ipc(2) as pair, zmq.Context() as context, context.socket(zmq.PUSH) as stranger:
        a, b = ends(pair)
        stranger.setsockopt(zmq.LINGER, 0)
        stranger.connect(pair[1].address)
        stranger.send_multipart(parts)
        drive((a, b), lambda: b.strangers >= seen)
        for sequence in range(1, 20):
            incoming, sink = into(0, 5000)
            data = bytes([sequence]) * 5000
            call = tag(sequence=sequence)
            drive((a, b), finished(a.start(call, 0, [out(1, data)], []), b.start(call, 0, [], [incoming])))
            assert sink.data == data
        settle((a, b))
        assert b.strangers == seen


def test_zmq_closing_delivers_what_is_on_its_way() -> None:
    with ipc(2) as pair:
        a, b = ends(pair)
        incoming, sink = into(0, 1 << 20)
        received = b.start(tag(), 0, [], [incoming])
        assert not a.start(tag(), 0, [out(1, b"z" * (1 << 20))], []).left
        a.close()
        drive((b,), finished(received))
        assert sink.data == b"z" * (1 << 20)


def test_zmq_does_not_wait_for_a_peer_that_has_gone() -> None:
    """Neither when it sends to it nor when it closes with something left for it."""
    with ipc(2) as pair:
        a, b = ends(pair)
        incoming, _ = into(0, 1)
        drive((a, b), finished(a.start(tag(), 0, [out(1, b"x")], []), b.start(tag(), 0, [], [incoming])))
        b.close()
        settle((a,))
        assert not a.start(tag(sequence=2), 0, [out(1, b"x" * 5000)], []).left
        before = time.monotonic()
        a.close()
        assert time.monotonic() < before + 3.0
