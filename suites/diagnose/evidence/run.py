"""What stands beside the rings of a run of opsdist's own: which ranks there were, where, and as which processes.

May import: facts, json_values, source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from suites.diagnose.evidence.json_values import mapping, natural, whole
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Fact, Identity, JustBegun, Place, Seen, Unread, Who

_KEYS = (b'"command"', b'"started"', b'"hosts"')


def recognises(head: bytes, name: str) -> bool:
    """Whether it begins like one: see runfolder.py."""
    return head.lstrip()[:1] == b"{" and all(key in head for key in _KEYS)


def read(source: Source) -> Iterable[Fact]:
    """Who is who; nothing where it is cut off."""
    told = whole(source, "what a run of opsdist leaves")
    return [told] if isinstance(told, Unread) else _facts(told, Place(source.name))


def _facts(told: Mapping[str, Any], place: Place) -> Iterator[Fact]:
    hosts, pids = told.get("hosts"), mapping(told.get("pids"))
    yield Seen(place, "run of opsdist")
    for rank, host in enumerate(hosts if isinstance(hosts, list) else ()):
        yield Identity(Who(rank=rank, host=str(host) or None, pid=natural(pids.get(str(rank)))), place)
    moving = told.get("moving")
    for fresh in map(natural, moving if isinstance(moving, list) else ()):
        if fresh is not None:
            yield JustBegun(Who(rank=fresh), place)
