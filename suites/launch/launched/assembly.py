"""Rank 0's side of a world that another launcher has started: who is there, and what each of the others is to do.

All processes of the launcher but rank 0's come here, and stay until they are told that it is over: see member.py. On
each host but this one, the first of them starts the agent, whose frames come over a connection of its own. Frames:

    rank 0 -> who comes   challenge {nonce}, welcome {proof}, taken (this connection is the agent's from here on)
    who comes -> rank 0   proof {nonce, proof, credential}; then here {rank, size, launcher, node, host, pid, version,
                          cpus, arguments} of a rank, or agent {ticket} on a connection for one
    rank 0 -> ranks       agent {ticket, cpus} (start it), dial {rank, address, token} (start the rank), over {code}

May import: local, dialin, link, meeting, member, proof, protocol, trouble, verdict's Fault.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from collectives.placement import Launched
from suites.launch import local
from suites.launch.launched.meeting import MEETINGS, Meeting, carries_mpi, peer_uid, watched
from suites.launch.launched.member import Presence, presence, start_dial
from suites.launch.launched.proof import LARGEST, Key, admit, challenge, wait_at_most
from suites.launch.link import AgentCommand, raise_descriptors
from suites.launch.lists.nodeset import fold
from suites.launch.protocol import BrokenFrame, Frame, FrameReader, pack
from suites.launch.trouble import Trouble
from suites.verdict import Fault

_TURN_SECONDS = 0.1
_SEND_SECONDS = 5.0
_LEAVE_SECONDS = 5.0
_MOST_STRANGERS = 1024
"""Connections of those who have not shown yet who they are."""


@dataclass(slots=True)
class Guest:
    """A connection that somebody has opened to this process."""

    socket: socket.socket
    asked: Frame = field(default_factory=challenge)
    reader: FrameReader = field(default_factory=FrameReader)
    admitted: bool = False

    def tell(self, frame: Frame) -> None:
        """One that is gone is missed elsewhere."""
        with contextlib.suppress(OSError):
            self.socket.settimeout(_SEND_SECONDS)
            self.socket.sendall(pack(frame))


@dataclass(frozen=True, slots=True)
class Post:
    """A host of the run, and who is there, by the launcher's ranks."""

    name: str
    present: tuple[Presence, ...]

    @property
    def leader(self) -> int:
        """Who starts the agent."""
        return self.present[0].rank

    @property
    def cpus(self) -> list[int]:
        """Of all of them together."""
        return sorted({cpu for one in self.present for cpu in one.cpus})


