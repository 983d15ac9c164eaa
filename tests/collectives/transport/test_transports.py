"""Every wire of TRANSPORTS, under Streams, passes the same checks."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
import zmq

from collectives.transport import TRANSPORTS
from collectives.transport.base import Wire
from collectives.transport.inproc import Hub, InprocWire
from collectives.transport.zmq import ZmqWire
from tests.conformance import TRANSPORT_CHECKS, Wires, drive, ends, finished, into, out, tag


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


def zmq_ipc(size: int) -> object:
    return _zmq(size, lambda: f"ipc://@opsdist-test-{secrets.token_hex(8)}")


def zmq_tcp(size: int) -> object:
    return _zmq(size, lambda: "tcp://127.0.0.1:*")


MAKERS: dict[str, Wires] = {"inproc": inproc, "zmq-ipc": zmq_ipc, "zmq-tcp": zmq_tcp}  # type: ignore[dict-item]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("check", TRANSPORT_CHECKS, ids=lambda check: check.__name__)
def test_transport(check: Callable[[Wires], None], maker: str) -> None:
    check(MAKERS[maker])


def test_every_transport_of_the_table_is_checked() -> None:
    assert {maker.partition("-")[0] for maker in MAKERS} == set(TRANSPORTS)


@pytest.mark.parametrize("parts", [[b"x" * (5 << 20)], [b"x" * 72, b"y" * (5 << 20)], [b"x"] * 5, [b""]])
def test_zmq_drops_what_is_too_long_or_in_too_many_parts(parts: list[bytes]) -> None:
    with _zmq(2, lambda: f"ipc://@opsdist-test-{secrets.token_hex(8)}") as pair, zmq.Context() as context:
        a, b = ends(pair)
        with context.socket(zmq.PUSH) as stranger:
            stranger.setsockopt(zmq.LINGER, 0)
            stranger.connect(pair[1].address)
            stranger.send_multipart(parts)
            for sequence in range(1, 20):
                incoming, sink = into(0, 5000)
                data = bytes([sequence]) * 5000
                call = tag(sequence=sequence)
                drive((a, b), finished(a.start(call, 0, [out(1, data)], []), b.start(call, 0, [], [incoming])))
                assert sink.data == data


def test_zmq_leaves_nothing_in_the_file_system_and_closes_with_data_on_its_way() -> None:
    with _zmq(2, lambda: f"ipc://@opsdist-test-{secrets.token_hex(8)}") as pair:
        a, b = ends(pair)
        incoming, sink = into(0, 1 << 20)
        b_pending = b.start(tag(), 0, [], [incoming])
        a_pending = a.start(tag(), 0, [out(1, b"z" * (1 << 20))], [])
        assert not a_pending.left  # all of it is under way
        a.close()
        drive((b,), finished(b_pending))
        assert sink.data == b"z" * (1 << 20)
