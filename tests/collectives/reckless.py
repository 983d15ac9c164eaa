"""A slow engine that takes every liberty the rules of a step leave, on real numbers: what the simulator accepts must
come out right here too.

It reads a message early and stores it late, or lets a fold read the sender's memory when the fold runs, and does
whatever is possible in random order. It shares no code with the simulator or the executor.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from collectives.ops import Collective
from collectives.schedule import Fold, Message, Plan, Receive, Send, Shape, Span

Array = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(eq=False)
class Transit:
    """One message: who sends it in which step, and who takes it, where, in which step."""

    source: int
    source_step: int
    send: Send
    target: int
    target_step: int
    into: Receive | Fold
    held: Array | None = None
    done: bool = False


def buffers(collective: Collective, plan: Plan, shape: Shape, given: Array) -> dict[str, Array]:
    """send, recv and scratch, of which the first two share memory in place."""
    alias = collective.alias(shape) if shape.in_place and collective.alias else None
    recv = np.full(shape.recv.count, -1, np.int64)
    send = given.copy()
    if alias is not None and len(recv) >= len(send):
        recv[alias : alias + len(send)] = send
        send = recv[alias : alias + len(send)]
    elif alias is not None:
        recv = send[-alias : -alias + len(recv)]
    return {"send": send, "recv": recv, "scratch": np.full(plan.scratch, -1, np.int64)}


def wanted(collective: Collective, shape: Shape, count: int, given: Sequence[Array]) -> Array:
    """The receive buffer that the collective demands."""
    recv = np.full(shape.recv.count, -1, np.int64)
    for piece in collective.oracle(shape, count):
        end = piece.source + piece.stop - piece.start
        recv[piece.start : piece.stop] = sum(given[rank][piece.source : end] for rank in piece.ranks)
    return recv


class Engine:
    def __init__(
        self,
        plans: Sequence[Plan],
        collective: Collective,
        shapes: Sequence[Shape],
        given: Sequence[Array],
        random: Random,
    ) -> None:
        self.plans, self.random = plans, random
        self.memory = [buffers(collective, *each) for each in zip(plans, shapes, given, strict=True)]
        self.at = [0] * len(plans)
        self.folded: set[tuple[int, Span]] = set()
        """(rank, target) of the folds of the current steps that are done."""
        self.transits = self._matched()

    def _matched(self) -> list[Transit]:
        sent: dict[tuple[int, int], deque[tuple[int, Send]]] = defaultdict(deque)
        for rank, plan in enumerate(self.plans):
            for index, step in enumerate(plan.steps):
                for send in step.sends:
                    sent[rank, send.peer].append((index, send))
        found = []
        for rank, plan in enumerate(self.plans):
            for index, step in enumerate(plan.steps):
                takers: list[tuple[int, Receive | Fold]] = [
                    (o.peer, fold) for fold in step.folds for o in fold.operands if isinstance(o, Message)
                ]
                takers += [(receive.peer, receive) for receive in step.receives]
                for peer, into in takers:
                    source_step, send = sent[peer, rank].popleft()
                    found.append(Transit(peer, source_step, send, rank, index, into))
        return found

    def run(self) -> list[Array]:
        """The receive buffers."""
        while any(at < len(plan.steps) for at, plan in zip(self.at, self.plans, strict=True)):
            actions: list[tuple[Callable[..., None], Any]] = [(self._read, t) for t in self.transits if self._ready(t)]
            actions += [(self._store, t) for t in self.transits if t.held is not None and isinstance(t.into, Receive)]
            actions += [(self._fold, place) for place in self._foldable()]
            actions += [(self._leave, rank) for rank in range(len(self.plans)) if self._through(rank)]
            act, subject = self.random.choice(actions)
            act(subject)
        return [memory["recv"] for memory in self.memory]

    def _ready(self, transit: Transit) -> bool:
        """Whether both ends are in the step that holds it, what it pushes is there, and nobody has read it yet."""
        here = (self.at[transit.source], self.at[transit.target]) == (transit.source_step, transit.target_step)
        pushable = not transit.send.after or (transit.source, transit.send.spans[0]) in self.folded
        return here and pushable and not transit.done and transit.held is None

    def _read(self, transit: Transit) -> None:
        transit.held = np.concatenate([np.empty(0, np.int64), *self._views(transit.source, transit.send.spans)])

    def _views(self, rank: int, spans: Sequence[Span]) -> list[Array]:
        return [self.memory[rank][span.buffer][span.start : span.stop] for span in spans]

    def _store(self, transit: Transit) -> None:
        assert isinstance(transit.into, Receive)
        assert transit.held is not None
        position = 0
        for view in self._views(transit.target, transit.into.spans):
            view[:] = transit.held[position : position + len(view)]
            position += len(view)
        transit.held, transit.done = None, True

    def _feeding(self, rank: int, fold: Fold) -> list[Transit]:
        return [t for t in self.transits if t.into is fold and (t.target, t.target_step) == (rank, self.at[rank])]

    def _foldable(self) -> list[tuple[int, Fold]]:
        """Folds whose messages have been read, or can be read now."""
        return [
            (rank, fold)
            for rank, at in enumerate(self.at)
            for fold in (self.plans[rank].steps[at].folds if at < len(self.plans[rank].steps) else ())
            if (rank, fold.into) not in self.folded
            and all(t.held is not None or self._ready(t) for t in self._feeding(rank, fold))
        ]

    def _fold(self, place: tuple[int, Fold]) -> None:
        rank, fold = place
        feeding = {transit.source: transit for transit in self._feeding(rank, fold)}
        total = np.zeros(fold.into.count, np.int64)
        for operand in fold.operands:
            if isinstance(operand, Message):
                transit = feeding[operand.peer]
                if transit.held is None:
                    self._read(transit)
                assert transit.held is not None
                total += transit.held
                transit.held, transit.done = None, True
            else:
                total += self._views(rank, [operand])[0]
        self._views(rank, [fold.into])[0][:] = total
        self.folded.add((rank, fold.into))

    def _through(self, rank: int) -> bool:
        at = self.at[rank]
        if at == len(self.plans[rank].steps):
            return False
        mine = [t for t in self.transits if (rank, at) in ((t.source, t.source_step), (t.target, t.target_step))]
        folds = self.plans[rank].steps[at].folds
        return all(t.done for t in mine) and all((rank, fold.into) in self.folded for fold in folds)

    def _leave(self, rank: int) -> None:
        self.at[rank] += 1
        self.folded = {(other, span) for other, span in self.folded if other != rank}
