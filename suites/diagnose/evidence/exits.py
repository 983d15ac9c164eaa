"""Ends of processes, as launchers tell them: torchrun, srun, Open MPI, PRRTE, MPICH, Intel MPI, containers.

May import: facts, known, line, ranks.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from suites.diagnose.evidence.known import people
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import NOBODY, Ended, Fact, Identity, Level, Trouble, Who
from suites.diagnose.ranks import ranged

SIGNALS = {
    "Killed": signal.SIGKILL,
    "Out Of Memory": signal.SIGKILL,
    "Terminated": signal.SIGTERM,
    "Segmentation fault": signal.SIGSEGV,
    "Aborted": signal.SIGABRT,
    "Bus error": signal.SIGBUS,
    "Floating point exception": signal.SIGFPE,
    "Floating-point exception": signal.SIGFPE,
    "Illegal instruction": signal.SIGILL,
}
"""What launchers, shells and Python call them."""
_NAMES = "|".join(SIGNALS)
_NOTICED = (
    r"(?P<first>process rank) (?P<rank>\d{1,9}) with PID (?:0|(?P<pid>[1-9]\d{0,8})) on node (?P<host>[\w.-]+) "
    r"exited on"
)
_HOST = r"(?P<host>[A-Za-z][\w.-]{0,252})"
_CHILD = (
    r"\(rank: (?P<rank>\d{1,9}), pid: (?P<pid>\d{1,9})\) "
    r"(?:exited with status (?P<code>\d{1,3})|terminated with signal (?P<signal>\d{1,3}))"
)
_LEFT = r"exited with code (?P<code>\d{1,3})"
_SRUN = r"srun: error: (?P<host>[\w.-]+): tasks? (?P<ranks>\d[\d,-]{0,2000}): "
_PATTERNS = (
    r"failed \(exitcode: (?P<code>-?\d{1,9})\) local_rank: (?P<local_rank>\d{1,9}) \(pid: (?P<pid>\d{1,9})\)",
    rf"{_SRUN}Exited with exit code (?P<code>\d{{1,9}})",
    rf"{_SRUN}(?P<name>{_NAMES})",
    rf"{_NOTICED} signal (?P<signal>\d{{1,3}})",
    r"^\s{0,9}Abort\((?P<code>\d{1,9})\) on node \d{1,9} \(rank (?P<rank>\d{1,9}) in comm 0\)(?!: Fatal error in )",
    r"application called MPI_Abort\(MPI_COMM_WORLD, (?P<code>-?\d{1,9})\) - process (?P<rank>\d{1,9})\b",
    r"^Process (?P<rank>\d{1,9}) exit with status code (?P<code>\d{1,3})\b",
    rf"\d{{1,9}} {{1,9}}(?P<name>{_NAMES}) .{{0,400}}?\bHOROVOD_RANK=(?P<rank>\d{{1,9}})\b",
    # PRRTE, where it is not in a line of its own
    r"^\s{0,9}Process name: \[[^\]\s]{1,99}@1,(?P<rank>\d{1,9})\] Exit code: {1,9}(?P<code>\d{1,9})",
    # MVAPICH's mpirun_rsh, HPE's PALS, IBM's jsrun, Cray's aprun, ansible
    rf"^\[{_HOST}:mpispawn_\d{{1,7}}\]\[child_handler\] MPI process {_CHILD}",
    rf"^(?:{_HOST}: )?rank (?P<rank>\d{{1,9}}) (?:died from signal (?P<signal>\d{{1,3}})|{_LEFT})\b",
    r"\(first noticed rank (?P<rank>\d{1,9})\) terminated with signal (?P<signal>\d{1,3})",
    # paddle.distributed.launch, which counts those of its own host
    r"^Container rank (?P<local_rank>\d{1,5}) status failed cmd .{0,2000}? code (?P<code>-?\d{1,5}) log ",
    r"the trainer process with rank=\[(?P<ranks>\d[\d, ]{0,2000})\] was aborted",
    # Intel's Hydra, of all that it had started on a host
    (
        rf"\bdownstream from host {_HOST} (?:was killed by signal (?P<signal>\d{{1,3}})|"
        r"exited with status (?P<code>\d{1,3}))"
    ),
    rf"\[NID \d{{1,9}}\].{{0,80}} PE RANK (?P<rank>\d{{1,9}}) exit signal (?P<name>{_NAMES})",
    rf"^(?:{_HOST} \| )?FAILED \| rc=(?P<code>\d{{1,3}}) >>",
    # a shell, of what its script has started; others of its programs are no ranks
    (
        rf": line \d{{1,7}}:\s{{1,9}}(?P<pid>\d{{1,9}}) (?P<name>{_NAMES})\b(?!.*HOROVOD_RANK=)"
        r".{1,200}?\b(?:python[\d.]{0,6}|torchrun|accelerate|deepspeed|msrun) "
    ),
    r"^(?P<host>[A-Za-z][\w.-]{0,100}[-_]\d{1,5}) exited with code (?P<code>\d{1,3})$",
    r"\brecord state: (?P<host>[\w.-]{1,253})\[(?P<local_rank>\d{1,4})\] = FAILURE",
)
"""Only ends that name who ended."""
_INDEX, _SIGNAL = r"(?P<local_rank>\d{1,7})", "(?P<signal_name>SIG[A-Z]{2,6})"
_CHILDREN = (
    r"\[rank: (?P<rank>\d{1,9})\] Child process with PID (?P<pid>\d{1,8}) terminated with code (?P<code>-?\d{1,9})",
    r"Worker proc VllmWorker-(?P<rank>\d{1,9}) died unexpectedly",
    rf"ProcessExitedException: process {_INDEX} terminated with (?:exit code (?P<code>-?\d{{1,9}})|signal {_SIGNAL})",
    r"RayWorkerProc rank=\[(?P<ranks>\d[\d, ]{0,2000})\] died unexpectedly",
)
"""Those that their parent tells, which is another process of the job: Lightning's launcher, torch.multiprocessing,
vLLM's executors."""
_ELASTIC = "torch.distributed.elastic"
_PATIENCE = 20.0
"""Seconds: torchrun gives those who are left half a minute to end, and then kills them."""
_MADE_TO_END = "torchrun killed it, since it did not end when another one had failed"
_MOST_BARE = 4096
_EXITS = tuple((re.compile(pattern), pattern in _CHILDREN) for pattern in (*_PATTERNS, *_CHILDREN))

