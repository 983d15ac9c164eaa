"""One rank of a simulated world: its memory, its place in its plan, and the rules that its own plan must keep.

`simulate.py` has the list of rules and moves the messages; here are those that one rank's plan shows: overlaps (3),
`after` (4), single messages (5), and buffers (7), and what a fold may combine.
May import: schedule, ops, symbolic, errors.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

from collectives.errors import PlanError
from collectives.ops import Collective
from collectives.schedule import Fold, Message, Plan, Receive, Send, Shape, Span, Step
from collectives.symbolic import Memory, Value, length_of, split

_Range = tuple[int, int, Send | Receive | Fold]
"""Elements [start, stop) of a rank's address space, and what reads or writes them."""


@dataclass(slots=True)
class Folding:
    """A fold of the current step and the operands that have arrived."""

    fold: Fold
    missing: int = 0
    arrived: dict[int, list[Value]] = field(default_factory=dict)
    done: bool = False


class Rank:
    """One rank: its memory, its place in its plan, and what the current step still waits for."""

    def __init__(self, plan: Plan, collective: Collective, shape: Shape) -> None:
        self.plan, self.rank, self.size = plan, shape.rank, shape.size
        self.memory = Memory()
        self.sent = self.communicating = 0
        self.index = -1
        sizes = {"send": shape.send.count, "recv": shape.recv.count, "scratch": plan.scratch}
        alias = collective.alias(shape) if shape.in_place and collective.alias else None
        send_base, recv_base = (0, sizes["send"]) if alias is None else (max(alias, 0), max(-alias, 0))
        ends = send_base + sizes["send"], recv_base + sizes["recv"]
        self._base = {"send": send_base, "recv": recv_base, "scratch": max(ends)}
        self._size = sizes
        self._read_only = None if alias is not None else (send_base, ends[0])
        self.memory.write(send_base, [Value(sizes["send"], 1 << shape.rank, 0, False)])
        self.sends: dict[int, list[Send]] = {}
        self.incoming: dict[int, list[Receive | Folding]] = {}
        self.folds: list[Folding] = []
        self.unfinished = 0
        self.fed: dict[int, Folding] = {}
        """By peer: the fold that took this step's first message to it."""
        self._pushed_over: set[int] = set()
        """The receives (by id) of this step that land on what it sends to the same peer."""

    @property
    def where(self) -> str:
        return f"rank {self.rank} in step {self.index}"

    @property
    def finished(self) -> bool:
        return self.index >= len(self.plan.steps)

    @property
    def step(self) -> Step:
        return self.plan.steps[self.index]

    def advance(self) -> bool:
        """Enter the next step, if the current one is done. False at the end of the plan or when still waiting."""
        if self.unfinished or self.finished:
            return False
        self.index += 1
        if self.finished:
            return False
        step = self.step
        self.sends, self.incoming, self.fed = {}, {}, {}
        self.folds = [Folding(fold) for fold in step.folds]
        for send in step.sends:
            self.sends.setdefault(self._peer(send.peer), []).append(send)
        for folding in self.folds:
            for operand in folding.fold.operands:
                if isinstance(operand, Message):
                    folding.missing += 1
                    self.incoming.setdefault(self._peer(operand.peer), []).append(folding)
        for receive in step.receives:
            self.incoming.setdefault(self._peer(receive.peer), []).append(receive)
        self.unfinished = len(step.sends) + len(step.receives) + sum(folding.missing for folding in self.folds)
        self.unfinished += len(self.folds)
        self._check_step(step)
        if (self.sends.keys() | self.incoming.keys()) - {self.rank}:
            self.communicating += 1
        for folding in self.folds:
            if not folding.missing:
                self._fold(folding)
        return True

    def ready(self, send: Send) -> bool:
        """An `after` send waits for its fold."""
        return not send.after or all(f.done for f in self.folds if f.fold.into == send.spans[0])

    def read(self, span: Span) -> list[Value]:
        start, stop = self.address(span)
        values = self.memory.read(start, stop)
        if values is None:
            raise PlanError(f"{self.where} reads {span}, parts of which were never written")
        return values

    def deliver(self, peer: int, values: list[Value]) -> Folding | None:
        """Take the message that matches the oldest expected from `peer`, and return the fold that it feeds, if any."""
        target = self.incoming[peer].pop(0)
        self.unfinished -= 1
        count = length_of(values)
        spans = (target.fold.into,) if isinstance(target, Folding) else target.spans
        expected = sum(span.count for span in spans)
        if count != expected:
            raise PlanError(f"{self.where} expects {expected} elements from rank {peer}, which sends {count}")
        if isinstance(target, Folding):
            target.arrived[peer] = values
            target.missing -= 1
            if not target.missing:
                self._fold(target)
            return target
        for span in spans:
            part, values = split(values, span.count)
            self.memory.write(self.address(span)[0], part)
        return None

    def _fold(self, folding: Folding) -> None:
        fold = folding.fold
        operands = [
            folding.arrived[operand.peer] if isinstance(operand, Message) else self.read(operand)
            for operand in fold.operands
        ]
        result: list[Value] = []
        left = fold.into.count
        while left:
            width = min(operand[0].length for operand in operands)
            ranks = 0
            for operand in operands:
                value = operand[0]
                if value.ranks & ranks:
                    raise PlanError(f"{self.where} folds a contribution twice into {fold.into}")
                if value.source != operands[0][0].source:
                    raise PlanError(f"{self.where} folds elements of different indices into {fold.into}")
                if value.complete:
                    raise PlanError(f"{self.where} folds into {fold.into} what an earlier fold was the last of")
                ranks |= value.ranks
            result.append(Value(width, ranks, operands[0][0].source, fold.last))
            operands = [split(operand, width)[1] for operand in operands]
            left -= width
        self.memory.write(self.address(fold.into)[0], result)
        folding.done = True
        self.unfinished -= 1

    def _peer(self, peer: int) -> int:
        if not 0 <= peer < self.size:
            raise PlanError(f"{self.where} names rank {peer} in a world of {self.size}")
        return peer

    def address(self, span: Span) -> tuple[int, int]:
        if not 0 <= span.start <= span.stop <= self._size[span.buffer]:
            raise PlanError(f"{self.where} touches {span} outside its buffer of {self._size[span.buffer]} elements")
        base = self._base[span.buffer]
        return base + span.start, base + span.stop

    def _check_step(self, step: Step) -> None:
        """Rules 3 to 5 and 7, as far as one rank's plan shows them."""
        self._check_after(step)
        reads: list[_Range] = []
        targets: list[_Range] = []
        for send in step.sends:
            if not send.after:
                reads += [(*self.address(span), send) for span in send.spans]
        for fold in step.folds:
            self._check_operands(fold)
            reads += [(*self.address(o), fold) for o in fold.operands if isinstance(o, Span)]
            targets.append((*self.address(fold.into), fold))
        for receive in step.receives:
            targets += [(*self.address(span), receive) for span in receive.spans]
        targets = sorted((target for target in targets if target[0] < target[1]), key=itemgetter(0))
        for start, stop, _ in targets:
            if self._read_only and start < self._read_only[1] and stop > self._read_only[0]:
                raise PlanError(f"{self.where} writes the send buffer")
        for (_, stop, a), (start, _, b) in pairwise(targets):
            if start < stop:
                raise PlanError(f"{self.where} has targets that overlap: {_name(a)} and {_name(b)}")
        self._check_reads(reads, targets)

    def _check_operands(self, fold: Fold) -> None:
        if not fold.operands:
            raise PlanError(f"{self.where} folds nothing into {fold.into}")
        peers = [operand.peer for operand in fold.operands if isinstance(operand, Message)]
        if self.rank in peers or len(set(peers)) < len(peers):
            raise PlanError(f"{self.where} folds into {fold.into} its own message, or two of one peer")
        if any(isinstance(operand, Span) and operand.count != fold.into.count for operand in fold.operands):
            raise PlanError(f"{self.where} folds spans of different lengths into {fold.into}")

    def _check_reads(self, reads: list[_Range], targets: list[_Range]) -> None:
        """Rule 3: what overlaps a target. `targets` are sorted and disjoint."""
        self._pushed_over = set()
        starts = [start for start, _, _ in targets]
        for start, stop, read in reads:
            index = bisect_left(starts, stop) - 1
            while index >= 0 and targets[index][1] > start < stop:
                first, end, target = targets[index]
                if isinstance(target, Receive) and isinstance(read, Send) and target.peer == read.peer != self.rank:
                    self._pushed_over.add(id(target))  # judged when the message comes
                elif target is not read:
                    raise PlanError(f"{self.where} overwrites by {_name(target)} what {_name(read)} reads")
                elif (first, end) != (start, stop):
                    raise PlanError(f"{self.where} folds into a part of an operand of {_name(target)}")
                index -= 1

    def _check_after(self, step: Step) -> None:
        for peer, sends in self.sends.items():
            if len(sends) > 2 or [send.after for send in sends] in ([False, False], [True, True], [True, False]):
                raise PlanError(f"{self.where} sends rank {peer} more than one plain and then one `after` message")
        for send in step.sends:
            if send.after and (len(send.spans) != 1 or all(fold.into != send.spans[0] for fold in step.folds)):
                raise PlanError(f"{self.where} sends `after` what no fold of the step produces")

    def may_be_overwritten(self, peer: Rank, send: Send) -> bool:
        """Whether the message `send` of `peer`, if it lands on what this rank sent in this step, is the push of the
        very fold that took what it overwrites."""
        if id(self.incoming[peer.rank][0]) not in self._pushed_over:
            return True
        fed = self.fed.get(peer.rank)
        return send.after and any(folding is fed and folding.fold.into == send.spans[0] for folding in peer.folds)


def _name(part: Send | Receive | Fold) -> str:
    if isinstance(part, Fold):
        return f"the fold into {part.into}"
    verb = "the message to" if isinstance(part, Send) else "the message from"
    return f"{verb} rank {part.peer} ({', '.join(map(str, part.spans)) or 'empty'})"
