"""The portable engine: runs a plan, bound to buffers, over a Transport.

Binding resolves every span to a view once; running then only starts steps and lets messages move. An Execution is a
state machine, so that several calls can be under way at once; `progress.py` drives them.
May import: schedule, dtypes, recorder, transport.base, numpy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from collectives.dtypes import Array, fold
from collectives.recorder import Record
from collectives.schedule import Buffer, Fold, Message, Plan, Span, Step
from collectives.transport.base import Bytes, CallTag, Incoming, Outgoing, Payload, Pending, Transport

Dtype = np.dtype[np.generic]


class _Overwrite:
    """The sink of a Receive."""

    __slots__ = ("_payload",)

    def __init__(self, payload: Payload) -> None:
        self._payload = payload

    def take(self, offset: int, data: Bytes) -> int:
        if len(data):
            self._payload.write(offset, data)
        return len(data)


@dataclass(frozen=True, slots=True)
class _BoundFold:
    """A fold's target and operands as views; an operand that arrives is the peer's number among them."""

    into: Array
    operands: tuple[Array | int, ...]
    last: bool

    @property
    def peers(self) -> list[int]:
        return [operand for operand in self.operands if isinstance(operand, int)]


@dataclass(frozen=True, slots=True)
class _BoundStep:
    copies: tuple[tuple[Array, Array], ...]
    sends: tuple[tuple[int, Payload, int | None], ...]
    """(peer, payload, the fold it comes after)."""
    receives: tuple[tuple[int, Payload], ...]
    folds: tuple[_BoundFold, ...]


class BoundPlan:
    """A plan with its spans resolved to views of one rank's buffers; peers are ranks of the world.

    `send` and `recv` are one-dimensional arrays (None for a rank that has none); scratch is allocated here.
    """

    def __init__(
        self, plan: Plan, send: Array | None, recv: Array | None, dtype: Dtype, ranks: Sequence[int], rank: int
    ) -> None:
        self.scratch = np.empty(plan.scratch, dtype)
        self.scratch.fill(0)  # the pages exist before anything is timed (np.zeros would leave them to the first run)
        self._buffers: dict[Buffer, Array | None] = {"send": send, "recv": recv, "scratch": self.scratch}
        self.steps = [self._bind(step, ranks, rank) for step in plan.steps]

    def _view(self, span: Span) -> Array:
        array = self._buffers[span.buffer]
        if array is None:
            array = self.scratch[:0]
        return array[span.start : span.stop]

    def _payload(self, spans: Sequence[Span]) -> Payload:
        return Payload([self._view(span).view(np.uint8).data for span in spans if span.count])

    def _bind(self, step: Step, ranks: Sequence[int], rank: int) -> _BoundStep:
        targets = [fold.into for fold in step.folds]
        own_sends = [send for send in step.sends if send.peer == rank]
        own_receives = [receive for receive in step.receives if receive.peer == rank]
        copies = [
            (self._view(into), self._view(source))
            for send, receive in zip(own_sends, own_receives, strict=True)
            for source, into in zip(send.spans, receive.spans, strict=True)
        ]
        return _BoundStep(
            copies=tuple(copies),
            sends=tuple(
                (ranks[send.peer], self._payload(send.spans), targets.index(send.spans[0]) if send.after else None)
                for send in step.sends
                if send.peer != rank
            ),
            receives=tuple(
                (ranks[receive.peer], self._payload(receive.spans)) for receive in step.receives if receive.peer != rank
            ),
            folds=tuple(self._bind_fold(fold, ranks) for fold in step.folds),
        )

    def _bind_fold(self, fold: Fold, ranks: Sequence[int]) -> _BoundFold:
        operands = tuple(
            ranks[operand.peer] if isinstance(operand, Message) else self._view(operand) for operand in fold.operands
        )
        return _BoundFold(self._view(fold.into), operands, fold.last)


class _Folding:
    """A fold under way: folds segment by segment, as soon as every operand has arrived that far."""

    __slots__ = ("_divisor", "_execution", "_fold", "_held", "_position", "_waiting", "pushes")

    def __init__(self, execution: Execution, fold: _BoundFold, divisor: int) -> None:
        self._execution, self._fold = execution, fold
        self._divisor = divisor if fold.last else 1
        self._held: dict[int, deque[Bytes]] = {peer: deque() for peer in fold.peers}
        self._waiting = len(self._held)
        self._position = 0
        self.pushes: list[Outgoing] = []

    def sink(self, peer: int) -> _FoldSink:
        return _FoldSink(self, peer)

    def take(self, peer: int, data: Bytes) -> None:
        held = self._held[peer]
        if not held:
            self._waiting -= 1
        held.append(data)
        while not self._waiting:
            self.advance()

    def advance(self) -> None:
        """Fold the next segment of every message (without messages: everything)."""
        fold_, dtype = self._fold, self._fold.into.dtype
        segments = {peer: held.popleft() for peer, held in self._held.items()}
        length = len(next(iter(segments.values()))) // dtype.itemsize if segments else len(fold_.into)
        part = slice(self._position, self._position + length)
        if length:
            operands = [
                np.frombuffer(segments[operand], dtype) if isinstance(operand, int) else operand[part]
                for operand in fold_.operands
            ]
            fold(operands, fold_.into[part], self._execution.operator, self._divisor)
        self._position += length
        self._waiting = sum(not held for held in self._held.values())
        for push in self.pushes:
            push.ready = self._position * dtype.itemsize
        if length:
            for peer in segments:
                self._execution.release(peer, length * dtype.itemsize)


class _FoldSink:
    """One operand's way into a fold."""

    __slots__ = ("_folding", "_peer")

    def __init__(self, folding: _Folding, peer: int) -> None:
        self._folding, self._peer = folding, peer

    def take(self, offset: int, data: Bytes) -> int:
        self._folding.take(self._peer, data)
        return 0