_TIME = re.compile(r"^\s*time\s{1,20}: (?P<time>\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)\s*$")
_BLOCKS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*host\s{1,20}: (?P<host>[\w.-]+)",
        r"(?:\bRANK (?P<rank>\d{1,9}) )?\bPID (?P<pid>\d{1,9}) RUNNING AT (?P<host>[\w.-]+)",
        r"^\s*Process name: \[(?:\[\d{1,9},1\],|[^\]\s]{1,99}@1,)(?P<rank>\d{1,9})\](?! Exit code)",
        r"^\s*Process name: (?P<rank>\d{1,9})\s*$",
        (
            r"MPI_ABORT was invoked on rank (?P<rank>\d{1,9}) in communicator MPI(?:_?\w*[Ww][Oo][Rr][Ll][Dd]| "
            r"COMMUNICATOR \d{1,9} DUP FROM 0\b)"
        ),
        rf"{_NOTICED}\s*$",
    )
)
"""What a block of several lines begins with, and whom it is about."""
_RANK = re.compile(r"^\s*rank\s{1,20}: (?P<rank>\d{1,9}) \(local_rank: (?P<local_rank>\d{1,9})\)")
_ENDS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*exitcode\s{1,20}: (?P<code>-?\d{1,9}) \(pid: (?P<pid>\d{1,9})\)",
        r"(?:EXIT CODE|EXIT STATUS|Exit code|[Ee]rrorcode):?\s{1,20}(?P<code>\d{1,9})",
        r"KILLED BY SIGNAL: (?P<signal>\d{1,3})",
        r"^\s*signal (?P<signal>\d{1,3}) \(",
    )
)
"""What such a block ends with."""
_OF_HYDRA = re.compile(r"^=\s{1,9}(?:EXIT|KILLED)")
_HYDRA_STRING = re.compile(r"THE EXIT STRING: [\w -]{1,60}\(signal (?P<signal>\d{1,3})\)")
_KILLED_ALONG = "mpiexec ended it, since another one had ended"
_ENDED_FROM_OUTSIDE = "somebody, or a batch system, has ended the job: mpiexec itself sends no SIGTERM"
_BY_HYDRA = frozenset((signal.SIGKILL, signal.SIGTERM))


@dataclass(frozen=True, slots=True)
class _Block:
    """What was told of one process."""

    who: Who = NOBODY
    time: float | None = None
    first: bool = False


