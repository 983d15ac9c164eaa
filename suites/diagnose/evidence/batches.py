"""Calls that PyTorch hands over at once, as its flight recorder keeps them: each with no state of its own, and after
them one entry `coalesced` of the same number that has the state of them all.

Without it they would look as if they never ended, in dumps of any age.
May import: json_values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from suites.diagnose.evidence.json_values import natural

Entry = Mapping[str, Any]
_Key = tuple[str, bool, int]
"""Group, whether of messages, and number."""


class Batches:
    """Of one dump."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        keys = [_key(entry) for entry in entries]
        counts = Counter(key for key in keys if key is not None)
        several = {key for key, count in counts.items() if count > 1}
        closing = {key: entry for key, entry in zip(keys, entries, strict=True) if key is not None and _closes(entry)}
        self._batched = several | set(closing)
        # The entry of a batch that ended is left out where only what is under way was kept. Where all was kept, one
        # whose entry is not there is being handed over still.
        batching = {group for group, messages, _ in self._batched if messages}
        open_ended = {key for key in counts if key in several or (key[1] and key[0] in batching)} - closing.keys()
        self._whole = any(ended(entry) for entry in entries)
        self._ended = open_ended - {keys[-1] if self._whole else None}
        self._ended |= {key for key, entry in closing.items() if ended(entry)}
        self._running = {key for key, entry in closing.items() if entry.get("state") == "started"}
        self._through: dict[str, int] = {}

    def through(self, group: str, entries: Sequence[Entry], completed: int | None) -> None:
        """What the status of a group says that it has last completed. Collectives and messages are counted apart, so it
        is the number of a message where there have not been so many collectives. Where that one is not there any more,
        or where what is over is kept, each message or its batch has a state of its own, and they may end in another
        order."""
        collectives = max((natural(entry.get("collective_seq_id")) or 0 for entry in entries), default=0)
        kept = any(entry.get("is_p2p") and natural(entry.get("p2p_seq_id")) == completed for entry in entries)
        if completed is not None and completed > collectives and kept and not self._whole:
            self._through[group] = completed

    def number(self, entry: Entry) -> int | None:
        """Of the batch of messages that it is of."""
        key = _key(entry)
        return key[2] if key is not None and key[1] and key in self._batched else None

    def ended(self, entry: Entry) -> bool:
        """Whether the batch that it is of has."""
        key = _key(entry)
        return key in self._ended or (key is not None and key[1] and key[2] <= self._through.get(key[0], 0))

    def running(self, entry: Entry) -> bool:
        """Whether the device is at it, or at the batch that it is of."""
        return entry.get("state") == "started" or _key(entry) in self._running

    def closes(self, entry: Entry) -> bool:
        """Whether it only stands for messages that are entries too."""
        return _closes(entry) and bool(entry.get("is_p2p"))


def ended(entry: Entry) -> bool:
    """By what itself says."""
    done = entry.get("state") == "completed" or entry.get("retired") is True
    return done or bool(entry.get("time_discovered_completed_ns"))


def group_name(entry: Entry) -> str:
    group = entry.get("process_group")
    return str(group[0]) if isinstance(group, tuple | list) and group else str(entry.get("pg_id", ""))


def _closes(entry: Entry) -> bool:
    return str(entry.get("profiling_name") or "").endswith("coalesced")


def _key(entry: Entry) -> _Key | None:
    messages = bool(entry.get("is_p2p"))
    number = natural(entry.get("p2p_seq_id" if messages else "collective_seq_id"))
    return (group_name(entry), messages, number) if number else None
