"""What evidence says of a job, in one language: readers of evidence/ give these, and the engine knows nothing else.

A fact says only what stands in the evidence. Who it is about may be known by a rank, by host and process, or by a rank
in some group: identities.py finds out who is who. Times are seconds since 1970 by the clock of the host that wrote
them.
May import: the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

Class = Literal[
    "none", "missing", "crashed", "mismatch", "cycle", "stuck", "joined", "device", "transport", "resource", "config",
    "launch", "corrupt", "slow", "undecided",
]  # fmt: skip
"""Of a verdict."""


class Level(IntEnum):
    """How close to the cause what complains is: a higher one never beats a lower one that came earlier."""

    INITIATING = 0
    """It is about the speaker's own resource, device, configuration or code."""
    TRANSPORT = 1
    """A path failed; either end, or what lies between, may be why."""
    TIMEOUT = 2
    """Somebody waited in vain: it tells who waits, never who is to blame."""
    CASCADE = 3
    """It follows from a peer's end."""
    TEARDOWN = 4
    """It is said while everything is being ended."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a clock told. `seconds` since 1970, as if it showed UTC where it tells no zone, and 2000 where no year."""

    seconds: float
    zoned: bool = False
    yearless: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands. `line` counts from 1; None in what has no lines. `text` has no wrapper, and is cut."""

    file: str
    line: int | None = None
    text: str = ""
    time: float | None = None
    stamp: Stamp | None = None
    """What is known beyond `time`: that it has a zone; or a time that is too rough to put lines in order by it."""


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody, as far as the evidence says. `rank` is the world's; `group_rank` is the rank in `group`."""

    rank: int | None = None
    host: str | None = None
    pid: int | None = None
    device: str | None = None
    """As named there: gpu3, npu0, a PCI address, mlx5_0."""
    local_rank: int | None = None
    group: str | None = None
    group_rank: int | None = None
    address: str | None = None
    """IP address of its host or device."""


NOBODY = Who()


@dataclass(frozen=True, slots=True)
class Group:
    """A process group or communicator. `key` is the same in the evidence of all its members."""

    key: str
    place: Place
    name: str = ""
    """For people."""
    size: int | None = None
    ranks: tuple[int, ...] | None = None
    """World ranks, in the order of group ranks."""
    guessed: bool = False
    """The key was put together from what was seen: others may have put together the same of another group."""
    least: int | None = None
    """So many members it has at least, where its size is not told."""
    like: str | None = None
    """It has the members of that group, whose ranks are meant where people speak in it."""
    heads: int | None = None
    """It has so many members, and nothing lists them."""


@dataclass(frozen=True, slots=True)
class World:
    """The job has so many ranks, as its start tells."""

    size: int
    place: Place


@dataclass(frozen=True, slots=True)
class Identity:
    """All that `who` names is one and the same."""

    who: Who
    place: Place


@dataclass(frozen=True, slots=True)
class Signature:
    """What was called, as far as all ranks of the group must agree on it. `op` is in the words of the house (allreduce,
    reduce_scatter, send, ...); `count` in elements, and only where it must be the same on all ranks."""

    op: str
    count: int | None = None
    dtype: str | None = None
    operator: str | None = None
    root: int | None = None

    def __str__(self) -> str:
        words = [self.op]
        if self.count or self.dtype:  # a barrier has a count of 0, and no elements
            amount = "" if self.count is None else str(self.count)
            words.append(f"of {' '.join(part for part in (amount, self.dtype) if part)}")
        words += [self.operator] if self.operator else []
        words += [f"root {self.root}"] if self.root is not None else []
        return " ".join(words)


State = Literal["entered", "pending", "done"]
"""entered: not known whether it has come to its end. pending: known not to have. done: known to have."""


@dataclass(frozen=True, slots=True)
class Call:
    """A rank called a collective, or sent to or receives from `peer` (then `peer_sends` says which)."""

    who: Who
    place: Place
    group: str
    seq: int | None
    """The number of the call in its group, alike on all members; None where it is not told. For point-to-point the
    number among those of this pair and direction, where it is known."""
    signature: Signature
    state: State = "entered"
    peer: Who | None = None
    peer_sends: bool = False
    frame: str | None = None
    """Where in the user's program, as `file:line function`."""
    entered: float | None = None
    ended: float | None = None
    step: str | None = None
    """Where in its plan it stands, in words."""
    batch: int | None = None
    """Number, in its group, of what was handed over at once: messages of one batch do not wait for each other."""
    nth: int | None = None
    """Of the messages this way between these two, where all of them are recorded. It meets the other end's nth."""
    running: bool = False
    """Its device is at it, as far as that is told: see Track.starts."""


