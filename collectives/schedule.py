"""An algorithm is data: the words a plan is written in.

A plan says what one rank sends, receives and folds, step by step, in element ranges of its buffers. It never sees
payload and never sees a wire; `simulate.py` proves it, `cost.py` times it, `execute.py` runs it. The rules a step
must keep are in `simulate.py`, which enforces them.

Vocabulary: a *chunk* is one rank's share of a buffer; segments (many per chunk) belong to transports, never to plans.
May import: the standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Buffer = Literal["send", "recv", "scratch"]


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of elements of one buffer."""

    buffer: Buffer
    start: int
    stop: int

    @property
    def count(self) -> int:
        return self.stop - self.start

    def within(self, start: int, stop: int) -> Span:
        """The part of this span that begins `start` elements into it."""
        return Span(self.buffer, self.start + start, self.start + stop)

    def __str__(self) -> str:
        return f"{self.buffer}[{self.start}:{self.stop}]"


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Send:
    """One message to `peer`: the concatenation of `spans`.

    With `after`, it forwards what a fold of this step produced in its (single) span, so that reducing and pushing
    the result can be one pass.
    """

    peer: int
    spans: Spans
    after: bool = False


@dataclass(frozen=True, slots=True)
class Receive:
    """One message from `peer` that overwrites `spans`. From oneself it is a local copy."""

    peer: int
    spans: Spans


@dataclass(frozen=True, slots=True)
class Message:
    """A fold's operand: the message that `peer` sends in this step."""

    peer: int


@dataclass(frozen=True, slots=True)
class Fold:
    """Three-address reduction: `into` becomes the operands combined in list order.

    `last` marks the fold that completes its elements: there, and only there, `avg` divides.
    """

    into: Span
    operands: tuple[Span | Message, ...]
    last: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """Messages and folds that proceed together; the next step starts when all of them are done.

    From one peer, messages feed the folds first and then the receives, each in list order.
    """

    sends: tuple[Send, ...] = ()
    receives: tuple[Receive, ...] = ()
    folds: tuple[Fold, ...] = ()

    def sources(self) -> set[int]:
        """Peers that messages come from."""
        operands = (operand for fold in self.folds for operand in fold.operands)
        peers = {operand.peer for operand in operands if isinstance(operand, Message)}
        return peers.union(receive.peer for receive in self.receives)

    def targets(self) -> set[int]:
        """Peers that messages go to."""
        return {send.peer for send in self.sends}


@dataclass(frozen=True, slots=True)
class Plan:
    """What one rank does. `scratch` is the number of scratch elements it needs."""

    steps: tuple[Step, ...]
    scratch: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """All an algorithm may know about a call.

    `send_counts` and `recv_counts` are the elements of each block of this rank's send and receive buffer: one block
    per peer where the collective addresses peers (alltoall), one block where it does not (allreduce), none where the
    rank has no such buffer (the send buffer of a broadcast's leaf). `groups` are lists of ranks treated together.
    """

    rank: int
    size: int
    send_counts: tuple[int, ...]
    recv_counts: tuple[int, ...]
    root: int = 0
    groups: tuple[tuple[int, ...], ...] = ()
    in_place: bool = False

    @property
    def send(self) -> Span:
        """The whole send buffer."""
        return Span("send", 0, sum(self.send_counts))

    @property
    def recv(self) -> Span:
        """The whole receive buffer."""
        return Span("recv", 0, sum(self.recv_counts))

    def send_block(self, index: int) -> Span:
        start = sum(self.send_counts[:index])
        return Span("send", start, start + self.send_counts[index])

    def recv_block(self, index: int) -> Span:
        start = sum(self.recv_counts[:index])
        return Span("recv", start, start + self.recv_counts[index])


@dataclass(frozen=True, slots=True)
class Closed:
    """What an algorithm costs, in closed form.

    steps: the most communicating steps any rank takes. wire: the most elements any rank sends. alphas, path: messages
    and elements on the critical path, so that time = alphas * alpha + path * beta.
    """

    steps: int
    wire: float
    alphas: int
    path: float


NOTHING = Closed(0, 0, 0, 0)


def chunks(span: Span, parts: int) -> list[Span]:
    """`span` in `parts` chunks whose lengths differ by one at most."""
    cuts = [span.count * index // parts for index in range(parts + 1)]
    return [span.within(start, stop) for start, stop in pairwise(cuts)]


def copy(shape: Shape, source: Span, target: Span) -> Step:
    """The step that copies a rank's own block, which in place is already where it belongs."""
    if shape.in_place:
        return Step()
    return Step(sends=(Send(shape.rank, (source,)),), receives=(Receive(shape.rank, (target,)),))


def together(*steps: Step) -> Step:
    """One step that does what all of them do."""
    return Step(
        sends=tuple(send for step in steps for send in step.sends),
        receives=tuple(receive for step in steps for receive in step.receives),
        folds=tuple(fold for step in steps for fold in step.folds),
    )


def by_rank(rank: int, own: Span, peers: Sequence[int]) -> tuple[Span | Message, ...]:
    """Operands in the order of ranks, own included: with it every rank that folds the same ranks gets the same bits."""
    ordered = sorted({*peers, rank})
    return tuple(own if peer == rank else Message(peer) for peer in ordered)


def onwards(index: int, number: int) -> list[int]:
    """All others of `number` participants, from the next one round: when all list their messages so, no two send to
    the same one at a time."""
    return [(index + distance) % number for distance in range(1, number)]


def plan(steps: Sequence[Step], scratch: int = 0) -> Plan:
    """A plan of the steps that do something."""
    return Plan(tuple(step for step in steps if step.sends or step.receives or step.folds), scratch)
