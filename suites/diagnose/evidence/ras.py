"""What NCCL's RAS subsystem answers as text: `ncclras -v`, `echo verbose status | nc localhost 28028`, and what
`ncclras -m` tells of while it watches.

    #0-0 (feedc0de12345678) MISMATCH
      Communicator ranks have different AllReduce operation counts
      7 ranks have launched up to operation 64
      Rank 7 has launched up to operation 60 -- GPU 3 managed by process 4711 on node 192.0.2.1

The forms are those of src/ras/client_support.cc of NCCL. It lists the minority, who may be ahead. Numbers of ranks
beyond the communicator's size, which some versions print, make an answer worthless.
May import: facts, line, nccl_calls, operations, ras_facts, ranks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.nccl_calls import communicator
from suites.diagnose.evidence.operations import operation
from suites.diagnose.evidence.ras_facts import IMPOSSIBLE, MOST_RANKS, behind, dead, failed
from suites.diagnose.facts import Absent, Fact, Group, Identity, Seen, Unread, Who
from suites.diagnose.ranks import listed

_COMMUNICATOR = re.compile(r"(?<!\S)#(?P<row>\d{1,4})-\d{1,4} \((?P<key>[0-9a-f]{8,16})\) [A-Z,]{2,40}\s*$")
_SUMMARY = re.compile(
    r"(?<!\S)(?P<row>\d{1,4})\s{1,40}\d{1,9}\s{1,40}\d{1,9}\s{1,40}[\d-]{1,20}\s{1,40}(?P<size>\d{1,9})\s{1,40}\d{1,9}\s{1,40}"
    r"(?:NOCOMM|INIT|RUNNING|FINALIZE|ABORT)\b"
)
"""A row of the table above: how many ranks a communicator of that kind has."""
_JOB = re.compile(r"^\s{0,40}(?:DEAD|INCOMPLETE|TIMEOUT)\s*$")
"""Of processes, whichever communicators they are in."""
_DIFFERENT = re.compile(r"ranks have different (?P<op>\w{2,40}) operation counts")
_LAUNCHED = (
    r"(?:ha(?:ve|s) launched up to operation (?P<seq>\d{1,18})|ha(?:ve|s) (?P<none>not launched) any operations)"
)
_SOME = re.compile(rf"(?<!\S)(?P<number>\d{{1,9}}) ranks? (?:{_LAUNCHED}|reported (?P<error>[\w ]{{2,60}}))")
_MISSING = re.compile(r"Missing communicator data from (?P<number>\d{1,9}) (?P<what>ranks?|job process)")
_UNNAMED = re.compile(r"The missing ranks?: (?P<ranks>[\d, ]{1,4000})")
_DEAD = re.compile(r"\d{1,9} job process(?:es)? (?:is|are) considered dead")
_PROCESS = re.compile(
    r"Process (?P<pid>\d{1,10}) on node (?P<node>\S{1,255}) managing GPUs? (?P<gpu>\d{1,4})(?P<more>,\d)?"
)
_RANK = re.compile(
    rf"Rank (?P<rank>\d{{1,12}}) (?:{_LAUNCHED} |has status \w{{1,20}} |reported (?P<error>[\w ]{{2,60}}) )?--"
    r"(?: GPU (?P<gpu>\d{1,4})(?: \(NVML \d{1,4}\))? managed by process (?P<pid>\d{1,10}) on node (?P<node>\S{1,255}))?"
)

_JOINED = re.compile(r"(?<=\S)  (?=Rank \d|\d{1,9} ranks? ha|Communicator ranks|Missing comm|Process \d|#\d{1,4}-\d)")
"""Lines of equal width look as if something had broken them at it."""

Kind = Literal["counts", "missing", "dead", "error", "other"]


@dataclass(slots=True)
class _Part:
    """Of an answer, up to the next empty line: who is listed is listed for one reason."""

    line: Line
    kind: Kind = "other"
    op: str = "unknown"
    error: str = ""
    numbers: dict[int, int] = field(default_factory=dict)
    """Operation -> how many ranks have launched up to it."""
    at: int | None = None
    """What is listed next."""
    listed: dict[int, list[Who]] = field(default_factory=lambda: defaultdict(list))
    absent: list[Who] = field(default_factory=list)


@dataclass(slots=True)
class RasText:
    """Of one source, which may hold several answers."""

    wakes: tuple[str, ...] = (
        ") MISMATCH", ") INCOMPLETE", ") ERROR", ") OK", "operation counts", "job process", "PEER_DEAD: ", "RUNNING ",
        "FINALIZE ", "ABORT ", "INIT ", "NOCOMM ",
    )  # fmt: skip
    awake: bool = False
    _key: str | None = None
    _row: str = ""
    _sizes: dict[str, int] = field(default_factory=dict)
    """By row of the table."""
    _lacking: Counter[str] = field(default_factory=Counter)
    """Ranks of each communicator that did not answer."""
    _given_up: list[Who] = field(default_factory=list)
    """Processes that are considered dead."""
    _silent: _Part | None = None
    """Processes that do not answer: ranks of a communicator that do not may be the same."""
    _part: _Part | None = None
    _broken: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        for text in _JOINED.split(line.text):
            yield from self._heard(replace(line, text=text))

    def _heard(self, line: Line) -> Iterable[Fact]:
        if found := _SUMMARY.search(line.text):
            yield from self._close()
            yield from self._unplaced()
            self._key, self._broken = None, False
            self._lacking.clear()
            self._sizes[found["row"]] = int(found["size"])
        elif found := _COMMUNICATOR.search(line.text):
            yield from self._close()
            self._key, self._row, self._broken = communicator(found["key"]), found["row"], False
            self._open(line, "other")
            yield Seen(line.place(), "answer of NCCL RAS")
        elif not line.text.strip():
            yield from self._close()
        elif "PEER_DEAD: " in line.text:
            if found := _PROCESS.search(line.text):
                yield from dead(_process(found), line.place())
        else:
            yield from self._told(line)

    def _told(self, line: Line) -> Iterable[Fact]:
        if "ranks have different status" in line.text and self._key is not None:
            yield Unread(
                line.file, "ranks of a communicator are in different states: some leave it, or have aborted it"
            )
        if found := _DIFFERENT.search(line.text):
            yield from self._close()
            if self._key is not None:
                self._open(line, "counts").op = operation(found["op"])
        elif found := _MISSING.search(line.text):
            yield from self._close()
            of_ranks = found["what"].startswith("rank")
            if self._key is not None and of_ranks:
                self._lacking[self._key] += int(found["number"])
            if self._key is not None or not of_ranks:
                self._open(line, "missing")
        elif _DEAD.search(line.text):
            yield from self._close()
            self._key, self._given_up = None, []
            self._open(line, "dead")
            yield Seen(line.place(), "answer of NCCL RAS")
        elif self._part is not None:
            yield from self._listed(self._part, line)

    def _listed(self, part: _Part, line: Line) -> Iterable[Fact]:
        if found := _SOME.search(line.text):
            part.at = _count(found)
            if part.at is not None:
                part.numbers[part.at] = int(found["number"])
            else:
                part.kind, part.error = "error", found["error"].strip()
        elif found := _RANK.search(line.text):
            yield from self._rank(part, found, line)
        elif found := _UNNAMED.search(line.text):
            for rank in listed(found["ranks"]):
                self._take_absent(part, Who(group=self._key, group_rank=rank))
        elif found := _PROCESS.search(line.text):
            if part.kind == "dead":
                self._given_up.append(_process(found))
                yield from dead(_process(found), line.place())
            elif part.kind == "missing":
                part.absent.append(_process(found))
        elif _JOB.search(line.text):
            self._key = None

    def _rank(self, part: _Part, found: re.Match[str], line: Line) -> Iterable[Fact]:
        who = Who(
            host=found["node"], pid=int(found["pid"]) if found["pid"] else None,
            device=f"gpu{found['gpu']}" if found["gpu"] else None, group=self._key, group_rank=int(found["rank"]),
        )  # fmt: skip
        if self._key is None or self._is_impossible(who):
            self._broken |= self._key is not None
            return
        yield Identity(who, line.place())
        if (alone := _count(found)) is not None:
            part.numbers[alone] = 1
            part.listed[alone].append(who)
        elif found["error"] or part.kind == "error":
            yield from failed(who, line.place(), (found["error"] or part.error).strip())
        elif part.kind == "missing":
            part.absent.append(who)
        elif part.kind == "counts" and part.at is not None:
            part.listed[part.at].append(who)

    def _take_absent(self, part: _Part, who: Who) -> None:
        if self._is_impossible(who):
            self._broken = True
        else:
            part.absent.append(who)

    def _is_impossible(self, who: Who) -> bool:
        return (who.group_rank or 0) >= (self._sizes.get(self._row) or MOST_RANKS)

    def _open(self, line: Line, kind: Kind) -> _Part:
        self._part, self.awake = _Part(line, kind), True
        return self._part

    def _close(self) -> Iterable[Fact]:
        part, self._part, self.awake = self._part, None, False
        if part is None:
            return
        if self._broken:
            self._broken = False
            yield Unread(part.line.file, IMPOSSIBLE)
            return
        if part.absent and self._key is None:
            self._silent = part
        elif part.absent:
            if self._silent and len(part.absent) == len(self._silent.absent) == 1 and part.absent[0].pid is None:
                same = replace(self._silent.absent[0], group=part.absent[0].group, group_rank=part.absent[0].group_rank)
                yield Identity(same, part.line.place())
            self._silent = None
            if len(part.absent) == len(self._given_up) == 1 and (only := part.absent[0]).pid is None:
                yield Identity(
                    replace(self._given_up[0], group=only.group, group_rank=only.group_rank), part.line.place()
                )
            if self._key is not None and (size := self._sizes.get(self._row)):
                yield self._group(self._key, part.line, size)
            yield Absent(part.line.place(), tuple(part.absent), group=self._key)
        elif part.kind == "missing":
            yield Unread(part.line.file, "ranks do not answer NCCL RAS, and are not listed")
        if part.kind == "counts" and self._key is not None:
            yield from self._counted(part, self._key)

    def _counted(self, part: _Part, key: str) -> Iterator[Fact]:
        place, told = part.line.place(), sum(part.numbers.values())
        size = self._sizes.get(self._row) or told + self._lacking[key]
        yield self._group(key, part.line, size or None)
        # Who is not listed can be told only where all ranks of the communicator have answered.
        everybody = range(told) if told == size and not self._lacking[key] else range(0)
        yield from behind(key, part.op, place, {at: _at(part, at, key, everybody) for at in part.numbers})

    def _group(self, key: str, line: Line, size: int | None) -> Group:
        return Group(key, line.place(), f"communicator {key.removeprefix('comm ')}", size)

    def _unplaced(self) -> Iterable[Fact]:
        """Processes that do not answer, where no communicator tells whose ranks they are."""
        if self._silent is not None:
            yield Absent(self._silent.line.place(), tuple(self._silent.absent))
        self._silent = None

    def end(self) -> Iterable[Fact]:
        yield from self._close()
        yield from self._unplaced()


def _count(found: re.Match[str]) -> int | None:
    return int(found["seq"]) if found["seq"] else 0 if found["none"] else None


def _process(found: re.Match[str]) -> Who:
    return Who(host=found["node"], pid=int(found["pid"]), device=None if found["more"] else f"gpu{found['gpu']}")


def _at(part: _Part, at: int, key: str, everybody: range) -> list[Who]:
    """Those listed at a count, or all others where all others are listed."""
    if len(part.listed[at]) == part.numbers[at]:
        return part.listed[at]
    elsewhere = {who.group_rank for count, some in part.listed.items() if count != at for who in some}
    others = [Who(group=key, group_rank=rank) for rank in everybody if rank not in elsewhere]
    return others if len(others) == part.numbers[at] else []
