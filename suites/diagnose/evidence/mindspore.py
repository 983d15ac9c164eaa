"""MindSpore's scheduler, its workers, and msrun that starts them: who came, who is not heard any more, who has ended.

Texts: mindspore/ccsrc/distributed/cluster and mindspore/python/mindspore/parallel/cluster. msrun ends all workers of
its host when one has ended badly, so that the scheduler, which hears nobody of them then, misses the wrong ones too.
May import: facts, known, line, hccl_speech, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.hccl_speech import seconds
from suites.diagnose.evidence.known import Known, KnownTexts
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import Absent, Ended, Fact, Identity, Level, Trouble, Who, World
from suites.diagnose.ranks import MOST_RANKS

_OWN, _CASCADE, _TEARDOWN = Level.INITIATING, Level.CASCADE, Level.TEARDOWN
_ENDED_FIRST = "the log of the worker that ended first says why: msrun's `exit with exception`, then worker_N.log"
_ONE_SCHEDULER = "end what an older job has left (`ss -ltnp` of its port), or give msrun another --master_port"


def _twice(wakes: str, pattern: str) -> Known:
    what = "worker {node} came to the scheduler twice: another job uses its port, or two hosts have one --node_rank"
    return Known("mindspore.twice", wakes, pattern, _OWN, what, "launch",
                 remedy=(_ONE_SCHEDULER, "another --node_rank on each host"))  # fmt: skip


ROWS = (
    Known("mindspore.extra", "extra or rank id exceeds", r"(?:is extra|node is extra) or rank id exceeds", _OWN,
          "more workers were started than --worker_num tells", "launch",
          remedy=("--worker_num is of all hosts, --local_worker_num of one",)),
    _twice("Repeated registration node", r"Repeated registration node: ?(?P<node>[\w.-]{1,64})"),
    _twice("Rank id:", r"Rank id:(?P<node>\d{1,7}) for role:\w{1,20} exists"),
    _twice("registered repeatedly", r"Node (?P<node>[\w.-]{1,64}) registered repeatedly"),
    Known("mindspore.role", "Role name ", r"Role name '.{0,40}' is invalid", _OWN,
          "a worker was started without msrun, or without what msrun puts into its environment", "launch",
          remedy=("start it by msrun, or set MS_ROLE, MS_SCHED_HOST, MS_SCHED_PORT and MS_WORKER_NUM",)),
    Known("mindspore.device", "SetDevice for id", r"SetDevice for id:\d{1,5} failed", _OWN,
          "it was given a device that its host does not have", "config", "speaker",
          ("ranks on this host against its devices and those that may be seen",)),
    Known("mindspore.address", "Failed to call bind, url", r"Failed to call bind, url: (?P<at>\S{1,80}) Cannot assign",
          _OWN, "the scheduler was to listen on {at}, which is no address of its host", "config",
          remedy=("--master_addr (MS_SCHED_HOST) is an address of the host where the scheduler starts",)),
    Known("mindspore.port", "Failed to call bind, url", r"Failed to call bind, url: (?P<at>\S{1,80}) Address already",
          _OWN, "the scheduler's port at {at} is taken by another process", "resource", remedy=(_ONE_SCHEDULER,)),
    Known("mindspore.rank_table", "Init plugin so failed", r"Init plugin so failed, ret = 1343225860", _OWN,
          "HCCL could not be set up: mostly the rank table is wrong", "config",
          remedy=("opsdist suite smoke", "make the rank table anew and give the same to all hosts")),
    Known("mindspore.error", "The state of the cluster is error", r"The state of the cluster is error", _CASCADE,
          "the scheduler tells that others are lost"),
    Known("mindspore.scheduler", "Failed to connect to the meta server.", r"connect to the meta server\. Maybe it has "
          "exited", _CASCADE, "the scheduler has ended", remedy=("scheduler.log: why it ended",)),
    Known("mindspore.scheduler", "Failed to send heartbeat message", r"send heartbeat message to meta server", _CASCADE,
          "the scheduler is not reached any more"),
    Known("mindspore.scheduler", "Scheduler process ", r"Scheduler process \d{1,9} exit with exception", _CASCADE,
          "the scheduler ends since workers were lost"),
    Known("mindspore.lost", "The total number of timed out node", r"The total number of timed out node is", _CASCADE,
          "the scheduler ends since workers were lost"),
    Known("mindspore.lost", "Time out nodes are", r"Time out nodes are \['", _CASCADE,
          "msrun quotes whom the scheduler has lost", remedy=(_ENDED_FIRST,)),
    Known("mindspore.msrun", "Distributed job exited with exception", r"Distributed job exited with exception",
          _TEARDOWN, "msrun ends since a process of the job had failed"),
    Known("mindspore.msrun", "kill all other workers", r"kill all other workers", _TEARDOWN,
          "msrun ends the other workers of its host after one has failed"),
    Known("mindspore.watchdog", "Watchdog thread got hccl error", r"got hccl error, try to stop training\. "
          r"rank: ?(?P<rank>\d{1,7})", _CASCADE, "HCCL told of an error"),
    Known("mindspore.watchdog", "HcclWatchdogThread catch an error", r"HcclWatchdogThread catch an error", _CASCADE,
          "HCCL told of an error"),
    Known("mindspore.call", "Ascend collective Error", r"Ascend collective Error: ", _CASCADE,
          "a call of HCCL failed"),
)  # fmt: skip

_TIME = r"(?P<time>\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d(?:\.\d{1,6}){0,2})"
_RECORD = re.compile(r"\[[A-Z]{4,9}\] ?[A-Z_]{2,20}\((?P<pid>\d{1,10})[,:][^)]{0,80}\):\s?" + _TIME)
_CAME = re.compile(
    r"The new node: (?P<node>[\w.-]{1,64}) ?\(role: \w{1,20}\), rank id: (?P<rank>\d{1,7})(?:, device id: "
    r"(?P<device>\d{1,9}))?(?:, hostname: (?P<host>[\w.-]{1,255}))?.{0,120}?Currently registered node number: "
    r"(?P<number>\d{1,7}), expected node number: (?P<size>\d{1,7})"
)
_RANKED = re.compile(
    r"rank id (?:of|from rank table file,) node id: (?P<node>[\w.-]{1,64}), .{0,200}?new rank id: (?P<rank>\d{1,7})"
)
_SELF = re.compile(r"This node (?P<node>[\w.-]{1,64}) rank id: (?P<rank>\d{1,7})")
_LOST = re.compile(r"The node: (?P<node>[\w.-]{1,64}) is timed out")
_GONE = re.compile(r"Worker process (?P<pid>\d{1,9}) exit with exception")
_UNREACHED = re.compile(r"connect to the meta server node url: ?(?P<at>[\w.:\[\]-]{1,80})")
_CODE = re.compile(r"\bE[IJ]\d{4}\)?:")
_UNKNOWN = re.compile(r"\[(?:ERROR|CRITICAL|EXCEPTION)\] ?[A-Z_]{2,20}\(.{0,120}\[mindspore/")
_OF_ONE_ERROR = 16
"""Lines between a MindSpore exception and the code of CANN's that it quotes."""