class Execution:
    """One run of a bound plan. `enter` has it recorded when it begins to run."""

    def __init__(
        self,
        bound: BoundPlan,
        transport: Transport,
        call: CallTag,
        operator: str,
        divisor: int,
        enter: Callable[[], Record] | None = None,
    ) -> None:
        self.call, self.operator = call, operator
        self._bound, self._transport, self._divisor, self._enter = bound, transport, divisor, enter
        self._record: Record | None = None
        self._index = -1
        self._pending: Pending | None = None
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.error is not None or (self._pending is None and self._index >= len(self._bound.steps))

    def advance(self) -> bool:
        """Go on as far as possible without waiting; whether a step was entered."""
        entered = False
        while not self.done and (self._pending is None or not self._pending.left):
            self._index += 1
            self._pending = None
            self._note()
            if self._index < len(self._bound.steps):
                self._pending = self._start(self._bound.steps[self._index])
            entered = True
        return entered

    def fail(self, error: Exception) -> None:
        """It does not go on."""
        self.error = error
        if self._record:
            self._record.leave(error)

    def _note(self) -> None:
        if self._index == 0 and self._enter:
            self._record = self._enter()
        if self._record and self._index < len(self._bound.steps):
            self._record.at_step(self._index)
        elif self._record:
            self._record.leave(None)

    def release(self, peer: int, length: int) -> None:
        self._transport.release(self.call.group, peer, length)

    def _start(self, step: _BoundStep) -> Pending:
        foldings = [_Folding(self, fold_, self._divisor) for fold_ in step.folds]
        sends = [Outgoing(peer, payload, payload.length if after is None else 0) for peer, payload, after in step.sends]
        for outgoing, (_, _, after) in zip(sends, step.sends, strict=True):
            if after is not None:
                foldings[after].pushes.append(outgoing)
        receives = [
            Incoming(peer, fold_.into.nbytes, folding.sink(peer))
            for folding, fold_ in zip(foldings, step.folds, strict=True)
            for peer in fold_.peers
        ]
        receives += [Incoming(peer, payload.length, _Overwrite(payload)) for peer, payload in step.receives]
        for folding, fold_ in zip(foldings, step.folds, strict=True):
            if not fold_.peers:
                folding.advance()
        pending = self._transport.start(self.call, self._index, sends, receives)
        for into, source in step.copies:
            np.copyto(into, source)
        return pending

    def waiting_for(self) -> tuple[list[int], list[int]]:
        """Peers whose messages are missing, and peers that do not take what is sent to them."""
        if not self._pending:
            return [], []
        owed = sorted({message.peer for message in self._pending.incoming if not message.done})
        stuck = sorted({message.peer for message in self._pending.outgoing if not message.done})
        return owed, stuck

    @property
    def step(self) -> int:
        return self._index
