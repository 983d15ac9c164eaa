"""What every implementation of an interface must do, as checks that each one's tests run.

A transport check takes `wires(size)`, a context that gives one connected wire a rank, and raises AssertionError.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import pytest

from collectives.dtypes import DTYPES, OPERATORS
from collectives.errors import MismatchError
from collectives.ops import COLLECTIVES
from collectives.transport.base import HEADER, Bytes, CallTag, Incoming, Outgoing, Payload, Pending, Wire
from collectives.transport.streams import LARGEST_WINDOW, Streams

Wires = Callable[[int], AbstractContextManager[Sequence[Wire]]]
RUN = 0x5EC12E7
PATIENCE = 30.0


def tag(
    group: int = 1, sequence: int = 1, collective: str = "sendrecv", operator: str = "sum", dtype: str = "uint8",
    root: int = 0, count: int = 0,
) -> CallTag:  # fmt: skip
    return CallTag(
        group, sequence, list(COLLECTIVES).index(collective), list(OPERATORS).index(operator),
        list(DTYPES).index(dtype), root, count,
    )  # fmt: skip


@dataclass
class Taken:
    """A sink that keeps what arrives; it holds the bytes back (as a fold may) until `hold` is off."""

    length: int
    hold: bool = False
    data: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.data = bytearray(self.length)

    def take(self, offset: int, data: Bytes) -> int:
        self.data[offset : offset + len(data)] = data
        return 0 if self.hold else len(data)


def ends(wires: Sequence[Wire], run: int = RUN, size: int = 0) -> list[Streams]:
    """A transport over each wire; in a world of more ranks than wires, if so wanted, which has smaller windows."""
    return [Streams(rank, size or len(wires), wire, run) for rank, wire in enumerate(wires)]


def out(peer: int, *parts: bytes | bytearray) -> Outgoing:
    payload = Payload([memoryview(part) for part in parts])
    return Outgoing(peer, payload, payload.length)


def into(peer: int, length: int, hold: bool = False) -> tuple[Incoming, Taken]:
    sink = Taken(length, hold)
    return Incoming(peer, length, sink), sink


def _progress(driven: Sequence[Streams]) -> bool:
    """Every rank once, waiting only when nothing moves; whether anything did."""
    moved = [streams.progress(0) for streams in driven]
    return any(moved) or any(streams.progress(0.001) for streams in driven)


def drive(driven: Sequence[Streams], done: Callable[[], bool]) -> None:
    """Progress on these ranks, in turn, until it is done."""
    deadline = time.monotonic() + PATIENCE
    while not done():
        _progress(driven)
        assert time.monotonic() < deadline, "nothing comes of it"


def settle(driven: Sequence[Streams]) -> None:
    """Progress until nothing has moved for a while."""
    idle = 0
    while idle < 20:
        idle = 0 if _progress(driven) else idle + 1


def finished(*pendings: Pending) -> Callable[[], bool]:
    return lambda: not any(pending.left for pending in pendings)


def large_messages_cross(wires: Wires) -> None:
    """Both ways at once, far more than any window."""
    with wires(2) as pair:
        a, b = ends(pair)
        data = [random.Random(rank).randbytes(5 * LARGEST_WINDOW + 123) for rank in range(2)]
        sinks = [into(1 - rank, len(data[0])) for rank in range(2)]
        pendings = [
            streams.start(tag(), 0, [out(1 - rank, data[rank])], [sinks[rank][0]])
            for rank, streams in enumerate((a, b))
        ]
        drive((a, b), finished(*pendings))
        assert [bytes(sink.data) for _, sink in sinks] == data[::-1]


def empty_messages_are_real(wires: Wires) -> None:
    """Each completes one receive, between others, in order."""
    with wires(2) as pair:
        a, b = ends(pair)
        receives = [into(0, length) for length in (0, 3, 0, 0, 1)]
        pending = b.start(tag(), 0, [], [incoming for incoming, _ in receives])
        sends = [b"", b"abc", b"", b"", b"d"]
        for number, data in enumerate(sends):
            drive((a, b), finished(a.start(tag(), number, [out(1, data)], [])))
        drive((a, b), finished(pending))
        assert [bytes(sink.data) for _, sink in receives] == sends


def spans_are_joined(wires: Wires) -> None:
    """A message of many pieces of all lengths is one message."""
    draw = random.Random(7)
    pieces = [draw.randbytes(draw.choice((0, 1, 7, 4096, 300_001))) for _ in range(40)]
    with wires(2) as pair:
        a, b = ends(pair)
        incoming, sink = into(0, sum(map(len, pieces)))
        pendings = a.start(tag(), 0, [out(1, *pieces)], []), b.start(tag(), 0, [], [incoming])
        drive((a, b), finished(*pendings))
        assert bytes(sink.data) == b"".join(pieces)


def order_is_kept(wires: Wires) -> None:
    """First in, first out, whatever the lengths."""
    draw = random.Random(3)
    messages = [draw.randbytes(draw.choice((0, 1, 5000, 70_000))) for _ in range(200)]
    with wires(2) as pair:
        a, b = ends(pair)
        receives = [into(0, len(message)) for message in messages]
        pendings = (
            a.start(tag(), 0, [out(1, message) for message in messages], []),
            b.start(tag(), 0, [], [incoming for incoming, _ in receives]),
        )
        drive((a, b), finished(*pendings))
        assert [bytes(sink.data) for _, sink in receives] == messages


def groups_do_not_block_each_other(wires: Wires) -> None:
    """A message that nobody takes holds up its own group only."""
    with wires(2) as pair:
        a, b = ends(pair)
        stuck = a.start(tag(group=1), 0, [out(1, bytes(8 * LARGEST_WINDOW))], [])
        for sequence in range(1, 4):
            incoming, sink = into(0, 4 * LARGEST_WINDOW)
            data = bytes([sequence]) * sink.length
            call = tag(group=2, sequence=sequence)
            drive((a, b), finished(a.start(call, 0, [out(1, data)], []), b.start(call, 0, [], [incoming])))
            assert sink.data == data
        assert stuck.left == 1
        incoming, _ = into(0, 8 * LARGEST_WINDOW)
        drive((a, b), finished(stuck, b.start(tag(group=1), 0, [], [incoming])))


def the_window_bounds_what_is_under_way(wires: Wires) -> None:
    """Towards a rank that takes nothing, and one whose sink holds everything back."""
    for hold in (False, True):
        with wires(2) as pair:
            a, b = ends(pair)
            sending = out(1, bytes(16 * LARGEST_WINDOW))
            pending = a.start(tag(), 0, [sending], [])
            incoming, sink = into(0, sending.payload.length, hold)
            if hold:
                b.start(tag(), 0, [], [incoming])
            settle((a, b))
            assert 0 < sending.sent <= LARGEST_WINDOW + a.segment
            if hold:
                sink.hold = False
                b.release(1, 0, sending.sent)
            else:
                b.start(tag(), 0, [], [incoming])
            drive((a, b), finished(pending))


def small_messages_are_bounded_too(wires: Wires) -> None:
    """A rank that runs ahead with messages of nothing, or nearly nothing, is stopped as well."""
    for data in (b"", b"x"):
        with wires(2) as pair:
            a, b = ends(pair, size=1025)
            sends = [out(1, data) for _ in range(2000)]
            pending = a.start(tag(), 0, sends, [])
            settle((a, b))
            assert 0 < sum(send.done for send in sends) < 1200
            receives = [into(0, len(data))[0] for _ in sends]
            drive((a, b), finished(pending, b.start(tag(), 0, [], receives)))


def a_rank_that_never_reads_blocks_nobody_else(wires: Wires) -> None:
    """What is meant for rank 2, which nobody drives, does not hold up what rank 1 gets, whoever comes first."""
    data = bytes(8 * LARGEST_WINDOW)
    with wires(3) as three:
        a, b, _ = ends(three)
        to_both = a.start(tag(), 0, [out(2, data), out(1, data)], [])
        incoming, _ = into(0, len(data))
        drive((a, b), finished(b.start(tag(), 0, [], [incoming])))
        assert to_both.left == 1


def strangers_are_dropped(wires: Wires) -> None:
    """Other runs, garbage, and ranks that do not exist; what is ours still arrives."""
    with wires(2) as pair:
        a, b = ends(pair)
        [stranger, _] = ends(pair, RUN + 1)
        stranger.start(tag(), 0, [out(1, b"evil")], [])
        Streams(7, 8, pair[0], RUN).start(tag(), 0, [out(1, b"evil")], [])
        for header in (b"", b"x", b"x" * (HEADER.size - 1), b"x" * HEADER.size, b"x" * 5000):
            pair[0].post(1, header, b"")
            pair[0].post(1, header, b"x" * 5000)
        incoming, sink = into(0, 4)
        drive((a, b), finished(a.start(tag(), 0, [out(1, b"good")], []), b.start(tag(), 0, [], [incoming])))
        assert sink.data == b"good"
        assert b.strangers >= 10  # a wire may drop for itself what has no header at all


MISMATCHES = {
    "collective": (tag(collective="allreduce", count=4), tag(collective="allgather", count=4)),
    "dtype": (tag(collective="allreduce", dtype="int32"), tag(collective="allreduce", dtype="float32")),
    "operator": (tag(collective="allreduce", operator="sum"), tag(collective="allreduce", operator="max")),
    "root": (tag(collective="broadcast", root=0), tag(collective="broadcast", root=1)),
    "count": (tag(collective="allreduce", count=4), tag(collective="allreduce", count=5)),
}
WORDS = {
    "collective": ("allreduce", "allgather"), "dtype": ("int32", "float32"), "operator": ("sum", "max"),
    "root": ("root 0", "root 1"), "count": ("of 4", "of 5"),
}  # fmt: skip


def mismatches_are_told_by_both_names(wires: Wires) -> None:
    """Whether the other's message is there before this rank enters, or comes when it has."""
    for what, (theirs, mine) in MISMATCHES.items():
        for early in (False, True):
            with wires(2) as pair:
                a, b = ends(pair)
                a.start(theirs, 0, [out(1, b"data")], [])
                if early:
                    settle((a, b))
                incoming, _ = into(0, 4)
                with pytest.raises(MismatchError) as caught:
                    drive((a, b), finished(b.start(mine, 0, [], [incoming])))
                message = str(caught.value)
                assert caught.value.peer == 0
                for rank, word in zip((0, 1), WORDS[what], strict=True):
                    assert f"rank {rank}" in message
                    assert word in message, (what, message)


