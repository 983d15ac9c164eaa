"""All ranks of a plan in one process: the proof.

The simulator follows where every contribution goes, symbolically and by ranges, so the proof of a plan for 1 GiB costs
no more than for 1 KiB and is about the very objects that the executor runs. It enforces the strictest rules that any
transport may have:

1. Messages of an ordered pair of ranks match first in, first out.
2. No buffering: a send completes only when the receive it matches is current. Two ranks that both send first, and
   receive in a later step, deadlock.
3. No target (of a receive or a fold) overlaps a send, an operand or another target of the same step. Two exceptions:
   a fold may replace one of its own operands, and a message pushed `after` a fold may overwrite what was sent to feed
   that very fold.
4. An `after` send has one span, the target of one fold of its step.
5. A pair of ranks exchanges, a step and direction, one plain and one `after` message at most, in that order. A fold
   takes one message of a peer at most, and none of its own rank.
6. Empty messages are real and must match.
7. Out of place, the send buffer is never written. Nothing unwritten is read; nothing outside a buffer is touched.
8. Delivery order between pairs is arbitrary: `choose` picks the next pair.

May import: schedule, ops, errors.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from collectives.errors import PlanError
from collectives.ops import Collective
from collectives.schedule import Fold, Message, Plan, Receive, Send, Shape, Span, Step


class Value(NamedTuple):
    """A run of elements: whose contributions they hold, from which source index on, and whether they are complete."""

    length: int
    ranks: int
    """Bit r is set when the contribution of rank r is in."""
    source: int
    complete: bool
    """Set by the fold marked `last`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running the plans amounted to. Elements, not bytes."""

    steps: int
    """The most steps with a message to or from another rank that any rank takes."""
    wire: int
    """The most elements any rank sends to others."""
    sent: tuple[int, ...]
    """Elements sent to others, by rank."""


def simulate(
    plans: Sequence[Plan],
    collective: Collective,
    shapes: Sequence[Shape],
    count: int,
    choose: Callable[[int], int] | None = None,
) -> Outcome:
    """Run one plan a rank and prove the result.

    `choose(n)` picks which of n deliverable pairs goes next; by default the oldest. Raises PlanError, naming rank and
    step, when a rule is broken, the ranks deadlock, or a receive buffer does not end as the collective demands.
    """
    ranks = [_Rank(plan, collective, shape) for plan, shape in zip(plans, shapes, strict=True)]
    _World(ranks, choose).run()
    for rank, shape in zip(ranks, shapes, strict=True):
        _check_result(rank, collective, shape, count)
    return Outcome(
        steps=max(rank.communicating for rank in ranks),
        wire=max(rank.sent for rank in ranks),
        sent=tuple(rank.sent for rank in ranks),
    )


_Range = tuple[int, int, Send | Receive | Fold]
"""Elements [start, stop) of a rank's address space, and what reads or writes them."""