@dataclass(slots=True)
class MindSpore:
    """Reads them. What is said of tries counts only where none of them has come through."""

    wakes: tuple[str, ...] = (
        *dict.fromkeys(row.wakes for row in ROWS), "The new node: ", "new rank id: ", "This node ", "The node: ",
        "Worker process ", "meta server", "Topology build timed out", "Start Scheduler node timeout",
        "Cluster is successfully initialized", "[mindspore/", "RuntimeError: ", "Ascend Error Message", "EI0", "EJ0",
    )  # fmt: skip
    awake: bool = False
    _texts: KnownTexts = field(default_factory=lambda: KnownTexts(ROWS))
    _ranks: dict[str, int] = field(default_factory=dict)
    """By the node's number or name, as the scheduler knows them."""
    _numbered: int = 0
    """So many nodes the scheduler says to have registered, of `_size`."""
    _size: int = 0
    _hosts: dict[str, str] = field(default_factory=dict)
    _first: dict[Who, Line] = field(default_factory=dict)
    """Errors that nothing here knows."""
    _known: set[Who] = field(default_factory=set)
    _built: set[Who] = field(default_factory=set)
    """Whose cluster is complete."""
    _late: dict[Who, Line] = field(default_factory=dict)
    _tries: dict[Who, Line] = field(default_factory=dict)
    _lost: dict[str, Line] = field(default_factory=dict)
    _ended: bool = False
    """msrun has begun to end workers."""
    _raised: dict[Who, tuple[Line, bool]] = field(default_factory=dict)
    """The last exception, and whether a message of CANN's belongs to it."""

    def feed(self, line: Line) -> Iterable[Fact]:
        around = line.who
        if found := _RECORD.search(line.text):
            who = merged(around, Who(pid=int(found["pid"])))
            line = replace(line, who=who, time=seconds(found["time"]) or line.time)
        told = list(self._texts.feed(line))
        for mark, handle in _HANDLERS.items():
            if mark in line.text:
                told += handle(self, line)
        yield from told
        yield from self._quoted(line, around)
        if told:
            self._known.add(line.who)
        elif _UNKNOWN.match(line.text) and len(self._first) < MOST_RANKS:
            self._first.setdefault(line.who, line)

    def came(self, line: Line) -> Iterable[Fact]:
        """To the scheduler."""
        found = _CAME.search(line.text)
        if not found or len(self._ranks) >= MOST_RANKS:
            return
        self._numbered, self._size = int(found["number"]), int(found["size"])
        self._ranks[found["node"]] = int(found["rank"])
        self._hosts[found["node"]] = found["host"] or ""
        if 0 < self._size <= MOST_RANKS:
            yield World(self._size, line.place())
        if found["node"].isdecimal():  # the others are put in order later
            yield Identity(Who(rank=int(found["rank"]), host=found["host"]), line.place())

    def ranked(self, line: Line) -> Iterable[Fact]:
        if (found := _RANKED.search(line.text)) and len(self._ranks) < MOST_RANKS:
            self._ranks[found["node"]] = int(found["rank"])
        return ()

    def built(self, line: Line) -> Iterable[Fact]:
        """Its cluster is; a worker tells its rank then."""
        found = _SELF.search(line.text)
        if found is None and "This node " in line.text:
            return
        self._built.add(line.who)
        self._tries.pop(line.who, None)
        if found is not None and line.who.pid is not None:
            yield Identity(replace(line.who, rank=int(found["rank"])), line.place())

    def late(self, line: Line) -> Iterable[Fact]:
        self._late.setdefault(line.who, line)
        return ()

    def tried(self, line: Line) -> Iterable[Fact]:
        if line.who not in self._built and len(self._tries) < MOST_RANKS and _UNREACHED.search(line.text):
            self._tries.setdefault(line.who, line)
        return ()

    def lost(self, line: Line) -> Iterable[Fact]:
        if (found := _LOST.search(line.text)) and len(self._lost) < MOST_RANKS:
            self._lost.setdefault(found["node"], line)
        return ()

    def gone(self, line: Line) -> Iterable[Fact]:
        if found := _GONE.search(line.text):
            self._ended = True
            yield Ended(Who(host=line.who.host, pid=int(found["pid"])), line.place())

    def _quoted(self, line: Line, around: Who) -> Iterable[Fact]:
        """An exception is only where it comes to light what HCCL had told, in a message that stands below it."""
        if line.text.startswith("RuntimeError: ") and len(self._raised) < MOST_RANKS:
            self._raised[around] = (line, False)
        elif "Ascend Error Message" in line.text and around in self._raised:
            self._raised[around] = (self._raised[around][0], True)
        elif around in self._raised and _CODE.search(line.text):
            raised, quotes = self._raised.pop(around)
            if quotes and line.number - raised.number <= _OF_ONE_ERROR:
                what = "MindSpore tells of what HCCL had told"
                yield Trouble(raised.who, raised.place(), _CASCADE, what, known_as="mindspore.quoted")

    def end(self) -> Iterable[Fact]:
        yield from self._roll()
        for line in self._tries.values():
            found = _UNREACHED.search(line.text)
            at = found["at"] if found else "?"
            what = f"the scheduler at {at} cannot be reached"
            remedy = (
                "scheduler.log: did it start, and does it still run?",
                f"from here `nc -vz {at.replace(':', ' ')}`",
            )
            yield Trouble(line.who, line.place(), Level.TIMEOUT, what, remedy=remedy, known_as="mindspore.unreached")
        yield from self._missed()
        held = {line.who for line in (*self._tries.values(), *self._lost.values(), *self._late.values())}
        for who, line in self._first.items():
            if who not in self._known | held:
                what = "MindSpore tells of an error that is not known here, so its own words count"
                yield Trouble(who, line.place(), _CASCADE, what, known_as="mindspore.unknown")

    def _roll(self) -> Iterator[Fact]:
        """Who has not come, where all who came are known by their numbers."""
        for who, line in self._late.items():
            if who in self._built:
                continue
            what = "not all workers have come to the scheduler in time"
            if self._size:
                what = f"only {self._numbered} of {self._size} workers have come to the scheduler in time"
            remedy = (
                "the logs of those that have not come: they must be started on all hosts, with one --master_addr",
            )
            yield Trouble(who, line.place(), Level.TIMEOUT, what, remedy=remedy, known_as="mindspore.late")
            numbers = {rank for node, rank in self._ranks.items() if node == str(rank)}
            if len(numbers) == len(self._ranks) == self._numbered and self._size <= MOST_RANKS:
                absent = tuple(Who(rank=rank) for rank in range(self._size) if rank not in numbers)
                present = tuple(Who(rank=rank) for rank in sorted(numbers))
                if absent and present:
                    yield Absent(line.place(), absent, present, op="init", by=who)

    def _missed(self) -> Iterator[Fact]:
        """Who is not heard any more has ended, or was ended with others."""
        for node, line in self._lost.items():
            rank = self._ranks.get(node, int(node[:7]) if node.isdecimal() else None)
            name = f"worker {node}" if rank is None else f"rank {rank}"
            if self._ended:
                what = f"the scheduler does not hear {name} any more, after msrun had begun to end workers"
                yield Trouble(line.who, line.place(), _TEARDOWN, what, known_as="mindspore.lost")
                continue
            what = f"the scheduler does not hear {name} any more: it has ended, was ended, or cannot be reached"
            yield Trouble(
                line.who, line.place(), Level.TIMEOUT, what, remedy=(_ENDED_FIRST,), known_as="mindspore.lost"
            )
            if rank is not None and self._apart():
                lost = {self._ranks.get(other) for other in self._lost}
                heard = tuple(Who(rank=one) for one in sorted(set(self._ranks.values()) - lost - {rank}))
                yield Absent(line.place(), (Who(rank=rank),), heard, by=line.who, sure=False)

    def _apart(self) -> bool:
        """Whether those who are lost are the fewer, or all of some hosts and none of others."""
        lost = {self._hosts.get(node) for node in self._lost}
        others = {host for node, host in self._hosts.items() if node not in self._lost}
        whole_hosts = None not in lost and "" not in lost and bool(others) and not lost & others
        return whole_hosts or len(self._lost) * 2 < max(len(self._ranks), self._size, 3)


_HANDLERS: Mapping[str, Callable[[MindSpore, Line], Iterable[Fact]]] = {
    "The new node: ": MindSpore.came,
    "new rank id: ": MindSpore.ranked,
    "This node ": MindSpore.built,
    "Cluster is successfully initialized": MindSpore.built,
    "Topology build timed out": MindSpore.late,
    "Start Scheduler node timeout": MindSpore.late,
    "connect to the meta server node url": MindSpore.tried,
    "The node: ": MindSpore.lost,
    "Worker process ": MindSpore.gone,
}
"""A piece of the text -> who reads it."""
