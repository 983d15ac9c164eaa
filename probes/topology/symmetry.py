"""What breaks the symmetry of the links among accelerators of one model.

A full mesh is regular, and so are hives of four, bridged pairs and any other structure in which all accelerators have
links of the same kinds. Compared are, first, the islands that fabric links make, in which an accelerator that fell out
is one of its own; then, inside of islands of one size, how many links of each kind every accelerator has.
May import: probes.topology.graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from probes.topology.graph import Asymmetry, Edge, Node, is_fabric, strength

Pair = tuple[str, str]
Kinds = Mapping[Pair, str]
"""Both orders of each pair -> kind."""
Profile = Counter[str]
"""How many links of each kind an accelerator has."""


def asymmetries(accelerators: Sequence[Node], edges: Iterable[Edge]) -> tuple[Asymmetry, ...]:
    """Each weak link is told once, of the accelerator that has most of them."""
    kinds = {pair: edge.kind for edge in edges for pair in ((edge.a, edge.b), (edge.b, edge.a))}
    alike: dict[tuple[object, object], list[str]] = {}
    for node in accelerators:
        alike.setdefault((node.attributes.get("vendor"), node.attributes.get("model")), []).append(node.name)
    weak: dict[Pair, str] = {}
    for names in alike.values():
        islands = _islands(names, kinds)
        weak |= {**dict(_fallen(islands, kinds)), **dict(_uneven(islands, kinds))}
    return tuple(_told([node.name for node in accelerators], weak, kinds))


def _islands(names: Sequence[str], kinds: Kinds) -> list[list[str]]:
    """Accelerators that reach each other by fabric links, in the order of their names."""
    found: list[list[str]] = []
    for name in names:
        joined = [island for island in found if any(is_fabric(kinds.get((name, other), "")) for other in island)]
        rest = [island for island in found if island not in joined]
        found = [*rest, sorted([name, *(other for island in joined for other in island)], key=names.index)]
    return found


def _fallen(islands: Sequence[Sequence[str]], kinds: Kinds) -> Iterator[tuple[Pair, str]]:
    """Pairs that would be linked if the islands that are smaller than usual were not."""
    members = Counter({size: size * count for size, count in Counter(map(len, islands)).items()})
    usual = max(members, key=lambda size: (members[size], size), default=1)
    small = [island for island in islands if len(island) < usual]
    left = sum(map(len, small))
    if usual == 1 or not small or (usual == 2 and left == 1):  # the odd one out of bridged pairs has no partner
        return
    among = small if left >= usual else islands
    whole = [island for island in islands if len(island) == usual]
    kind = _most_common(kinds[pair] for island in whole for pair in combinations(island, 2) if _linked(pair, kinds))
    for one, other in combinations(among, 2):
        if one in small or other in small:
            yield from (((a, b), kind) for a in one for b in other if (a, b) in kinds)


def _linked(pair: Pair, kinds: Kinds) -> bool:
    return is_fabric(kinds.get(pair, ""))


def _most_common(words: Iterable[str]) -> str:
    counts = Counter(words)
    return min(counts, key=lambda word: (-counts[word], strength(word)))


def _uneven(islands: Sequence[Sequence[str]], kinds: Kinds) -> Iterator[tuple[Pair, str]]:
    """Pairs inside of islands that are weaker than what most accelerators in islands of that size have instead."""
    for size in sorted({len(island) for island in islands} - {1}):
        alike = [island for island in islands if len(island) == size]
        profiles = {name: _profile(name, island, kinds) for island in alike for name in island}
        if (usual := _usual(list(profiles.values()))) is not None:
            lacking = {name: kind for name, mine in profiles.items() if (kind := _lacks(mine, usual))}
            for island in alike:
                yield from _weaker(island, lacking, kinds)


def _profile(name: str, island: Sequence[str], kinds: Kinds) -> Profile:
    return Counter(kinds[name, other] for other in island if (name, other) in kinds)


def _usual(profiles: Sequence[Profile]) -> Profile | None:
    """What at least half of them have, the strongest of two; None where there is no such thing."""
    counts = Counter(tuple(sorted(profile.items())) for profile in profiles)
    often = [Counter(dict(items)) for items, count in counts.items() if 2 * count >= len(profiles)]
    return min(often, key=lambda profile: sorted(map(strength, profile.elements())), default=None)


def _lacks(mine: Profile, usual: Profile) -> str | None:
    """The strongest kind of which an accelerator has too few, having something weaker instead."""
    missing, instead = usual - mine, mine - usual
    if not missing or not instead:
        return None
    best = min(missing, key=strength)
    return best if strength(best) < min(map(strength, instead)) else None


def _weaker(island: Sequence[str], lacking: Mapping[str, str], kinds: Kinds) -> Iterator[tuple[Pair, str]]:
    """A link between two that lack one; where an accelerator has no such partner, all that are weaker than usual."""
    pairs = [pair for pair in combinations(island, 2) if pair in kinds]
    both = [
        pair
        for pair in pairs
        if all(name in lacking and strength(kinds[pair]) > strength(lacking[name]) for name in pair)
    ]
    yield from ((pair, lacking[pair[0]]) for pair in both)
    partnered = {name for pair in both for name in pair}
    for pair in pairs:
        for name in pair:
            if name in lacking and name not in partnered and strength(kinds[pair]) > strength(lacking[name]):
                yield pair, lacking[name]


def _told(order: Sequence[str], weak: Mapping[Pair, str], kinds: Kinds) -> Iterator[Asymmetry]:
    left = dict(weak)
    while left:
        count = Counter(name for pair in left for name in pair)
        device = min(count, key=lambda name: (-count[name], order.index(name)))
        mine = {pair: usual for pair, usual in left.items() if device in pair}
        peers = sorted((name for pair in mine for name in pair if name != device), key=order.index)
        found = sorted({kinds[device, peer] for peer in peers}, key=lambda kind: (strength(kind), kind))
        yield Asymmetry(device, tuple(peers), tuple(found), _most_common(mine.values()))
        left = {pair: usual for pair, usual in left.items() if device not in pair}
