"""Programs run on hosts and devices that are made up: a host hands launches to the streams of its device and runs on,
a launch starts when what it comes after is over, and is over when all that take part have started theirs.

NCCL keeps no other order than that of its streams: one a group, and one a pair of ranks for messages that are no batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random

from tests.made_up.training.mesh import Mesh
from tests.made_up.training.program import Await, Collective, Fail, Hang, HostSync, Message, Messages, Step, Stop

_BEGIN = 1_700_000_000_000_000_000


@dataclass(eq=False)
class Meeting:
    """What has to come together: a collective, or the two ends of a message."""

    ranks: frozenset[int]
    launches: dict[int, Launch] = field(default_factory=dict)
    signatures: set[tuple[str, int | None]] = field(default_factory=set)
    lost: bool = False

    @property
    def over(self) -> bool:
        """Calls that differ wait for each other for ever: NCCL does not compare them."""
        met = len(self.launches) == len(self.ranks) and len(self.signatures) == 1
        return met and not self.lost and all(launch.started is not None for launch in self.launches.values())


@dataclass(eq=False)
class Call:
    """What the recorder is told. `collective`, `message` and `number` are counted as its entries count them."""

    group: str
    op: str
    count: int
    collective: int
    message: int
    number: int
    meeting: Meeting
    peer: int | None = None


@dataclass(eq=False)
class Launch:
    """What a device is given at once. One without calls is a kernel that does not end."""

    after: tuple[Launch, ...]
    called: int
    calls: list[Call] = field(default_factory=list)
    batch: bool = False
    last: bool = False
    """Of its device, which does not come back from it."""
    dead: bool = False
    """Its device does nothing any more."""
    started: int | None = None
    ended: int | None = None

    @property
    def ready(self) -> bool:
        return not self.dead and all(other.ended is not None for other in self.after)

    @property
    def met(self) -> bool:
        return bool(self.calls) and all(call.meeting.over for call in self.calls)


@dataclass(eq=False)
class Rank:
    number: int
    program: Sequence[Step]
    at: int = 0
    """In the program."""
    launches: list[Launch] = field(default_factory=list)
    open: list[Launch] = field(default_factory=list)
    """Not over, in order."""
    computed_after: list[Launch] = field(default_factory=list)
    """What is computed next comes after these."""
    handles: dict[str, Launch] = field(default_factory=dict)
    tails: dict[Hashable, Launch] = field(default_factory=dict)
    """The last launch of each stream."""
    collectives: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    messages: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    numbers: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    endless: Launch | None = None
    """What its device does not come out of."""
    failed: bool = False
    """Its device does nothing any more."""
    noted: int | None = None
    """Until when it is recorded what its device does; to the end where this is None."""

    @property
    def step(self) -> Step | None:
        """What its host stands before; nothing at the end."""
        return self.program[self.at] if self.at < len(self.program) else None

    @property
    def hangs(self) -> bool:
        """Whether its device has come to what it does not come out of, and nothing else is why it does not end."""
        launch = self.endless
        return self.failed or (launch is not None and launch.started is not None and (launch.met or not launch.calls))

    def ended(self, launch: Launch) -> int | None:
        """When, as far as it is recorded."""
        return self._noted(launch.ended)

    def started(self, launch: Launch) -> int | None:
        """Likewise."""
        return self._noted(launch.started)

    def _noted(self, time: int | None) -> int | None:
        return None if time is None or (self.noted is not None and time > self.noted) else time

    @property
    def shown(self) -> list[Launch]:
        """Calls that are not over, as far as it is recorded."""
        return [launch for launch in self.launches if launch.calls and self.ended(launch) is None]


class Run:
    """Until nothing moves. A host has at most `ahead` launches that are not over."""

    def __init__(self, mesh: Mesh, programs: Sequence[Sequence[Step]], ahead: int, random: Random) -> None:
        self.mesh = mesh
        self.ranks = [Rank(number, program) for number, program in enumerate(programs)]
        self._ahead, self._random, self._clock = ahead, random, _BEGIN
        self._collectives: dict[tuple[str, int], Meeting] = {}
        self._messages: dict[tuple[str, int, int, int], Meeting] = {}
        self._sent: defaultdict[tuple[int, str, Message], count[int]] = defaultdict(count)
        moves = True
        while moves:
            moves = False
            for rank in random.sample(self.ranks, len(self.ranks)):
                for _ in range(random.randint(1, 6)):
                    moves |= self._host(rank)
            moves |= self._devices()

    @property
    def ended(self) -> bool:
        """Whether all came to the end of their programs, and nothing is under way."""
        return all(rank.step is None and not rank.open for rank in self.ranks)

    def waits(self) -> dict[int, set[int]]:
        """rank -> those it waits for: it is in what they take part in, and they are not."""
        return {
            rank.number: {
                other
                for launch in rank.open if launch.started is not None
                for call in launch.calls
                for other in call.meeting.ranks
                if (end := call.meeting.launches.get(other)) is None or end.started is None
            }
            for rank in self.ranks
        }  # fmt: skip

    def missers(self, culprit: int) -> set[int]:
        """Those that are in what this rank takes part in and has not called."""
        return {
            rank.number
            for rank in self.ranks
            for launch in rank.open if launch.started is not None
            for call in launch.calls
            if culprit in call.meeting.ranks and culprit not in call.meeting.launches
        }  # fmt: skip

    def differing(self) -> list[tuple[str, int]]:
        """Collectives in which not all call the same, as (group, seq)."""
        return [key for key, meeting in self._collectives.items() if len(meeting.signatures) > 1]

    def _host(self, rank: Rank) -> bool:
        """One step of its program, if it can."""
        rank.computed_after = [launch for launch in rank.computed_after if launch.ended is None]
        step = rank.step
        match step:
            case None:
                return False
            case Stop(killed, _, early):
                if killed:
                    self._lose(rank)
                if early and rank.noted is None:
                    rank.noted = self._clock
                return False
            case HostSync():
                if rank.computed_after:
                    return False
            case Await(handle):
                if handle in rank.handles:  # else what gives it was left out
                    rank.computed_after.append(rank.handles[handle])
            case Hang():
                rank.endless = self._launch(rank, None, tuple(rank.computed_after))
                rank.computed_after.append(rank.endless)
            case Fail(unnoted):
                self._fail(rank, unnoted)
            case Collective() | Messages():
                if len(rank.open) >= self._ahead:
                    return False
                if isinstance(step, Collective):
                    self._collective(rank, step)
                else:
                    self._all_messages(rank, step)
        rank.at += 1
        return True

    def _lose(self, rank: Rank) -> None:
        for launch in rank.open:
            launch.started = None
            for call in launch.calls:
                call.meeting.launches.pop(rank.number, None)
        rank.open.clear()

    def _fail(self, rank: Rank, unnoted: int) -> None:
        rank.failed = True
        ends = sorted({launch.ended for launch in rank.launches if launch.ended is not None})
        rank.noted = ends[-1 - unnoted] if unnoted < len(ends) else _BEGIN
        for launch in rank.open:
            launch.dead, launch.started = True, None

    def _launch(self, rank: Rank, stream: Hashable, after: tuple[Launch, ...]) -> Launch:
        self._clock += self._random.randint(500, 20_000)
        if stream is not None and (tail := rank.tails.get(stream)) is not None and tail.ended is None:
            after = (*after, tail)
        launch = Launch(after, self._clock, dead=rank.failed)
        if stream is not None:
            rank.tails[stream] = launch
        rank.launches.append(launch)
        rank.open.append(launch)
        return launch

    def _collective(self, rank: Rank, step: Collective) -> None:
        launch = self._launch(rank, step.group, () if step.ahead else tuple(rank.computed_after))
        rank.collectives[step.group] += 1
        seq = rank.collectives[step.group]
        meeting = self._collectives.setdefault((step.group, seq), Meeting(frozenset(self.mesh.group(step.group).ranks)))
        # Each has its own share of an exchange.
        meeting.signatures.add((step.op, None if step.op == "all_to_all" else step.count))
        meeting.lost |= step.lost
        self._add(rank, launch, Call(step.group, step.op, step.count, seq, 0, 0, meeting))
        if step.last:
            launch.last, rank.endless = True, launch
        if step.awaited:
            rank.computed_after.append(launch)
        if step.handle:
            rank.handles[step.handle] = launch

    def _all_messages(self, rank: Rank, step: Messages) -> None:
        after = tuple(rank.computed_after)
        awaited = []
        if step.batched:
            rank.messages[step.group] += 1
            batch = self._launch(rank, step.group, after)
            batch.batch = True
            awaited.append(batch)
        for message in step.messages:
            if step.batched:
                launch = batch
            else:
                rank.messages[step.group] += 1
                pair = frozenset((rank.number, message.peer))
                launch = self._launch(rank, (step.group, pair), after)
                awaited.append(launch)
            self._message(rank, launch, step.group, message)
        if step.handle:
            (rank.handles[step.handle],) = awaited
        else:
            rank.computed_after += awaited

    def _message(self, rank: Rank, launch: Launch, group: str, message: Message) -> None:
        """The nth that one sends to another meets the nth that the other receives from it."""
        ends = (rank.number, message.peer) if message.way == "send" else (message.peer, rank.number)
        key = (group, *ends, next(self._sent[rank.number, group, message]))
        meeting = self._messages.setdefault(key, Meeting(frozenset(ends), signatures={("message", None)}))
        call = Call(group, message.way, 4096, rank.collectives[group], rank.messages[group], 0, meeting, message.peer)
        self._add(rank, launch, call)

    def _add(self, rank: Rank, launch: Launch, call: Call) -> None:
        rank.numbers[call.group] += 1
        call.number = rank.numbers[call.group]
        call.meeting.launches[rank.number] = launch
        launch.calls.append(call)

    def _devices(self) -> bool:
        self._clock += self._random.randint(1_000, 30_000)
        moved = False
        for rank in self.ranks:
            for launch in rank.open:
                if launch.started is None and launch.ready:
                    launch.started, moved = self._clock, True
        for rank in self.ranks:
            over = [launch for launch in rank.open if launch.started is not None and launch.met and not launch.last]
            for launch in over:
                launch.ended, moved = self._clock, True
            if over:
                rank.open = [launch for launch in rank.open if launch.ended is None]
        return moved
