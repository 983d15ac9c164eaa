"""Whether agents reach each other: doors that open to who knows the secret, and knocks that end in time."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterator

import pytest

from collectives.errors import ResourceError
from suites.launch.knock import Door, Knock
from tests.leftovers import until

HERE = "127.0.0.1"
LONG = 30.0


class Loop:
    """A selector that is turned until something is so."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.answers: list[str | None] = []

    def knock(self, port: int, secret: str = "s", seconds: float = LONG) -> Knock:
        return Knock(self.selector, HERE, port, secret, seconds, self.answers.append)

    def run(self, knock: Knock) -> str | None:
        until(lambda: self._turn(knock), LONG, "an answer")
        return self.answers.pop()

    def _turn(self, knock: Knock) -> bool:
        for key, _ in self.selector.select(0.05):
            key.data(key.fd)
        knock.turn()
        return bool(self.answers)


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.selector.close()


@pytest.fixture
def door(loop: Loop) -> Iterator[Door]:
    door = Door(loop.selector, HERE, "s")
    yield door
    door.close()
    assert not loop.selector.get_map()


def test_a_door_opens_to_who_knows_the_secret(loop: Loop, door: Door) -> None:
    assert loop.run(loop.knock(door.port)) is None


def test_it_does_not_to_others_and_stays_one_for_friends(loop: Loop, door: Door) -> None:
    assert loop.run(loop.knock(door.port, "another")) == "something else answers there"
    for garbage in (b"", b"\0", b"x" * 5000):
        with socket.create_connection((HERE, door.port)) as stranger:
            stranger.sendall(garbage)
    assert loop.run(loop.knock(door.port)) is None


def test_nobody_listens(loop: Loop) -> None:
    with socket.create_server((HERE, 0)) as listener:
        port = listener.getsockname()[1]
    assert loop.run(loop.knock(port)) == "Connection refused"


def test_somebody_else_listens_and_says_nothing(loop: Loop) -> None:
    with socket.create_server((HERE, 0)) as listener:
        assert loop.run(loop.knock(listener.getsockname()[1], seconds=0.2)) == "no answer within 0.2 s"


def test_somebody_else_listens_and_answers(loop: Loop) -> None:
    with socket.create_server((HERE, 0)) as listener:
        knock = loop.knock(listener.getsockname()[1])
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            assert loop.run(knock) == "something else answers there"


def test_an_address_that_is_not_ours(loop: Loop) -> None:
    with pytest.raises(ResourceError, match=r"cannot listen at 192\.0\.2\.1"):
        Door(loop.selector, "192.0.2.1", "s")
