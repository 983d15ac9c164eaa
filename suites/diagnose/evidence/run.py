"""What stands beside the rings of a run of opsdist's own: which ranks there were, where, and as which processes.

May import: facts, source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Fact, Identity, Place, Seen, Unread, Who

_KEYS = (b'"command"', b'"started"', b'"hosts"')


def recognises(head: bytes, name: str) -> bool:
    """Whether it begins like one: see runfolder.py."""
    return head.lstrip()[:1] == b"{" and all(key in head for key in _KEYS)


def read(source: Source) -> Iterable[Fact]:
    """Who is who; nothing where it is cut off."""
    with source.open() as stream:
        try:
            told = json.loads(stream.read())
        except (ValueError, RecursionError) as error:
            return [Unread(source.name, f"cut off or damaged ({error})")]
    if not isinstance(told, dict):
        return [Unread(source.name, "not what a run of opsdist leaves")]
    return list(_facts(told, Place(source.name)))


def _facts(told: Mapping[str, Any], place: Place) -> Iterator[Fact]:
    hosts, pids = told.get("hosts"), told.get("pids")
    yield Seen(place, "run of opsdist")
    for rank, host in enumerate(hosts if isinstance(hosts, list) else ()):
        pid = pids.get(str(rank)) if isinstance(pids, dict) else None
        yield Identity(
            Who(rank=rank, host=str(host) or None, pid=pid if isinstance(pid, int) else None),
            place,
        )
