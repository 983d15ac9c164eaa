"""A process group of torch with its peers: who is named when a call on it fails.

torch says that a connection broke or a deadline passed, and names an address or nobody. So whoever fails puts its name
on a roll in torch's store, which all can see: who does not appear there, or whose process has ended, is who was lost.
May import: errors, world; torch's objects are handed in.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from collectives.errors import CollectiveError, PeerLost, TransportTimeout
from collectives.world import has_ended

ROLL_SECONDS = 2.0
"""How long a rank that has failed waits for the others' names. They fail at about the same time: their deadlines are
the same, and letting go of the group breaks the connections of those who wait for this rank."""
_LOOK_SECONDS = 0.01
_KEEPER = 0
"""The rank of the world that serves torch's store."""
_LATE = ("timed out", "timeout")
_BROKEN = ("connection", "connect", "socket", "broken pipe", "remote", "peer", "pair")
"""Words of torch, gloo, NCCL and HCCL for what a peer did, or did not do; other failures are this rank's own."""

Result = TypeVar("Result")


class Gone:
    """Stands where a group was: whatever is asked of it ends in the same error."""

    def __init__(self, error: CollectiveError) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        raise self.error


@dataclass(slots=True)
class Link:
    """One process group. `ranks` are its members' ranks in the world, in order; `pids` the processes of those on this
    host, which is reached at `address`."""

    group: Any
    store: Any
    rank: int
    ranks: Sequence[int]
    pids: Mapping[int, int]
    timeout: float
    address: str
    library: str

    def check(self) -> None:
        """Raises what has ended it, where something has."""
        if isinstance(self.group, Gone):
            raise self.group.error

    def guarded(self, act: Callable[[], Result]) -> Result:
        """Do something with the group. Raises TransportTimeout, PeerLost, and CollectiveError for what the library
        refuses; the ranks are then out of step, so whatever follows ends in the same way."""
        try:
            return act()
        except RuntimeError as error:
            text = str(error)
        # The error's traceback is let go of first, and with it what still holds the connections.
        raise self._failed(text)

    def _failed(self, text: str) -> CollectiveError:
        self.group = None
        error = self._told(text)
        self.group = Gone(error)
        return error

    def _told(self, text: str) -> CollectiveError:
        said = f"{self.library}: {first_sentence(text)}"
        late, broken = (any(word in text.lower() for word in words) for words in (_LATE, _BROKEN))
        if not (late or broken):
            return CollectiveError(f"rank {self._me} failed in {said}")
        silent = _silent(self)
        blamed = silent or tuple(rank for rank in self.ranks if rank != self._me)
        who = f"rank{'s' * (len(blamed) > 1)} {', '.join(map(str, blamed))}"
        if late:
            waits = f"nothing moved for {self.timeout:g} s: rank {self._me} waits for {who}"
            return TransportTimeout(f"{waits} ({said})", blamed)
        of = who if silent or len(blamed) == 1 else f"one of {who}"
        return PeerLost(f"rank {self._me} lost the connection to {of} ({said})", blamed)

    @property
    def _me(self) -> int:
        return self.ranks[self.rank]


@dataclass(slots=True)
class _Roll:
    """Who of a link's other members has ended, or has not put its name down, as member -> rank of the world."""

    link: Link
    wanted: dict[int, int] = field(init=False)
    ended: dict[int, int] = field(default_factory=dict)
    kept: bool = False
    """Whether the keeper has answered to the end."""

    def __post_init__(self) -> None:
        self.wanted = {member: rank for member, rank in enumerate(self.link.ranks) if member != self.link.rank}

    def call(self) -> None:
        """Until all have answered, one has ended, or it has lasted long enough."""
        deadline = time.monotonic() + min(ROLL_SECONDS, self.link.timeout)
        named = False
        with contextlib.suppress(RuntimeError):
            while self.wanted and not self.ended and time.monotonic() < deadline:
                # In this order: who failed as we did and then left has put its name down before.
                self.ended = {member: rank for member, rank in self.wanted.items() if self._has_ended(rank)}
                if self._has_ended(_KEEPER):
                    return
                if not named:
                    self.link.store.set(_key(self.link.rank), "failed")
                    named = True
                for member in list(self.wanted):
                    if self.link.store.check([_key(member)]):
                        del self.wanted[member]
                        self.ended.pop(member, None)
                time.sleep(_LOOK_SECONDS)
            self.kept = True

    def _has_ended(self, rank: int) -> bool:
        """As far as can be seen from this host."""
        return rank in self.link.pids and has_ended(self.link.pids[rank])


def _silent(link: Link) -> tuple[int, ...]:
    """The ranks of the world among the members that are gone, or do not answer; none if all put their names down."""
    roll = _Roll(link)
    # torch's store waits without end for a keeper that was stopped, so that waiting is left to a thread.
    thread = threading.Thread(target=roll.call, daemon=True, name="opsdist-roll")
    thread.start()
    thread.join(2 * ROLL_SECONDS)
    keeper = {} if roll.kept else {member: rank for member, rank in roll.wanted.items() if rank == _KEEPER}
    return tuple(sorted((roll.ended or keeper or roll.wanted).values()))


def _key(member: int) -> str:
    return f"failed/{member}"


def first_sentence(text: str) -> str:
    """Without the place in torch's sources, and without advice."""
    line = re.sub(r"^\[[^\]]*\]\s*", "", text.strip().splitlines()[0] if text.strip() else "no reason given")
    return line.partition(". This is typically")[0].rstrip(".")