class Assembly:
    """Listens from the start. Use: `gather`, then any number of runs, then `dismiss`."""

    def __init__(self, launched: Launched, meeting: Meeting, seconds: float) -> None:
        """Raises LaunchError where nobody could come, if need be after so many seconds."""
        self._size, self._where = launched.placement.world_size, meeting.where
        self._family, self._own = launched.family.name, presence(launched)
        self.launcher = self._own.launcher
        self.faults: list[Fault] = []
        self.posts: tuple[Post, ...] = ()
        self._present: dict[int, Presence] = {self._own.rank: self._own}
        self._members: dict[int, Guest] = {}
        self._guests: dict[int, Guest] = {}
        """All whose frames are waited for, by descriptor."""
        self._tickets: dict[str, int] = {}
        """Which agent a connection that shows this is."""
        self._agents: dict[int, socket.socket] = {}
        self._dials: list[subprocess.Popen[bytes]] = []
        self._selector = selectors.DefaultSelector()
        self._came = time.monotonic()
        raise_descriptors()
        self._listener: socket.socket
        self._key: Key
        self._listener, self._key = meeting.open(seconds)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)

    def gather(self, seconds: float) -> None:
        """Until all ranks are here, or none has come for so long: `posts`, or else `faults`."""
        self._came = time.monotonic()
        self._turn_until(lambda: len(self._present) == self._size or bool(self.faults), seconds)
        missing = sorted(set(range(self._size)) - set(self._present))
        if missing and not self.faults:
            self._fault(
                f"{_ranks(missing)} of {self._size} did not come to {self._where} within {seconds:g} s", tuple(missing),
                f"their output, and whether {self.launcher} has started them; --launcher local leaves the launcher out",
            )  # fmt: skip
        self.posts = posts(list(self._present.values()))

    @property
    def remarks(self) -> list[str]:
        """What people may want to know of those who came."""
        others = sorted(one.rank for one in self._present.values() if one.arguments != self._own.arguments)
        if not others:
            return []
        return [
            f"{_ranks(others)} of {self.launcher} got other arguments than rank 0, whose arguments are those that count"
        ]

    @property
    def mpi(self) -> bool:
        """Whether a world of MPI can be made of these processes, with the numbers that the ranks have in the run."""
        ranks = [one.rank for post in self.posts for one in post.present]
        return carries_mpi() and ranks == sorted(ranks)

    def commands(self) -> list[AgentCommand]:
        """How the agent of each host is started; see `start_agents`."""
        here, *others = self.posts
        there = [AgentCommand(post.name, tuple(local.argv()), {}, explain=_diagnose) for post in others]
        return [local.command(here.name), *there]

    def start_agents(self, commands: Sequence[AgentCommand], seconds: float) -> list[AgentCommand]:
        """The same with a connection to each agent of another host; or else `faults`."""
        # The agent here looks at the CPUs of all ranks here, and no more than they does it need a core of its own.
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, self.posts[0].cpus)
        self._tickets = {secrets.token_hex(16): number for number in range(1, len(self.posts))}
        self._agents = {}
        for ticket, number in self._tickets.items():
            post = self.posts[number]
            self._members[post.leader].tell({"type": "agent", "ticket": ticket, "cpus": post.cpus})
        self._came = time.monotonic()
        self._turn_until(lambda: not self._tickets, seconds)
        for number in self._tickets.values():
            post = self.posts[number]
            message = (
                f"rank {post.leader}, which {self.launcher} has started on {post.name}, has started no agent there"
            )
            advice = "whether it lives, and what it printed"
            self.faults.append(Fault(None, "launch", "start", message=message, notes=(advice,), host=post.name))
        return [
            replace(command, connection=self._agents[number]) if number in self._agents else command
            for number, command in enumerate(commands)
        ]

    def summon(self, node: int, waiting: Frame) -> None:
        """Have all ranks of a host dial its agent, under the numbers that they have in this run."""
        first = sum(len(post.present) for post in self.posts[:node])
        for number, one in enumerate(self.posts[node].present, first):
            frame = {**waiting, "type": "dial", "rank": number}
            if one.rank == self._own.rank:
                self._dials.append(start_dial(frame))
            else:
                self._members[one.rank].tell(frame)

    def dismiss(self, code: int) -> None:
        """Tell all others the exit code of the run. They wait for the end of this process before they take it."""
        for dial in self._dials:
            with contextlib.suppress(subprocess.TimeoutExpired):
                dial.wait(_LEAVE_SECONDS)
        for guest in self._members.values():
            guest.tell({"type": "over", "code": code})
        MEETINGS[self._family].leave(os.environ)

    def close(self) -> None:
        """Hang up on all. The end of the process does it too, and is what the others wait for."""
        self._selector.close()
        self._listener.close()
        for guest in (*self._members.values(), *self._guests.values()):
            guest.socket.close()

    # --- those who come

    def _turn_until(self, done: Callable[[], bool], seconds: float) -> None:
        while not done() and time.monotonic() - self._came < seconds:
            for key, _ in self._selector.select(_TURN_SECONDS):
                if key.fileobj is self._listener:
                    self._on_guest()
                elif guest := self._guests.get(key.fd):
                    self._on_frames(guest)

    def _on_guest(self) -> None:
        strangers = [guest for guest in self._guests.values() if not guest.admitted]
        if len(strangers) > _MOST_STRANGERS:
            self._drop(strangers[0])  # should it be one of ours, it comes again
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        if connection.family == socket.AF_UNIX:
            if peer_uid(connection) != os.getuid():
                connection.close()
                return
        else:
            watched(connection)
        guest = self._guests[connection.fileno()] = Guest(connection)
        guest.tell({**guest.asked})
        connection.setblocking(False)
        self._selector.register(connection, selectors.EVENT_READ)

    def _on_frames(self, guest: Guest) -> None:
        try:
            data = guest.socket.recv(LARGEST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        try:
            for frame in guest.reader.feed(data):
                self._take(guest, frame)
            strange = not guest.admitted and guest.reader.missing > LARGEST
        except (BrokenFrame, KeyError, TypeError, ValueError):
            strange = True
        if strange or not data:
            self._drop(guest)

    def _drop(self, guest: Guest) -> None:
        self._let_go(guest)
        guest.socket.close()
        rank = next((rank for rank, member in self._members.items() if member is guest), None)
        if rank is not None:
            one = self._present[rank]
            self._fault(
                f"rank {rank} (pid {one.pid} on {one.host}) came and was gone before all ranks were here", (rank,),
                "its output",
            )  # fmt: skip

    def _let_go(self, guest: Guest) -> None:
        with contextlib.suppress(KeyError):
            del self._guests[guest.socket.fileno()]
            self._selector.unregister(guest.socket)

    def _take(self, guest: Guest, frame: Frame) -> None:
        if not guest.admitted:
            welcome = admit(self._key, guest.asked, frame)
            if welcome is None:
                raise BrokenFrame("a stranger")
            guest.admitted = True
            guest.tell(welcome)
            guest.socket.setblocking(False)
            return
        match frame["type"]:
            case "here":
                self._on_here(guest, frame)
            case "agent" if frame["ticket"] in self._tickets:
                # From here on the agent's own frames come.
                self._let_go(guest)
                self._agents[self._tickets.pop(frame["ticket"])] = guest.socket
                guest.tell({"type": "taken"})
                wait_at_most(guest.socket, 0.0)

    def _on_here(self, guest: Guest, frame: Frame) -> None:
        self._came = time.monotonic()
        one = Presence.of(frame)
        if one.rank in self._present:
            other = self._present[one.rank]
            self._fault(
                f"two processes say that they are rank {one.rank}: pid {other.pid} on {other.host} and pid {one.pid} "
                f"on {one.host}", (one.rank,), "whether two runs of one job are there at the same time",
            )  # fmt: skip
            return
        self._members[one.rank], self._present[one.rank] = guest, one
        own = self._own
        if one.size != own.size or one.launcher != own.launcher:
            said = f"rank {one.rank} of {one.size} by {one.launcher}"
            self._fault(
                f"pid {one.pid} on {one.host} is {said}, where rank 0 is of {own.size} by {own.launcher}", (one.rank,),
                "the launcher's variables in what starts opsdist: `env | sort` in its place",
            )  # fmt: skip
        elif one.version != own.version:
            advice = f"install opsdist {own.version} there"
            self._fault(f"{one.host} has opsdist {one.version}, and rank 0 {own.version}", (one.rank,), advice)

    def _fault(self, message: str, ranks: tuple[int, ...], advice: str) -> None:
        self.faults.append(
            Fault(None, "launch", "meeting", message=message, notes=(advice,), waiting_for=ranks)
        )  # fmt: skip


def posts(present: Sequence[Presence]) -> tuple[Post, ...]:
    """By hosts, in the order of their lowest ranks; hosts of the same name are numbered."""
    hosts: dict[str, list[Presence]] = {}
    for one in sorted(present, key=lambda one: one.rank):
        hosts.setdefault(one.node, []).append(one)
    seen: Counter[str] = Counter()
    found = []
    for ranks in hosts.values():
        name = ranks[0].host
        seen[name] += 1
        found.append(Post(f"{name}-{seen[name]}" if seen[name] > 1 else name, tuple(ranks)))
    return tuple(found)


def _ranks(ranks: Sequence[int]) -> str:
    folded = fold([str(rank) for rank in ranks]).replace("[", "").replace("]", "")
    return f"rank{'s' * (len(ranks) > 1)} {folded}"


def _diagnose(words: str, code: int | None, host: str, *, greeted: bool) -> Trouble:
    """What the end of a connection means on which the agent has not said that it ends."""
    if greeted:
        advice = (f"`dmesg | grep -i oom` on {host}, and who else may end processes there",)
        return Trouble("agent", "", f"the agent on {host} ended without a word", advice, error="ended")
    advice = ("what the processes there have printed",)
    return Trouble("launch", "start", f"the agent on {host} ended before it was there", advice)