class _Memory:
    """A rank's buffers in one address space, as disjoint runs of values."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._values: list[Value] = []

    def read(self, start: int, stop: int) -> list[Value] | None:
        """The values of [start, stop), or None if any of it was never written."""
        found: list[Value] = []
        index = max(bisect_right(self._starts, start) - 1, 0)
        position = start
        while position < stop:
            if index >= len(self._starts) or self._starts[index] > position:
                return None
            base, value = self._starts[index], self._values[index]
            index += 1
            end = min(base + value.length, stop)
            if end <= position:
                continue
            part = Value(end - position, value.ranks, value.source + position - base, value.complete)
            position = end
            found.append(part)
        return found

    def write(self, start: int, values: Sequence[Value]) -> None:
        stop = start + sum(value.length for value in values)
        if start == stop:
            return
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._starts[first] + self._values[first].length <= start:
            first += 1
        last = first
        new: list[tuple[int, Value]] = []
        while last < len(self._starts) and self._starts[last] < stop:
            base, old = self._starts[last], self._values[last]
            if base < start:
                new.append((base, old._replace(length=start - base)))
            last += 1
        position = start
        for value in values:
            # Neighbours that continue each other become one run, so that reads stay short.
            if new and _continues(*new[-1], position, value):
                base, before = new[-1]
                new[-1] = (base, before._replace(length=before.length + value.length))
            elif value.length:
                new.append((position, value))
            position += value.length
        if last > first:
            base, old = self._starts[last - 1], self._values[last - 1]
            if base + old.length > stop:
                cut = stop - base
                new.append((stop, Value(old.length - cut, old.ranks, old.source + cut, old.complete)))
        self._starts[first:last] = [base for base, _ in new]
        self._values[first:last] = [value for _, value in new]


def _continues(base: int, before: Value, start: int, value: Value) -> bool:
    return (
        base + before.length == start
        and before.ranks == value.ranks
        and before.complete == value.complete
        and before.source + before.length == value.source
    )


@dataclass(slots=True)
class _Folding:
    """A fold of the current step and the operands that have arrived."""

    fold: Fold
    missing: int
    arrived: dict[int, list[Value]] = field(default_factory=dict)
    done: bool = False


class _Rank:
    """One rank: its memory, its place in its plan, and what the current step still waits for."""

    def __init__(self, plan: Plan, collective: Collective, shape: Shape) -> None:
        self.plan, self.rank, self.size = plan, shape.rank, shape.size
        self.memory = _Memory()
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
        self.incoming: dict[int, list[Receive | _Folding]] = {}
        self.folds: list[_Folding] = []
        self.unfinished = 0
        self.fed: dict[int, _Folding] = {}
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
        self.folds = [_Folding(fold, sum(isinstance(o, Message) for o in fold.operands)) for fold in step.folds]
        for send in step.sends:
            self.sends.setdefault(self._peer(send.peer), []).append(send)
        for folding in self.folds:
            for operand in folding.fold.operands:
                if isinstance(operand, Message):
                    self.incoming.setdefault(self._peer(operand.peer), []).append(folding)
        for receive in step.receives:
            self.incoming.setdefault(self._peer(receive.peer), []).append(receive)
        self.unfinished = len(step.sends) + len(step.receives) + sum(folding.missing for folding in self.folds)
        self.unfinished += len(self.folds)
        self._check_step(step)
        if any(peer != self.rank for peer in (*self.sends, *self.incoming)):
            self.communicating += 1
        for folding in self.folds:
            if not folding.missing:
                self._fold(folding)
        return True

    def ready(self, send: Send) -> bool:
        """An `after` send waits for its fold."""
        return not send.after or all(f.done for f in self.folds if f.fold.into == send.spans[0])

    def read(self, span: Span) -> list[Value]:
        start, stop = self._address(span)
        values = self.memory.read(start, stop)
        if values is None:
            raise PlanError(f"{self.where} reads {span}, parts of which were never written")
        return values

    def deliver(self, peer: int, values: list[Value]) -> _Folding | None:
        """Take the message that matches the oldest expected from `peer`, and return the fold that it feeds, if any."""
        target = self.incoming[peer].pop(0)
        self.unfinished -= 1
        count = sum(value.length for value in values)
        spans = (target.fold.into,) if isinstance(target, _Folding) else target.spans
        expected = sum(span.count for span in spans)
        if count != expected:
            raise PlanError(f"{self.where} expects {expected} elements from rank {peer}, which sends {count}")
        if isinstance(target, _Folding):
            target.arrived[peer] = values
            target.missing -= 1
            if not target.missing:
                self._fold(target)
            return target
        for span in spans:
            part, values = _split(values, span.count)
            self.memory.write(self._address(span)[0], part)
        return None

    def _fold(self, folding: _Folding) -> None:
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
            operands = [_split(operand, width)[1] for operand in operands]
            left -= width
        self.memory.write(self._address(fold.into)[0], result)
        folding.done = True
        self.unfinished -= 1

    def _peer(self, peer: int) -> int:
        if not 0 <= peer < self.size:
            raise PlanError(f"{self.where} names rank {peer} in a world of {self.size}")
        return peer

    def _address(self, span: Span) -> tuple[int, int]:
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
                reads += [(*self._address(span), send) for span in send.spans]
        for fold in step.folds:
            self._check_operands(fold)
            reads += [(*self._address(o), fold) for o in fold.operands if isinstance(o, Span)]
            targets.append((*self._address(fold.into), fold))
        for receive in step.receives:
            targets += [(*self._address(span), receive) for span in receive.spans]
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

    def may_be_overwritten(self, peer: _Rank, send: Send) -> bool:
        """Whether the message `send` of `peer`, if it lands on what this rank sent in this step, is the push of the
        very fold that took what it overwrites."""
        if id(self.incoming[peer.rank][0]) not in self._pushed_over:
            return True
        fed = self.fed.get(peer.rank)
        return send.after and any(folding is fed and folding.fold.into == send.spans[0] for folding in peer.folds)


class _World:
    """Moves messages between ranks until all plans are done."""

    def __init__(self, ranks: list[_Rank], choose: Callable[[int], int] | None) -> None:
        self.ranks = ranks
        self._choose = choose
        self._candidates: list[tuple[int, int]] = []

    def run(self) -> None:
        for rank in self.ranks:
            self._enter(rank)
        while self._candidates:
            index = self._choose(len(self._candidates)) if self._choose else 0
            source, target = self._candidates.pop(index)
            self._transfer(self.ranks[source], self.ranks[target])
        if not all(rank.finished for rank in self.ranks):
            raise PlanError(self._deadlock())

    def _enter(self, rank: _Rank) -> None:
        """Go on as far as `rank` can."""
        while rank.advance():
            for peer in rank.sends:
                self._note(rank.rank, peer)
            for peer in rank.incoming:
                if peer != rank.rank:
                    self._note(peer, rank.rank)

    def _note(self, source: int, target: int) -> None:
        """Make the pair a candidate if its next message can be delivered, which happens once for each message: when
        the later of the two ranks enters, when the message before it is through, or when the fold it awaits is done."""
        sends = self.ranks[source].sends.get(target)
        if sends and self.ranks[target].incoming.get(source) and self.ranks[source].ready(sends[0]):
            self._candidates.append((source, target))

    def _transfer(self, source: _Rank, target: _Rank) -> None:
        send = source.sends[target.rank][0]
        if not target.may_be_overwritten(source, send):
            raise PlanError(
                f"{target.where} receives from rank {source.rank} over what it sends in that step; only the push of "
                "the fold that this message feeds may do so"
            )
        values = [value for span in send.spans for value in source.read(span)]
        del source.sends[target.rank][0]
        source.unfinished -= 1
        if source is not target:
            source.sent += sum(value.length for value in values)
        folding = target.deliver(source.rank, values)
        self._note(source.rank, target.rank)
        if folding:
            source.fed.setdefault(target.rank, folding)
            if folding.done:
                for peer, left in target.sends.items():
                    if left and left[0].after and left[0].spans[0] == folding.fold.into:
                        self._note(target.rank, peer)
        if not source.unfinished:
            self._enter(source)
        if not target.unfinished:
            self._enter(target)

    def _deadlock(self) -> str:
        waits = []
        for rank in self.ranks:
            if rank.finished:
                continue
            peers = sorted({p for p, left in (*rank.sends.items(), *rank.incoming.items()) if left})
            names = ", ".join(f"rank {peer}" for peer in peers)
            waits.append(f"rank {rank.rank} waits for {names} in step {rank.index}")
        return "deadlock: " + "; ".join(waits)


def _split(values: list[Value], count: int) -> tuple[list[Value], list[Value]]:
    """The first `count` elements, and the rest."""
    if len(values) == 1 and values[0].length == count:
        return values, []
    taken: list[Value] = []
    for index, value in enumerate(values):
        if value.length > count:
            head = Value(count, value.ranks, value.source, value.complete)
            tail = Value(value.length - count, value.ranks, value.source + count, value.complete)
            return [*taken, head] if count else taken, [tail, *values[index + 1 :]]
        taken.append(value)
        count -= value.length
    return taken, []


def _name(part: Send | Receive | Fold) -> str:
    if isinstance(part, Fold):
        return f"the fold into {part.into}"
    verb = "the message to" if isinstance(part, Send) else "the message from"
    return f"{verb} rank {part.peer} ({', '.join(map(str, part.spans)) or 'empty'})"


def _check_result(rank: _Rank, collective: Collective, shape: Shape, count: int) -> None:
    complete = collective.reduces and shape.size > 1
    for piece in collective.oracle(shape, count):
        if piece.start == piece.stop:
            continue
        wanted = Value(piece.stop - piece.start, sum(1 << r for r in piece.ranks), piece.source, complete)
        held = rank.memory.read(*rank._address(Span("recv", piece.start, piece.stop)))
        position = piece.start
        for value in held or []:
            offset = position - piece.start
            if value[1:] != (wanted.ranks, wanted.source + offset, wanted.complete):
                break
            position += value.length
        if position != piece.stop:
            raise PlanError(_wrong(rank, wanted, position, held, position - piece.start))


def _wrong(rank: _Rank, wanted: Value, position: int, held: list[Value] | None, offset: int) -> str:
    where = f"rank {rank.rank} ends with a wrong receive buffer from element {position} on"
    if held is None:
        return f"rank {rank.rank} ends with a receive buffer that was not filled"
    count = 0
    value = held[0]
    for value in held:
        if count == offset:
            break
        count += value.length
    have = [r for r in range(rank.size) if value.ranks >> r & 1]
    want = [r for r in range(rank.size) if wanted.ranks >> r & 1]
    if have != want:
        return f"{where}: it holds the contributions of ranks {have}, not {want}"
    if value.source != wanted.source + offset:
        return f"{where}: it holds source element {value.source}, not {wanted.source + offset}"
    return f"{where}: no fold, or the wrong one, was marked as the last (avg would be wrong)"
