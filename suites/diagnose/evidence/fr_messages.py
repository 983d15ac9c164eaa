"""Messages as PyTorch's flight recorder keeps them: who sends to whom, and which of them it is.

Where all of a process were kept, the nth that one sends to another is the nth that the other receives from it.
May import: batches, json_values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from suites.diagnose.evidence.batches import Entry, group_name
from suites.diagnose.evidence.json_values import mappings, natural

PEERS = re.compile(r"(?P<way>send|recv)\s+(?P<own>\d+)\s*(?:->|<-)\s*(?P<peer>\d+)")


class Numbered:
    """All messages of one dump that has lost none."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._counts: Counter[tuple[str, int, bool]] = Counter()
        self._nth: dict[int, int] = {}
        for entry in entries:
            if found := PEERS.search(called(entry)):
                way = (group_name(entry), int(found["peer"]), found["way"] == "send")
                self._counts[way] += 1
                self._nth[id(entry)] = self._counts[way]

    def nth(self, entry: Entry) -> int | None:
        return self._nth.get(id(entry))

    def counts(self, group: str) -> Mapping[tuple[int, bool], int]:
        """See Track."""
        return {(peer, sends): number for (name, peer, sends), number in self._counts.items() if name == group}


def numbered(entries: Sequence[Entry]) -> Numbered | None:
    """Nothing where some are not there: those that are over were left out, or the recorder has overwritten them."""
    return Numbered(entries) if _first_of_all(entries) == 0 else None


def overwritten(entries: Sequence[Entry]) -> bool:
    """Whether the recorder has overwritten what came before, and nothing was left out since."""
    return (_first_of_all(entries) or 0) > 0


def _first_of_all(entries: Sequence[Entry]) -> int | None:
    """Number of the first one where all are there that were recorded after it."""
    records = [natural(entry.get("record_id")) for entry in entries]
    first = records[0] if records else 0
    return first if first is not None and records == list(range(first, first + len(records))) else None


def called(entry: Entry) -> str:
    """`all_reduce`, `send 0->1`: without the back-end's name."""
    name = str(entry.get("profiling_name") or "")
    if not name:  # torch_npu has it in the innermost frame
        name = next((str(frame.get("name", "")) for frame in mappings(entry.get("frames"))), "")
    return name.partition(":")[2] or name
