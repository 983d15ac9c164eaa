"""Node sets, as Slurm, pdsh and ClusterShell write them: `node[01-16,20]-ib[0-1]` is 34 names.

Pure. A mistake is a ValueError with what is wrong and what to write; whoever knows where the text stood adds that.
May import: the standard library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

MOST_NAMES = 65_536
"""As many hosts as the largest world that opsdist reckons with has ranks."""
_LONGEST_NAME = 320
"""A host name has at most 253 characters, and a user may stand before it."""
_MOST_DIGITS = 18

# Possessive, and with a closing bracket that may be missing: no text makes it try twice.
_ITEM = re.compile(r"(?:[^\s,\[]++|\[[^\]]*+\]?+)++")
_NUMBER = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True)
class _Range:
    """The numbers from `first` to `last`, filled up with zeros to `width`."""

    first: int
    last: int
    width: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    def numbers(self) -> list[str]:
        return [str(number).zfill(self.width) for number in range(self.first, self.last + 1)]


def split(text: str) -> list[str]:
    """The items of a list, by commas or blanks; inside brackets neither separates. Raises ValueError."""
    outline = "".join(_ITEM.sub("x", text).split())
    if outline and ",," in f",{outline},":
        raise ValueError(f"{quoted(text.strip())} has a comma with nothing before or after it; remove it")
    return _ITEM.findall(text)


def expand(text: str) -> list[str]:
    """The names of one item, in the order written; of several brackets the last runs fastest. Raises ValueError.

    Nothing is built before its size is known, so `n[1-99999999999]` costs nothing.
    """
    pieces = re.split(r"([\[\]])", text)
    brackets, texts = "".join(pieces[1::2]), pieces[0::2]
    if brackets != "[]" * (len(brackets) // 2):
        raise ValueError(f"{quoted(text)} has a bracket without its other half; write node[01-16,20]")
    literals = texts[0::2]
    sets = [[_range(part.strip(), text) for part in inside.split(",")] for inside in texts[1::2]]
    longest = sum(map(len, literals)) + sum(max(len(str(part.last)) for part in ranges) for ranges in sets)
    if longest > _LONGEST_NAME:
        raise ValueError(f"{quoted(text)} is longer than any host name")
    if math.prod(sum(part.size for part in ranges) for ranges in sets) > MOST_NAMES:
        raise ValueError(f"{quoted(text)} is more than {MOST_NAMES} hosts")
    columns = [[literals[0]]]
    for ranges, literal in zip(sets, literals[1:], strict=True):
        columns += [[number for part in ranges for number in part.numbers()], [literal]]
    return ["".join(name) for name in product(*columns)]


def _range(part: str, text: str) -> _Range:
    first, dash, last = part.partition("-")
    last = last if dash else first
    if not all(number.isascii() and number.isdigit() for number in (first, last)):
        raise ValueError(f"{quoted(part)} in {quoted(text)} is neither a number nor a range; write node[01-16,20]")
    if max(len(first), len(last)) > _MOST_DIGITS:
        raise ValueError(f"{quoted(part)} in {quoted(text)} has more than {_MOST_DIGITS} digits")
    found = _Range(int(first), int(last), len(first))
    if found.size < 1:
        raise ValueError(f"{quoted(part)} in {quoted(text)} runs backwards; write {last}-{first}")
    if len(last) < len(first) or (last.startswith("0") and len(last) != len(first)):
        raise ValueError(
            f"{quoted(part)} in {quoted(text)} fills up its ends differently; write both with as many digits"
        )
    return found


def fold(names: Sequence[str]) -> str:
    """The same names, in the same order, as one list: node1 node2 node4 are `node[1-2,4]`.

    Neighbours that differ in one number are folded. Zeros before a number are kept; IPv6 addresses stay as they are.
    """
    parts = [[name] if ":" in name else _NUMBER.split(name) for name in names]
    folded: list[str] = []
    start = 0
    while start < len(names):
        end, place = start + 1, None
        while end < len(names):
            differs = _only_number_that_differs(parts[end - 1], parts[end])
            if differs is None or place not in (None, differs):
                break
            end, place = end + 1, differs
        folded.append(names[start] if place is None else _folded(parts[start:end], place))
        start = end
    return ",".join(folded)


def _only_number_that_differs(one: Sequence[str], other: Sequence[str]) -> int | None:
    """Where it stands; texts have even places, numbers odd ones."""
    if len(one) != len(other):
        return None
    places = [place for place, (mine, theirs) in enumerate(zip(one, other, strict=True)) if mine != theirs]
    if len(places) != 1 or places[0] % 2 == 0:
        return None
    return places[0] if max(len(one[places[0]]), len(other[places[0]])) <= _MOST_DIGITS else None


def _folded(names: Sequence[Sequence[str]], place: int) -> str:
    runs: list[tuple[str, str]] = []
    for number in (parts[place] for parts in names):
        if runs and number == _after(*runs[-1]):
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    inside = ",".join(first if first == last else f"{first}-{last}" for first, last in runs)
    return "".join([*names[0][:place], f"[{inside}]", *names[0][place + 1 :]])


def _after(first: str, last: str) -> str:
    """What follows `last` in a range that begins with `first`."""
    return str(int(last) + 1).zfill(len(first))


def quoted(text: str) -> str:
    """What was read, for a message: short, and with whatever cannot be printed shown."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
