"""A plan as a picture: who sends what to whom, step by step. Pure: deliveries in, lines out.

Drawn from the messages that the proof saw, so a label says what is in a message, not where it lies. What is folded
and what is stored stand on lines of their own:

    step 0   fold   0 -b-> 1   1 -a-> 0
    step 1   store  0 -A-> 1   1 -B-> 0

May import: collectives' data types, and from this package.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from string import ascii_lowercase

from collectives.simulate import Delivery
from collectives.symbolic import Value
from opsdist_cli.output.layout import WIDTH, ranges, wrapped

_KINDS = ("copy", "fold", "store", "push")
"""How a message ends: copied within its rank, folded, stored, or stored after the sender's fold of the same step."""

_Arrows = dict[tuple[int, str], list[int]]
"""(sender, label) -> receivers."""


def drawing(deliveries: Sequence[Delivery], *, reduces: bool) -> list[str]:
    """The steps, a line or more each, below 100 columns, and what their labels mean.

    `deliveries` are in an order in which they can happen.
    """
    names = _Names(deliveries, reduces)
    drawn_in = _steps(deliveries)
    steps: dict[int, dict[str, _Arrows]] = defaultdict(lambda: defaultdict(dict))
    for number, delivery in zip(drawn_in, deliveries, strict=True):
        arrow = delivery.source, names.label(delivery)
        steps[number][_kind(delivery)].setdefault(arrow, []).append(delivery.target)
    lines = []
    for number, kinds in sorted(steps.items()):
        shown = [kind for kind in _KINDS if kind in kinds]
        for kind in shown:
            lines += _row(f"step {number}" if kind == shown[0] else "", kind, kinds[kind])
    if not lines:
        return wrapped("Nothing moves.", "  ", "  ")
    remarks = names.legend()
    if any(number not in (d.source_step, d.target_step) for number, d in zip(drawn_in, deliveries, strict=True)):
        remarks.append("a rank itself counts only the steps it takes part in")
    return lines + wrapped("; ".join(remarks) + ".", "  ", "  ")


def _kind(delivery: Delivery) -> str:
    if delivery.source == delivery.target:
        return "copy"
    if delivery.folded:
        return "fold"
    return "push" if delivery.after else "store"


def _row(head: str, kind: str, arrows: _Arrows) -> list[str]:
    """The arrows of one kind in one step, in columns."""
    if kind == "copy":
        cells = [f"rank {ranges(sorted(sender for sender, _ in arrows))}: its own part"]
    else:
        cells = [
            f"{sender} -{label}-> {' '.join(map(str, sorted(to)))}" for (sender, label), to in sorted(arrows.items())
        ]
    width = max(len(cell) for cell in cells) + 3
    margin = f"  {head:<9}{kind:<7}"
    across = max((WIDTH - len(margin)) // width, 1)
    lines = []
    for first in range(0, len(cells), across):
        lines.append((margin + "".join(cell.ljust(width) for cell in cells[first : first + across])).rstrip())
        margin = " " * len(margin)
    return lines


def _steps(deliveries: Sequence[Delivery]) -> list[int]:
    """The step that each message is drawn in: as early as both ends can have reached theirs, if a step takes one."""
    entered: dict[tuple[int, int], int] = {}
    left: dict[int, int] = defaultdict(int)
    found = []
    for delivery in deliveries:
        ends = (delivery.source, delivery.source_step), (delivery.target, delivery.target_step)
        number = max(entered.setdefault(end, left[end[0]]) for end in ends)
        for rank, _ in ends:
            left[rank] = max(left[rank], number + 1)
        found.append(number)
    return found


class _Names:
    """Labels for what is in messages: a letter for each range of elements that moves as one, numbers for ranks."""

    def __init__(self, deliveries: Sequence[Delivery], reduces: bool) -> None:
        self._reduces = reduces
        ends: dict[int, set[int]] = defaultdict(set)
        for value in (value for delivery in deliveries for value in delivery.values):
            ends[self._origin(value)] |= {value.source, value.source + value.length}
        self._cuts = {origin: sorted(cuts) for origin, cuts in ends.items()}
        self._most = max((len(cuts) - 1 for cuts in self._cuts.values()), default=0)
        self._whole_blocks = len(self._cuts) > 1 and self._most == 1

    def label(self, delivery: Delivery) -> str:
        """Empty for a message without elements."""
        if self._whole_blocks:
            return f"[{ranges(sorted(_ranks(value)[0] for value in delivery.values))}]"
        parts: dict[tuple[str, bool], list[int]] = {}
        for value in delivery.values:
            parts.setdefault((self._whose(value, delivery.source), value.complete), []).extend(self._pieces(value))
        return ",".join(
            whose + (_letters(pieces).upper() if complete else _letters(pieces))
            for (whose, complete), pieces in parts.items()
        )

    def legend(self) -> list[str]:
        """What the labels mean."""
        if not self._most:
            return ["the messages are empty"]
        if self._whole_blocks:
            return ["in brackets, the ranks whose blocks are sent"]
        chunks = f"a..{ascii_lowercase[min(self._most, 26) - 1]} are the chunks of"
        if self._reduces:
            return [
                "a is the whole buffer" if self._most == 1 else f"{chunks} the buffer",
                "2a is a folded over 2 ranks so far, A over all",
            ]
        if len(self._cuts) > 1:
            return [f"{chunks} each sender's buffer", "0b is rank 0's b"]
        return ["a is the whole buffer" if self._most == 1 else f"{chunks} the buffer"]

    def _origin(self, value: Value) -> int:
        """Whose elements are counted from the same zero: all ranks' where they are folded, else each rank's."""
        return 0 if self._reduces else value.ranks

    def _whose(self, value: Value, sender: int) -> str:
        ranks = _ranks(value)
        if self._reduces:
            return "" if value.complete or len(ranks) == 1 else str(len(ranks))
        return "" if len(self._cuts) == 1 or ranks == [sender] else str(ranks[0])

    def _pieces(self, value: Value) -> Iterable[int]:
        for index, (start, stop) in enumerate(pairwise(self._cuts[self._origin(value)])):
            if value.source <= start and stop <= value.source + value.length:
                yield index


def _ranks(value: Value) -> list[int]:
    return [rank for rank in range(value.ranks.bit_length()) if value.ranks >> rank & 1]


def _letters(pieces: list[int]) -> str:
    """abd, or a..f where many follow one another; beyond the alphabet, numbers."""
    if max(pieces) >= len(ascii_lowercase):
        return f"[{ranges(sorted(pieces))}]"
    if len(pieces) > 3 and pieces == list(range(pieces[0], pieces[-1] + 1)):
        return f"{ascii_lowercase[pieces[0]]}..{ascii_lowercase[pieces[-1]]}"
    return "".join(ascii_lowercase[piece] for piece in pieces)
