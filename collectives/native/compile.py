"""A plan as the core reads it: numbers in the order of native/src/program.c. Lengths and places are in bytes.

May import: schedule, numpy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.schedule import Buffer, Fold, Message, Plan, Receive, Send, Span, Step

_BUFFERS: dict[Buffer, int] = {"send": 0, "recv": 1, "scratch": 2}


def words(plan: Plan, member: int, itemsize: int) -> bytes:
    """The program of the member that the plan is for."""
    compiler = _Compiler(member, itemsize)
    steps = [number for step in plan.steps for number in compiler.step(step)]
    total = compiler.total
    order = ("copies", "sends", "incoming", "folds", "operands", "spans")
    return np.array([len(plan.steps), *(total[name] for name in order), *steps], np.int64).tobytes()


def partners(plan: Plan, member: int) -> set[int]:
    """The members that the plan exchanges messages with."""
    return {peer for step in plan.steps for peer in step.sources() | step.targets()} - {member}


class _Compiler:
    def __init__(self, member: int, itemsize: int) -> None:
        self._member, self._item = member, itemsize
        self.total = dict.fromkeys(("copies", "sends", "incoming", "folds", "operands", "spans"), 0)

    def step(self, step: Step) -> list[int]:
        sends = [send for send in step.sends if send.peer != self._member]
        receives = [receive for receive in step.receives if receive.peer != self._member]
        copies = self._copies(step)
        targets = [fold.into for fold in step.folds]
        numbers = [len(copies), len(sends), len(step.folds), len(receives)]
        self.total["copies"] += len(copies)
        for to, source in copies:
            numbers += [*self._place(to), *self._place(source)]
        for send in sends:
            numbers += [send.peer, targets.index(send.spans[0]) if send.after else -1, *self._spans(send.spans)]
        for fold in step.folds:
            numbers += self._fold(fold)
        for receive in receives:
            numbers += [receive.peer, *self._spans(receive.spans)]
        self.total["sends"] += len(sends)
        self.total["incoming"] += len(receives)
        self.total["folds"] += len(step.folds)
        return numbers

    def _copies(self, step: Step) -> list[tuple[Span, Span]]:
        """(to, from): what the rank sends to itself."""
        own_sends: list[Send] = [send for send in step.sends if send.peer == self._member]
        own_receives: list[Receive] = [receive for receive in step.receives if receive.peer == self._member]
        return [
            (into, source)
            for send, receive in zip(own_sends, own_receives, strict=True)
            for source, into in zip(send.spans, receive.spans, strict=True)
        ]

    def _fold(self, fold: Fold) -> list[int]:
        numbers = [*self._place(fold.into), int(fold.last), len(fold.operands)]
        self.total["operands"] += len(fold.operands)
        for operand in fold.operands:
            if isinstance(operand, Message):
                self.total["incoming"] += 1
                numbers.append(operand.peer)
            else:
                numbers += [-1, *self._place(operand)]
        return numbers

    def _spans(self, spans: Sequence[Span]) -> list[int]:
        self.total["spans"] += len(spans)
        return [len(spans), *(number for span in spans for number in self._place(span))]

    def _place(self, span: Span) -> list[int]:
        return [_BUFFERS[span.buffer], span.start * self._item, span.count * self._item]
