"""Connections between hosts: open to ranks of this run, deaf to everybody else, and what happens when one breaks."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

pytest.importorskip("collectives.native._core", reason="needs the compiled core", exc_type=ImportError)

from collectives.backends.builtin import BuiltinCommunicator
from collectives.errors import MismatchError, PeerLost, ResourceError, TransportTimeout, Unreached, UsageError
from collectives.native.wires import _BACKLOG, _HELLO, _LONGEST, _MAGIC, _STRANGERS, Wires
from tests.collectives.inproc_world import run_threads
from tests.collectives.native import native_world

HERE, TOKEN = "127.0.0.1", "a token that only this run has"
LONG, SHORT = 30.0, 0.3
GROUP = 77


@contextlib.contextmanager
def doors(*tokens: str, address: str = HERE) -> Iterator[list[Wires]]:
    """Those of ranks 0, 1 ..., who know of each other."""
    with contextlib.ExitStack() as stack:
        wires = [Wires(rank, address, token) for rank, token in enumerate(tokens)]
        for wire in wires:
            stack.callback(wire.close)
            wire.learn([(address, each.port) for each in wires])
        yield wires


def meets(wires: list[Wires], one: int = 0, other: int = 1, group: int = GROUP) -> None:
    """These two ranks reach each other, and what one sends the other one gets."""
    there, here = run_threads(
        [lambda: wires[one].reach(group, [other], LONG), lambda: wires[other].reach(group, [one], LONG)]
    )
    with there[other] as sender, here[one] as receiver:
        sender.setblocking(True)
        receiver.setblocking(True)
        sender.sendall(b"first")
        assert receiver.recv(100) == b"first"


def knock(wire: Wires, words: bytes) -> socket.socket:
    stranger = socket.create_connection((HERE, wire.port), LONG)
    with contextlib.suppress(ConnectionError):  # it may have been shown the door
        stranger.sendall(words)
    return stranger


def hello(wire: Wires, rank: int, to: int, group: int = GROUP, magic: bytes = _MAGIC) -> bytes:
    """What a rank says that has the token of this wire."""
    words = _HELLO.pack(magic, group, rank, to)
    return words + wire._proof(words)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_ranks_of_one_run_reach_each_other(address: str) -> None:
    with doors(TOKEN, TOKEN, TOKEN, address=address) as wires:
        meets(wires)
        meets(wires, 1, 2)
        meets(wires, group=GROUP + 1)


def test_who_comes_early_is_kept_for_the_group_that_asks() -> None:
    with doors(TOKEN, TOKEN) as wires:
        early = wires[0].reach(2, [1], LONG)[1]
        meets(wires, group=1)
        with early, wires[1].reach(2, [0], LONG)[0] as late:
            early.send(b"2")
            late.setblocking(True)
            assert late.recv(10) == b"2"


@pytest.mark.parametrize(
    "words",
    [
        lambda wire: hello(wire, 0, 1)[:-1] + b"\0",
        lambda wire: hello(wire, 0, 2),
        lambda wire: hello(wire, 1, 1),
        lambda wire: hello(wire, 5, 1),
        lambda wire: hello(wire, 0, 1, magic=b"opsdist0"),
        lambda wire: b"GET / HTTP/1.1\r\nHost: node1\r\nAccept: text/plain, application/json\r\n\r\n",
        lambda wire: bytes(_LONGEST),
    ],
    ids=["proof", "to another", "from itself", "from above", "version", "http", "zeros"],
)
def test_who_says_it_wrongly_is_sent_away(words: Callable[[Wires], bytes]) -> None:
    with doors(TOKEN, TOKEN) as wires, knock(wires[1], words(wires[1])) as stranger:
        meets(wires)
        stranger.settimeout(LONG)
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""


def test_who_has_another_token_is_not_heard() -> None:
    with doors("another token", TOKEN) as (stranger, wire):
        stranger.reach(GROUP, [1], LONG)[1].close()
        with pytest.raises(Unreached, match="rank 0 did not connect to rank 1") as told:
            wire.reach(GROUP, [0], SHORT)
    assert told.value.waiting_for == (0,)


@pytest.mark.parametrize("seed", range(3))
def test_garbage_is_dropped_and_others_are_served(seed: int) -> None:
    draw = random.Random(seed)
    with doors(TOKEN, TOKEN) as wires, contextlib.ExitStack() as held:
        for number in range(2 * _STRANGERS):
            start = draw.choice([b"", _MAGIC, hello(wires[1], 0, 1)[: draw.randrange(_LONGEST)]])
            stranger = knock(wires[1], start + draw.randbytes(draw.choice([0, 1, 64, 4096])))
            if number % 2:
                held.enter_context(stranger)  # says no more, and stays
            else:
                stranger.close()
        meets(wires)
        assert len(wires[1]._strangers) <= _STRANGERS


def test_a_hello_that_is_heard_in_pieces() -> None:
    with doors(TOKEN, TOKEN) as wires:
        words = hello(wires[1], 0, 1)
        with knock(wires[1], words[:10]) as rank:
            work = threading.Timer(0.1, lambda: rank.sendall(words[10:] + b"the first message"))
            work.start()
            with wires[1].reach(GROUP, [0], LONG)[0] as found:
                found.setblocking(True)
                assert found.recv(100) == b"the first message"
            work.join()


def test_who_is_gone_is_named_at_once() -> None:
    with doors(TOKEN, TOKEN) as wires:
        wires[1]._door.close()
        with pytest.raises(PeerLost, match=r"rank 0 cannot connect to rank 1 at 127.0.0.1: Connection refused"):
            wires[0].reach(GROUP, [1], LONG)


def test_an_address_of_another_host_is_refused() -> None:
    with pytest.raises(ResourceError, match=r"rank 3 cannot listen on 203.0.113.1"):
        Wires(3, "203.0.113.1", TOKEN)


def test_a_backlog_holds_all_who_may_come_at_once() -> None:
    """Connecting waits for nobody: the ranks of a large world come before this one looks."""
    with doors(TOKEN, TOKEN) as wires, contextlib.ExitStack() as held:
        with open("/proc/sys/net/core/somaxconn", encoding="ascii") as limit:
            many = min(int(limit.read()), _BACKLOG, 300)
        for group in range(1, many):
            held.enter_context(wires[0].reach(group, [1], LONG)[1])
        held.enter_context(wires[1].reach(many - 1, [0], LONG)[0])


@pytest.mark.parametrize("said", [b"", b"half a header", bytes(5000)], ids=["nothing", "half a header", "another call"])
def test_a_rank_that_leaves_is_named(said: bytes) -> None:
    def leave(comm: BuiltinCommunicator) -> None:
        with comm.engine.reach(comm._group, [0])[0] as wire:  # type: ignore[attr-defined]
            wire.sendall(said)

    def stay(comm: BuiltinCommunicator) -> None:
        if len(said) > 32:
            with pytest.raises(MismatchError, match=r"rank 0 waits in step 0 of call 1 .* rank 1 sends 0 bytes"):
                comm.barrier()
            return
        with pytest.raises(PeerLost, match="rank 0 lost the connection to rank 1 in step 0 of call 1") as told:
            comm.barrier()
        assert told.value.waiting_for == (1,)
        with pytest.raises(PeerLost):
            comm.barrier()

    with native_world.communicators(2, nodes=(0, 1)) as (first, second):
        run_threads([lambda: stay(first), lambda: leave(second)])


def test_different_calls_are_told_apart() -> None:
    def body(comm: BuiltinCommunicator) -> str:
        data = np.ones(1000 + comm.rank, np.float32)
        with pytest.raises((MismatchError, PeerLost)) as told:
            comm.allreduce(data)
        return str(told.value)

    with native_world.communicators(2, nodes=(0, 1)) as world:
        words = run_threads([lambda comm=comm: body(comm) for comm in world])  # type: ignore[misc]
    assert any("rank 0 entered allreduce of 1000" in each and "1001" in each for each in words)


def test_a_peer_that_does_not_come_is_named() -> None:
    with native_world.communicators(3, timeout=0.5, nodes=(0, 1, 1)) as world:

        def body(comm: BuiltinCommunicator) -> tuple[int, ...]:
            if comm.rank == 2:
                return ()
            with pytest.raises(TransportTimeout) as told:
                comm.allreduce(np.ones(4, np.float32))
            return told.value.waiting_for

        first, second, _ = run_threads([lambda comm=comm: body(comm) for comm in world])  # type: ignore[misc]
    assert 2 in first or 1 in first
    assert second


def test_who_waits_for_a_peer_is_let_go_when_it_is_closed() -> None:
    with doors(TOKEN, TOKEN) as (_, wire):
        thread = threading.Thread(target=wire.close)
        thread.start()
        with pytest.raises(UsageError, match="the communicator is closed"):
            wire.reach(GROUP, [0], LONG)
        thread.join()


def test_two_groups_at_once_do_not_mix() -> None:
    """Calls of two groups that share a pair of ranks go on in two threads a rank."""

    def body(comm: BuiltinCommunicator) -> None:
        other = comm.group(range(comm.size))
        mine, theirs = np.full(200_000, 1.0), np.full(200_000, 10.0)
        for _ in range(20):
            out, also = np.zeros_like(mine), np.zeros_like(theirs)
            works = [comm.bind("allreduce", mine, out).start(), other.bind("allreduce", theirs, also).start()]
            assert all(work.wait(LONG) for work in works)
            assert (out == comm.size).all()
            assert (also == 10.0 * comm.size).all()

    with native_world.communicators(3, nodes=(0, 1, 1)) as world:
        run_threads([lambda comm=comm: body(comm) for comm in world])  # type: ignore[misc]


def test_nothing_listens_and_nothing_is_open_afterwards() -> None:
    def opened() -> set[str]:
        gc.collect()
        found = set()
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # that of the listing
                found.add(os.readlink(f"/proc/self/fd/{name}"))
        return {name for name in found if name.startswith("socket:")}

    before = opened()
    with native_world.communicators(2, nodes=(0, 1)) as world:
        run_threads([comm.barrier for comm in world])
        port = world[0].engine._wires.port  # type: ignore[attr-defined]
        assert opened() > before
    del world
    assert opened() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HERE, port))
