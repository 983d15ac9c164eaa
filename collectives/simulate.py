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

May import: simulated_rank, schedule, ops, symbolic, errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collectives.errors import PlanError
from collectives.ops import Collective
from collectives.schedule import Plan, Shape, Span
from collectives.simulated_rank import Rank
from collectives.symbolic import Value, length_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running the plans amounted to. Elements, not bytes."""

    steps: int
    """The most steps with a message to or from another rank that any rank takes."""
    wire: int
    """The most elements any rank sends to others."""
    sent: tuple[int, ...]
    """Elements sent to others, by rank."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message on its way: from which step of one rank to which of another, and what is in it."""

    source: int
    source_step: int
    target: int
    target_step: int
    values: tuple[Value, ...]
    after: bool
    folded: bool
    """It feeds a fold; otherwise it overwrites."""


def simulate(
    plans: Sequence[Plan],
    collective: Collective,
    shapes: Sequence[Shape],
    count: int,
    choose: Callable[[int], int] | None = None,
    observe: Callable[[Delivery], None] | None = None,
) -> Outcome:
    """Run one plan a rank and prove the result.

    `choose(n)` picks which of n deliverable pairs goes next; by default the oldest. `observe` is told every message as
    it is delivered. Raises PlanError, naming rank and step, when a rule is broken, the ranks deadlock, or a receive
    buffer does not end as the collective demands.
    """
    ranks = [Rank(plan, collective, shape) for plan, shape in zip(plans, shapes, strict=True)]
    _World(ranks, choose, observe).run()
    for rank, shape in zip(ranks, shapes, strict=True):
        _check_result(rank, collective, shape, count)
    return Outcome(
        steps=max(rank.communicating for rank in ranks),
        wire=max(rank.sent for rank in ranks),
        sent=tuple(rank.sent for rank in ranks),
    )


class _World:
    """Moves messages between ranks until all plans are done."""

    def __init__(
        self,
        ranks: list[Rank],
        choose: Callable[[int], int] | None,
        observe: Callable[[Delivery], None] | None,
    ) -> None:
        self.ranks = ranks
        self._choose, self._observe = choose, observe
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

    def _enter(self, rank: Rank) -> None:
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

    def _transfer(self, source: Rank, target: Rank) -> None:
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
            source.sent += length_of(values)
        folding = target.deliver(source.rank, values)
        if self._observe:
            ends = (source.rank, source.index, target.rank, target.index)
            self._observe(Delivery(*ends, tuple(values), send.after, folding is not None))
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


def _check_result(rank: Rank, collective: Collective, shape: Shape, count: int) -> None:
    complete = collective.reduces and shape.size > 1
    for piece in collective.oracle(shape, count):
        if piece.start == piece.stop:
            continue
        wanted = Value(piece.stop - piece.start, sum(1 << r for r in piece.ranks), piece.source, complete)
        held = rank.memory.read(*rank.address(Span("recv", piece.start, piece.stop)))
        position = piece.start
        for value in held or []:
            offset = position - piece.start
            if value[1:] != (wanted.ranks, wanted.source + offset, wanted.complete):
                break
            position += value.length
        if position != piece.stop:
            raise PlanError(_wrong(rank, wanted, position, held, position - piece.start))


def _wrong(rank: Rank, wanted: Value, position: int, held: list[Value] | None, offset: int) -> str:
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
