"""When each rank of a set of plans is done: the event loop behind `cost.py`, whose model it implements.

Messages of a pair match first in, first out, so which belong together is known before anything is timed; from there
on, each message and fold counts what it still waits for.
May import: schedule, errors.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from collectives.errors import PlanError
from collectives.schedule import Message, Plan, Span, Step

# At one instant, whatever ends or becomes possible comes before ports choose what to send next.
_HAPPEN, _CHOOSE = 0, 1


def finish_times(
    plans: Sequence[Plan],
    cost: Callable[[int, int, int], float],
    fold_cost: Callable[[int], float] = lambda elements: 0,
) -> list[float]:
    """When each rank is done. `cost(source, target, elements)` is how long a message occupies the two ports,
    `fold_cost(elements)` how long it takes to fold in an operand.

    The plans should have been proven; of those that do not fit together, raises PlanError without the reason.
    """
    return _Timeline(plans, cost, fold_cost).run()


@dataclass(slots=True, eq=False)
class _Folding:
    cost: float
    waits: int = 0
    """Messages among the operands that have not arrived."""
    pushes: list[_Message] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Message:
    source: int
    target: int
    order: int
    """Its place in the sender's list."""
    cost: float
    waits: int
    """For both ends to enter, and perhaps for a fold."""
    feeds: _Folding | None = None


@dataclass(slots=True, eq=False)
class _Part:
    """A step of one rank: its messages in both directions, its folds, and how many of all of them are not done."""

    messages: list[_Message] = field(default_factory=list)
    folds: list[_Folding] = field(default_factory=list)
    unfinished: int = 0


@dataclass(slots=True, eq=False)
class _Rank:
    parts: list[_Part]
    index: int = -1
    sending: bool = False
    ready: list[tuple[int, _Message]] = field(default_factory=list)
    """A heap of the messages that may go, by order."""
    in_free: float = 0
    fold_free: float = 0
    finish: float | None = None


_Mail = defaultdict[tuple[int, int], deque[_Message]]


class _Timeline:
    def __init__(
        self,
        plans: Sequence[Plan],
        cost: Callable[[int, int, int], float],
        fold_cost: Callable[[int], float],
    ) -> None:
        mail: _Mail = defaultdict(deque)
        self._cost, self._fold_cost = cost, fold_cost
        self._events: list[tuple[float, int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._ranks = [
            _Rank([self._outward(rank, step, mail) for step in plan.steps]) for rank, plan in enumerate(plans)
        ]
        for rank, plan in enumerate(plans):
            for step, part in zip(plan.steps, self._ranks[rank].parts, strict=True):
                self._inward(rank, step, part, mail)
        if any(mail.values()):
            raise PlanError("the plans do not fit together: a message is sent that nobody receives")

    def _outward(self, rank: int, step: Step, mail: _Mail) -> _Part:
        part = _Part()
        producers: dict[Span, _Folding] = {}
        for fold in step.folds:
            folding = _Folding(self._fold_cost(fold.into.count * (len(fold.operands) - 1)))
            producers[fold.into] = folding
            part.folds.append(folding)
        for order, send in enumerate(step.sends):
            elements = sum(span.count for span in send.spans)
            occupies = self._cost(rank, send.peer, elements) if send.peer != rank else 0
            message = _Message(rank, send.peer, order, occupies, 2 + send.after)
            if send.after:
                producer = producers.get(send.spans[0])
                if producer is None:
                    raise PlanError(f"the plans do not fit together: rank {rank} sends `after` what no fold produces")
                producer.pushes.append(message)
            part.messages.append(message)
            mail[rank, send.peer].append(message)
        return part

    def _inward(self, rank: int, step: Step, part: _Part, mail: _Mail) -> None:
        """Match what the step expects, folds first, with what was sent."""

        def expect(peer: int) -> _Message:
            if not mail[peer, rank]:
                raise PlanError(f"the plans do not fit together: rank {rank} expects a message that rank {peer} lacks")
            part.messages.append(mail[peer, rank][0])
            return mail[peer, rank].popleft()

        for fold, folding in zip(step.folds, part.folds, strict=True):
            for operand in fold.operands:
                if isinstance(operand, Message):
                    expect(operand.peer).feeds = folding
                    folding.waits += 1
        for receive in step.receives:
            expect(receive.peer)
        part.unfinished = len(part.messages) + len(part.folds)

    def run(self) -> list[float]:
        for rank in self._ranks:
            self._at(0, _HAPPEN, self._enter, rank)
        while self._events:
            now, _, _, action, arguments = heappop(self._events)
            action(now, *arguments)
        finish = [rank.finish for rank in self._ranks if rank.finish is not None]
        if len(finish) < len(self._ranks):
            raise PlanError("the plans do not fit together: some ranks never finish")
        return finish

    def _at(self, time: float, kind: int, action: Callable[..., None], *arguments: Any) -> None:
        self._count += 1  # a tie is settled by who came first
        heappush(self._events, (time, kind, self._count, action, arguments))

    def _enter(self, now: float, rank: _Rank) -> None:
        rank.index += 1
        if rank.index == len(rank.parts):
            rank.finish = now
            return
        part = rank.parts[rank.index]
        for message in part.messages:
            self._release(now, message)
        for folding in part.folds:
            if not folding.waits:
                self._fold(now, rank, folding)
        if not part.unfinished:
            self._at(now, _HAPPEN, self._enter, rank)

    def _release(self, now: float, message: _Message) -> None:
        """One thing less that the message waits for."""
        message.waits -= 1
        if message.waits:
            return
        if message.source == message.target:
            self._at(now, _HAPPEN, self._left, message)
            return
        source = self._ranks[message.source]
        heappush(source.ready, (message.order, message))
        if not source.sending:
            source.sending = True
            self._at(now, _CHOOSE, self._send, source)

    def _send(self, now: float, source: _Rank) -> None:
        _, message = heappop(source.ready)
        self._at(now + message.cost, _HAPPEN, self._left, message)
        self._at(now + message.cost, _HAPPEN, self._port_free, source)

    def _port_free(self, now: float, source: _Rank) -> None:
        source.sending = bool(source.ready)
        if source.sending:
            self._at(now, _CHOOSE, self._send, source)

    def _left(self, now: float, message: _Message) -> None:
        target = self._ranks[message.target]
        target.in_free = max(now, target.in_free + message.cost)
        self._at(target.in_free, _HAPPEN, self._arrived, message)
        self._done(now, self._ranks[message.source])

    def _arrived(self, now: float, message: _Message) -> None:
        target, folding = self._ranks[message.target], message.feeds
        if folding:
            folding.waits -= 1
            if not folding.waits:
                self._fold(now, target, folding)
        self._done(now, target)

    def _fold(self, now: float, rank: _Rank, folding: _Folding) -> None:
        rank.fold_free = max(now, rank.fold_free) + folding.cost
        self._at(rank.fold_free, _HAPPEN, self._folded, rank, folding)

    def _folded(self, now: float, rank: _Rank, folding: _Folding) -> None:
        for message in folding.pushes:
            self._release(now, message)
        self._done(now, rank)

    def _done(self, now: float, rank: _Rank) -> None:
        """One message or fold less that the rank's step waits for."""
        part = rank.parts[rank.index]
        part.unfinished -= 1
        if not part.unfinished:
            self._at(now, _HAPPEN, self._enter, rank)
