"""Ranks that entered different things under one number: found by comparing what they called, or told by a tool.

May import: facts, people, standing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from suites.diagnose.facts import ANOTHER, Disagreement, Fact, Place, Signature
from suites.diagnose.people import UNNAMED, People
from suites.diagnose.standing import Standing, Standings

_FIELDS = {"op": "operation", "count": "count", "dtype": "dtype", "operator": "operator", "root": "root"}
_ONE_CALL = frozenset(("barrier", "allreduce"))
"""torch makes a barrier of an allreduce of one element, and some of its texts call it so."""
_MIXED = frozenset(("coalesced", "unknown"))
"""Names that may stand for anything."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """`sides` are what was called and by whom, the largest first."""

    group: str | None
    seq: int | None
    op: str | None
    sides: tuple[tuple[str, frozenset[int]], ...]
    aspect: str
    place: Place | None = None
    doubtful: bool = False
    """These may be calls of different groups: the evidence does not name them."""

    @property
    def culprits(self) -> frozenset[int]:
        """All but the majority; nobody where there is none, or where they differ by right."""
        if self.doubtful:
            return frozenset()
        total = sum(len(people) for _, people in self.sides)
        if 2 * len(self.sides[0][1]) <= total:
            return frozenset()
        return frozenset().union(*(people for _, people in self.sides[1:]))


def mismatches(facts: Sequence[Fact], people: People, table: Standings) -> list[Mismatch]:
    """Compared first, told after it."""
    compared = [found for group, standings in table.items() if (found := _in_group(group, standings))]
    return [*compared, *_told(facts, people)]


def _in_group(group: str, standings: Mapping[int, Standing]) -> Mismatch | None:
    """Where calls differ that are under way; from there back to where they began to differ. Where ends are not told,
    any call may be under way."""
    fronts = {standing.front for standing in standings.values() if standing.front is not None}
    if any(standing.ended_unknown for standing in standings.values()):
        fronts |= _unlike(standings)
    for seq in sorted(fronts):
        if len(_sides(standings, seq)) > 1:
            while len(_sides(standings, seq - 1)) > 1:
                seq -= 1
            return _mismatch(group, seq, standings)
    exact = [standing for standing in standings.values() if standing.exact]
    if fronts and exact:
        # Small messages are let go by who sends them: calls that differ may have ended, and the next ones do not.
        recorded = sorted(set().union(*(standing.history for standing in exact)))
        first = next((seq for seq in recorded if len(_sides(standings, seq)) > 1), None)
        return None if first is None else _mismatch(group, first, standings)
    return None


def ended_mismatch(table: Standings) -> Mismatch | None:
    """The first call of a group that ranks differ in although it ended, as broadcasts of different sizes do in some
    libraries: nobody hangs in it, and what it gave is wrong. Where no group is named, numbers may be of several."""
    for group, standings in table.items():
        for seq in sorted(_unlike(standings)) if group != UNNAMED else ():
            if len(_sides(standings, seq)) > 1:
                return _mismatch(group, seq, standings)
    return None


def _unlike(standings: Mapping[int, Standing]) -> set[int]:
    """Numbers under which not all have recorded the very same."""
    first: dict[int, Signature] = {}
    return {
        seq
        for standing in standings.values()
        for seq, signature in standing.history.items()
        if first.setdefault(seq, signature) != signature
    }


def _sides(standings: Mapping[int, Standing], seq: int) -> list[tuple[Signature, set[int]]]:
    """Ranks by what they called under this number; what is not told of a call agrees with everything."""
    found: list[tuple[Signature, set[int]]] = []
    for person, standing in sorted(standings.items()):
        signature = standing.signature(seq)
        if signature is None or signature.op in _MIXED:
            continue
        for index, (known, people) in enumerate(found):
            if not differing(known, signature):
                people.add(person)
                found[index] = (_fuller(known, signature), people)
                break
        else:
            found.append((signature, {person}))
    return sorted(found, key=lambda side: (-len(side[1]), min(side[1])))


def differing(one: Signature, other: Signature) -> list[str]:
    """In what two calls contradict each other."""
    if {one.op, other.op} == _ONE_CALL and {one.count, other.count} <= {None, 1}:
        return []
    return [
        words
        for name, words in _FIELDS.items()
        if getattr(one, name) is not None
        and getattr(other, name) is not None
        and getattr(one, name) != getattr(other, name)
    ]


def _fuller(one: Signature, other: Signature) -> Signature:
    return Signature(*(getattr(one, name) if getattr(one, name) is not None else getattr(other, name)
                       for name in Signature.__slots__))  # fmt: skip


def _mismatch(group: str, seq: int, standings: Mapping[int, Standing]) -> Mismatch:
    sides = _sides(standings, seq)
    first, second = sides[0][0], sides[1][0]
    aspect = ", ".join(differing(first, second))
    following = _sides(standings, seq + 1)
    if first.op != second.op and any(not differing(second, signature) for signature, _ in following):
        swapped = any(not differing(first, signature) and people & sides[1][1] for signature, people in following)
        aspect = "order" if swapped else aspect
    culprit = min(sides[1][1])
    call = standings[culprit].call(seq)
    return Mismatch(
        group, seq, first.op, tuple((str(signature), frozenset(people)) for signature, people in sides), aspect,
        call.place if call else standings[culprit].place, group == UNNAMED,
    )  # fmt: skip


def _told(facts: Iterable[Fact], people: People) -> list[Mismatch]:
    """By tools that compare. Several ranks tell of one disagreement, each with itself on one side."""
    by_call: dict[tuple[str | None, int | None], list[Disagreement]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, Disagreement):
            by_call[fact.group, fact.seq].append(fact)
    return [found for told in by_call.values() if (found := _of_one_call(told, people))]


def _of_one_call(told: Sequence[Disagreement], people: People) -> Mismatch | None:
    sides: dict[str, set[int]] = defaultdict(set)
    for fact in told:
        for side in fact.sides:
            numbers = (people.number(who, fact.place.file) for who in side.members)
            sides[side.signature] |= {number for number in numbers if number is not None}
    # Who differs from somebody may have said elsewhere what it called itself.
    known = set().union(*(members for signature, members in sides.items() if signature != ANOTHER))
    if ANOTHER in sides and sides[ANOTHER] <= known and len(sides) > 2:
        del sides[ANOTHER]
    elif ANOTHER in sides:
        sides[ANOTHER] -= known
    if len(sides) < 2:
        return None
    ordered = sorted(sides.items(), key=lambda side: (-len(side[1]), sorted(side[1])))
    shown = tuple((signature, frozenset(members)) for signature, members in ordered)
    first = told[0]
    found = Mismatch(first.group, first.seq, first.op, shown, first.aspect, first.place)
    word = ordered[0][0].partition(" ")[0]
    named = any(fact.op == fact.sides[0].signature.partition(" ")[0] for fact in told if fact.sides)
    return replace(found, op=word) if named and found.culprits else found