def a_wrong_length_is_told_by_both_names(wires: Wires) -> None:
    with wires(2) as pair:
        a, b = ends(pair)
        a.start(tag(), 3, [out(1, b"12345")], [])
        incoming, _ = into(0, 4)
        with pytest.raises(MismatchError, match=r"rank 1 .* for 4 bytes, rank 0 sends 5 bytes of step 3"):
            drive((a, b), finished(b.start(tag(), 0, [], [incoming])))


def calls_out_of_step_are_told(wires: Wires) -> None:
    """What is left of an earlier call meets a later one."""
    with wires(2) as pair:
        a, b = ends(pair)
        a.start(tag(sequence=1), 0, [out(1, b"1234")], [])
        incoming, _ = into(0, 4)
        with pytest.raises(MismatchError, match="call 1"):
            drive((a, b), finished(b.start(replace(tag(), sequence=2), 0, [], [incoming])))


TRANSPORT_CHECKS: tuple[Callable[[Wires], None], ...] = (
    large_messages_cross,
    empty_messages_are_real,
    spans_are_joined,
    order_is_kept,
    groups_do_not_block_each_other,
    the_window_bounds_what_is_under_way,
    small_messages_are_bounded_too,
    a_rank_that_never_reads_blocks_nobody_else,
    strangers_are_dropped,
    mismatches_are_told_by_both_names,
    a_wrong_length_is_told_by_both_names,
    calls_out_of_step_are_told,
)