@dataclass(slots=True)
class Exits:
    """What a block says of one process is gathered until its code, by who wrote the block."""

    wakes: tuple[str, ...] = (
        "exitcode", "srun: error:", "exited on", "MPI_ABORT", "host  ", "rank  ", "RUNNING AT", "EXIT CODE",
        "EXIT STATUS", "EXIT STRING", "time  ", "Process name: ", "Exit code: ", "rrorcode", "KILLED BY SIGNAL",
        "Abort(", "exited with code", "exit with status code", "HOROVOD_RANK=",
        "MPI process (rank: ", "died from signal", "FAILED | rc=",
        "signal ", _ELASTIC, "downstream from host ",
        "Container rank ", "trainer process with rank=", ": line ", "= FAILURE",
        "Child process with PID", "died unexpectedly", "ProcessExitedException",
    )  # fmt: skip
    awake: bool = False
    _torchrun: bool = False
    """Tasks of srun are launchers of several ranks, whose ends these tell themselves."""
    _blocks: dict[Who, _Block] = field(default_factory=dict)
    _timed: list[tuple[float, Ended]] = field(default_factory=list)
    """Of what lists the failures of several processes, in no order of time."""
    _hydra: list[Ended] = field(default_factory=list)
    """Of what mpiexec says of processes that it may have ended itself, in no order."""
    _bare: set[int] = field(default_factory=set)
    """Processes that were told to have ended by their number alone."""

    def feed(self, line: Line) -> Iterable[Fact]:
        self._torchrun = self._torchrun or _ELASTIC in line.text
        for pattern, of_child in _EXITS:
            if found := pattern.search(line.text):
                speaker = Who(host=line.who.host) if of_child else line.who
                if not (self._torchrun and line.text.startswith("srun: error:")):
                    who = merged(speaker, people(found))
                    if who.pid is not None and who.rank is None and who.host is None and len(self._bare) < _MOST_BARE:
                        self._bare.add(who.pid)
                    yield from _ended(line, who, found)
                return
        for pattern in _BLOCKS:
            if found := pattern.search(line.text):
                # What was left open belongs to another process; only the time stands before the host.
                before = self._blocks.get(line.who, _Block())
                time = before.time if before.who == NOBODY else None
                self._blocks[line.who] = _Block(people(found), time, "first" in found.groupdict())
                return
        yield from self._within(line)

    def _within(self, line: Line) -> Iterable[Fact]:
        block = self._blocks.get(line.who, _Block())
        if found := _TIME.match(line.text):
            self._blocks[line.who] = _Block(time=_seconds(found["time"]))
        elif found := _RANK.match(line.text):
            self._blocks[line.who] = replace(block, who=merged(block.who, people(found)))
        elif found := _HYDRA_STRING.search(line.text):
            number = int(found["signal"])
            codes = (number, 128 + number)
            self._hydra = [replace(one, code=None, signal=number) if one.code in codes else one for one in self._hydra]
        elif found := next((found for pattern in _ENDS if (found := pattern.search(line.text))), None):
            self._blocks.pop(line.who, None)
            who = merged(block.who, people(found))
            ended = _ended(line, who, found, first=block.first) if who != NOBODY else ()
            if _OF_HYDRA.match(line.text):
                self._hydra += ended
            elif block.time is None:
                yield from ended
            else:
                self._timed += [(block.time, one) for one in ended]

    def end(self) -> Iterable[Fact]:
        """A time of the end of a process only orders such ends: what says why has mostly none."""
        yield from self._named()
        yield from self._left_of_hydra()
        killed: dict[str | None, float] = {}
        first: dict[str | None, float] = {}
        for time, ended in sorted(self._timed, key=lambda one: one[0]):
            began = first.setdefault(ended.who.host, time)
            by_signal = ended.signal == signal.SIGKILL
            if by_signal and (time - began >= _PATIENCE or time > killed.setdefault(ended.who.host, time)):
                yield Trouble(ended.who, ended.place, Level.TEARDOWN, _MADE_TO_END, known_as="torchrun.killed")
            else:
                yield ended

    def _left_of_hydra(self) -> Iterable[Fact]:
        """Where one has ended otherwise, those who were killed are those whom mpiexec has ended then. It sends no
        SIGTERM: where some got that, a batch system or somebody has ended all of them, by SIGKILL in the end."""
        numbers = [one.signal or (one.code or 0) - 128 for one in self._hydra]
        others = sum(number not in _BY_HYDRA for number in numbers)
        why = _KILLED_ALONG if others else _ENDED_FROM_OUTSIDE
        from_outside = not others and signal.SIGTERM in numbers
        for one, number in zip(self._hydra, numbers, strict=True):
            if number not in _BY_HYDRA:
                yield replace(one, first=others == 1)
            elif others or from_outside:
                yield Trouble(one.who, one.place, Level.TEARDOWN, why, known_as="hydra.killed")
            else:
                yield one

    def _named(self) -> Iterable[Fact]:
        """Whom torchrun has told of by number, its report tells the rank of."""
        told: dict[int, set[Who]] = {}
        for _, ended in self._timed:
            if ended.who.pid in self._bare and ended.who.rank is not None:
                told.setdefault(ended.who.pid, set()).add(ended.who)
        for pid, (who, *others) in told.items():
            if not others:
                place = next(ended.place for _, ended in self._timed if ended.who == who)
                yield Identity(Who(rank=who.rank, pid=pid), place)


def _ended(line: Line, who: Who, found: re.Match[str], *, first: bool = False) -> Iterable[Ended]:
    told = found.groupdict()
    first = first or "first" in told
    code = int(told["code"]) if told.get("code") else None
    number = int(told["signal"]) if told.get("signal") else None
    if name := told.get("name"):
        number = int(SIGNALS[name])
    elif name := told.get("signal_name"):
        number = next((int(one) for one in signal.Signals if one.name == name), None)
    elif code is not None and code < 0:
        number, code = -code, None  # as launchers written in Python tell a signal
    who = replace(who, group=None, group_rank=None)
    for rank in ranged(told["ranks"].replace(" ", "")) if told.get("ranks") else (who.rank,):
        yield Ended(replace(who, rank=rank), line.place(), code, number, first)


def _seconds(text: str) -> float | None:
    """By the clock of the host, as if it were UTC."""
    try:
        return datetime.strptime(text, "%Y-%m-%d_%H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