@dataclass(frozen=True, slots=True)
class Track:
    """All that one rank recorded of one group, which may be much: what is under way as calls, the rest as numbers."""

    who: Who
    place: Place
    group: str
    enqueued: int | None = None
    """Number of the last call that was begun, or handed to the device."""
    started: int | None = None
    completed: int | None = None
    pending: Sequence[Call] = ()
    """Not come to their end, the oldest first; those after the 64th may be left out."""
    whole: bool = False
    """Finished calls are recorded too."""
    history: Sequence[tuple[int, Signature]] = ()
    """(seq, what), of recorded collectives, rising; finished ones where they are recorded."""
    latest: Sequence[Call] = ()
    """The last few calls, finished ones too, for a timeline."""
    exact: bool = False
    """All that a signature has must be the same on all ranks: calls that differ are at fault, ended or not."""
    instant: bool = False
    """As it was the moment that something happened, not after others had waited for long: who is in a call that others
    are through may be about to leave it."""
    failures_end: bool = False
    """A call that failed is told as one that ended."""
    cut: bool = False
    """Older calls than those recorded are under way: the recorder has overwritten them."""
    by_turns: bool = False
    """Its status counts messages and collectives of the group by turns, so nothing is taken from it."""
    counted: int | None = None
    """What its status has for completed, be it of a message."""
    messages: Mapping[tuple[int, bool], int] | None = None
    """How many it has begun, by the other end's rank in the group and `peer_sends`; where all are recorded."""
    starts: bool = False
    """It is told of all that are under way whether the device is at them, and none is missing."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """`who` waits for `on`, as it, or what watches it, says. For all of them; with `either`, for any one of them."""

    who: Who
    place: Place
    on: tuple[Who, ...]
    group: str | None = None
    seq: int | None = None
    op: str | None = None
    either: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """Somebody who sees all members says which have not come to a call. `present` where it says that too; alone where
    somebody says of itself that it has come."""

    place: Place
    absent: tuple[Who, ...]
    present: tuple[Who, ...] = ()
    group: str | None = None
    seq: int | None = None
    op: str | None = None
    by: Who = NOBODY
    sure: bool = True
    """Not where it is one look at a job that may be moving: members are a call or a few apart in any such look."""


@dataclass(frozen=True, slots=True)
class Side:
    """Some of the ranks, and what they called."""

    signature: str
    members: tuple[Who, ...]


ANOTHER = "another call"
"""Side of those of whom it is known only that they called something else."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A tool has compared what ranks called, and they differ in `aspect` (operation, count, dtype, root, order)."""

    place: Place
    sides: tuple[Side, ...]
    aspect: str = ""
    group: str | None = None
    seq: int | None = None
    op: str | None = None


Kind = Literal["rank", "host", "device", "link", "file"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a complaint is about. A link is between `who` and `peer`, or that of `who` to all others, by the network
    card `card` where that is told; without `who` it is all links of the cards of that name. A file is `file`."""

    kind: Kind
    who: Who = NOBODY
    peer: Who | None = None
    file: str | None = None
    card: str | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """Somebody complains. `cause` is what it proves, if it is the first of all; None where it proves nothing alone."""

    who: Who
    """The speaker."""
    place: Place
    level: Level
    what: str
    """In a few words, for people: what the text means."""
    cause: Class | None = None
    about: tuple[Subject, ...] = ()
    """Whom it proves to be at fault; nobody where it does not tell."""
    remedy: tuple[str, ...] = ()
    known_as: str = ""
    """Name of the row that knows this text, so that equal complaints are counted as one."""


RESTARTED = "torchrun.restarted"
"""Name of the row of a line behind which all ranks of its launcher begin again."""
OF_HOSTS = "kernel."
"""How rows are named of what a host's own log says, whichever job runs there."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process has ended. One of `code` and `signal` is known, or neither."""

    who: Who
    place: Place
    code: int | None = None
    signal: int | None = None
    first: bool = False
    """Of all that its launcher saw: it has ended the others because of that."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Of a stack."""

    function: str
    file: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """Where a thread of a living process stands. Innermost frame first."""

    who: Who
    place: Place
    thread: str
    frames: tuple[Frame, ...]
    active: bool | None = None
    holds_gil: bool | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception that nobody caught, or that was logged with its stack. Innermost frame first."""

    who: Who
    place: Place
    """Of the line that names the exception."""
    error: str
    message: str
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """What a process works with: the same key should have the same value on all hosts, unless it is an `identity`."""

    who: Who
    place: Place
    key: str
    """Such as `nccl.version`, `nccl.network`, `nccl.devices`, `env.NCCL_SOCKET_IFNAME`."""
    value: str


@dataclass(frozen=True, slots=True)
class HostAddress:
    """The host of `who` is reached by the address of `who`."""

    who: Who
    place: Place


@dataclass(frozen=True, slots=True)
class Seen:
    """Evidence of a kind that was understood. `who` where it is one process's own."""

    place: Place
    kind: str
    """In words: "flight recorder dump (2.9, nccl)", "NCCL log"."""
    who: Who = NOBODY
    whole: bool = True
    """Not cut off."""
    verbose: bool = False
    """It would have told of calls, had there been any."""
    all_groups: bool = False
    """It tells of every group in which it has called."""


@dataclass(frozen=True, slots=True)
class Moving:
    """Somebody was going on when it was looked at: where it had not come to yet is nothing against it."""

    who: Who
    place: Place


@dataclass(frozen=True, slots=True)
class JustBegun:
    """What it has under way it had begun a moment before it was looked at: that is no sign that it waits."""

    who: Who
    place: Place


@dataclass(frozen=True, slots=True)
class Unread:
    """A file, or what is in it, from which nothing could be taken."""

    file: str
    why: str
    breaks_off: bool = False
    """More was to come."""


Fact = (
    Group | World | Identity | Call | Track | Waiting | Absent | Disagreement | Trouble | Ended | Stack | Raised
    | Setting | HostAddress | Seen | Moving | JustBegun | Unread
)  # fmt: skip


@dataclass(slots=True)
class Evidence:
    """All facts of one diagnosis, in the order in which they were read."""

    facts: list[Fact] = field(default_factory=list)
    repeats: dict[str, int] = field(default_factory=dict)
    """How often each row of known texts was seen beyond what is kept."""
    notes: list[str] = field(default_factory=list)
    """Of what was assumed, for people."""
