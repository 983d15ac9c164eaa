"""What is complained of, by how close to the cause it is and when it was said: the first of all, and what follows.

May import: cleanups, facts, people, recovered, words.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from suites.diagnose.cleanups import told_apart
from suites.diagnose.facts import (
    NOBODY,
    Call,
    Class,
    Disagreement,
    Ended,
    Fact,
    Level,
    Place,
    Raised,
    Subject,
    Trouble,
    Waiting,
    Who,
)
from suites.diagnose.people import People
from suites.diagnose.recovered import came_back

_CONSEQUENCE = re.compile(
    r"time[d ]?.?out|timeout|watchdog|remote ?error|closed by (?:remote )?peer|connection (?:was )?(?:reset|closed)|"
    r"broken pipe|aborted|DistBackendError|NCCL communicator was aborted|ERR\d{5}|ChildFailedError|"
    r"failed to pass monitoredBarrier|mismatch between collectives|socket|"
    r"CheckpointException ranks|NCCL operation .{1,200} failed: |DEADLINE_EXCEEDED: |UNAVAILABLE: |ABORTED: |"
    r"coordination service",
    re.IGNORECASE,
)
"""In the words of an exception: others are why."""
_RENDEZVOUS = re.compile(r"^Rendezvous\w{1,20}Error$")
_PROGRAMS = frozenset((
    "KeyError", "TypeError", "ValueError", "AttributeError", "NameError", "UnboundLocalError", "IndexError",
    "ImportError", "ModuleNotFoundError", "FileNotFoundError", "NotImplementedError", "SyntaxError",
))  # fmt: skip
"""Of the program, whatever word stands in them: `unexpected keyword argument 'timeout'` is no time-out."""
_OF_SERVICES = re.compile(
    r"^(?:requests|urllib3?|http|httpx|httpcore|aiohttp|huggingface_hub|botocore|boto3|openai|google|azure|fsspec)\."
)
"""Libraries whose peers are servers, and no ranks."""
_OF_NAMES = re.compile(r"(?:^|\.)(?:gaierror|herror)$")
"""A name that its own host could not look up."""
_OF_PYTHON = re.compile(r"(?:^|\.)(?:TimeoutError|timeout|BrokenPipeError|Connection\w{0,20}Error)$")
_AMONG_RANKS = re.compile(
    r"torch|multiproc|\bray\b|vllm|sglang|deepspeed|megatron|verl|horovod|mpi4py|asyncio|concurrent|zmq|rpc|[cg]loo",
    re.IGNORECASE,
)
"""Files in which processes of a job wait for each other."""
_OF_LAUNCHERS = re.compile(
    r"CalledProcessError: Command .{0,200}?[\[\s/'](?:python[\d.]{0,6}|torchrun|deepspeed|accelerate|mpirun|srun)[\s']"
)
"""What starts ranks tells so that one of them has failed, and nothing of why."""
_LEAVING = frozenset(("KeyboardInterrupt", "SystemExit", "GeneratorExit", "SignalException", "CancelledError"))
_ENDED_BY_OTHERS = frozenset((signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
_OUT_OF_MEMORY = frozenset(
    ("kernel.out_of_memory", "srun.oom", "srun.oom_task", "kubernetes.oom", "ray.memory", "flux.oom")
)
"""Rows of what is said where a process is killed for want of memory, mostly without its rank."""
_OF_KERNEL = "kernel.segfault"
_FAULTS = frozenset((_OF_KERNEL, "glibc.heap", "glibc.assertion", "shell.signal"))
"""Rows of what is said where a process breaks down."""
_KEPT = frozenset(("device", "resource", "config", "launch"))
"""Causes that are no consequence, whenever they are said."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """`person` says it, and `about` are at fault if it is the first of all."""

    person: int | None
    place: Place
    level: Level
    what: str
    cause: Class | None
    about: tuple[Subject, ...]
    remedy: tuple[str, ...]
    order: int
    """In which it stands in the files."""
    end: bool = False
    """A launcher tells it of a process that has left: why, the process itself may have said."""
    raised: bool = False
    """It is an exception."""
    killed: bool = False
    """Its process was ended by SIGKILL."""
    first_abort: bool = False
    """Its process aborted, and was the first to end of all that its launcher saw."""

    @property
    def key(self) -> tuple[int, float, bool, int]:
        return (self.level, float("inf") if self.place.time is None else self.place.time, self.end, self.order)


def _process_of(fact: Ended, person: int | None) -> str:
    """In words, of whom no rank is known."""
    host = fact.who.host
    if person is None and fact.who.local_rank is not None:
        return f"the process of local rank {fact.who.local_rank}{f' on {host}' if host else ''}"
    return "its process" if person is not None else f"on {host} a process" if host else "a process"


@dataclass(frozen=True, slots=True)
class _Short:
    """Where memory ran out; a host of None is one that is not known. Who was killed for it may be told by number."""

    hosts: frozenset[str | None]
    people: frozenset[int | None]

    def had(self, host: str | None, person: int | None) -> bool:
        """Whether a process that was killed was killed for want of memory."""
        return person in self.people or bool(self.hosts & {host, None})


def complaints(facts: Sequence[Fact], people: People) -> list[Complaint]:
    """The first cause first."""
    told = {(fact.place.file, fact.place.line) for fact in facts if isinstance(fact, Trouble | Disagreement | Call)}
    waiting = {
        people.number(fact.who, fact.place.file)
        for fact in facts
        if (isinstance(fact, Call) and fact.state == "pending") or isinstance(fact, Waiting)
    }
    starved = [fact for fact in facts if isinstance(fact, Trouble) and fact.known_as in _OUT_OF_MEMORY]
    short = _Short(
        frozenset(fact.who.host for fact in starved),
        frozenset(people.number(fact.who) for fact in starved if fact.who.pid is not None) - {None},
    )
    found = []
    said = _as_written(facts)
    for order, fact in enumerate(said):
        match fact:
            case Trouble():
                found.append(_of_trouble(fact, people, order))
            case Raised() if (fact.place.file, fact.place.line) not in told:
                found.append(_of_raised(fact, people, order, bool(waiting)))
            case Ended():
                found += _of_ended(fact, people, order, waiting, short)
    found = _with_abort(told_apart(came_back(_without_late_faults(found, said), said), said, people))
    return sorted(_demoted(_explained(found, people)), key=lambda complaint: complaint.key)


def _as_written(facts: Sequence[Fact]) -> list[Trouble | Raised | Ended]:
    """What can be complained of. Readers that wait for more tell late what stands early in a file; and whose a line is
    that names an exception, may stand before the first of its traceback only."""
    raised = {(fact.place.file, fact.place.line): fact.who for fact in facts if isinstance(fact, Raised)}
    said = [
        _said_by(fact, raised.get((fact.place.file, fact.place.line), NOBODY)) if isinstance(fact, Trouble) else fact
        for fact in facts
        if isinstance(fact, Trouble | Raised | Ended)
    ]
    files = {name: number for number, name in enumerate(dict.fromkeys(fact.place.file for fact in said))}
    return sorted(said, key=lambda fact: (files[fact.place.file], fact.place.line or 0))


def _said_by(fact: Trouble, who: Who) -> Trouble:
    if fact.who != NOBODY or who == NOBODY:
        return fact
    about = (replace(subject, who=who) if subject.who == NOBODY else subject for subject in fact.about)
    return replace(fact, who=who, about=tuple(about))


def _of_trouble(fact: Trouble, people: People, order: int) -> Complaint:
    person = people.number(fact.who, fact.place.file)
    return Complaint(person, fact.place, fact.level, fact.what, fact.cause, fact.about, fact.remedy, order)


def _of_raised(fact: Raised, people: People, order: int, others_wait: bool) -> Complaint:
    words = f"{fact.error}: {fact.message}" if fact.message else fact.error
    level = Level.INITIATING
    if fact.error.rpartition(".")[2] in _LEAVING:
        level = Level.TEARDOWN
    elif _RENDEZVOUS.match(fact.error.rpartition(".")[2]) or (_CONSEQUENCE.search(words) and not _is_own(fact)):
        level = Level.CASCADE
    elif _OF_LAUNCHERS.search(words):
        level = Level.CASCADE if others_wait or "SIGABRT" in words else Level.TRANSPORT
    where = f" at {fact.frames[0].file}:{fact.frames[0].line} in {fact.frames[0].function}" if fact.frames else ""
    return Complaint(
        people.number(fact.who, fact.place.file), fact.place, level, f"an exception{where}: {words[:200]}",
        "crashed" if level <= Level.TRANSPORT else None,
        () if level == Level.TRANSPORT else (Subject("rank", fact.who),),
        ("the traceback there: what raised it",), order, raised=True,
    )  # fmt: skip


def _is_own(fact: Raised) -> bool:
    """Whether an exception that tells of a time-out or of a connection has nothing to do with other ranks."""
    if fact.error in _PROGRAMS or _OF_SERVICES.match(fact.error) or _OF_NAMES.search(fact.error):
        return True
    among_ranks = any(_AMONG_RANKS.search(frame.file) for frame in fact.frames)
    return bool(fact.frames) and not among_ranks and _OF_PYTHON.search(fact.error) is not None


def _of_ended(fact: Ended, people: People, order: int, waiting: Set[int | None], short: _Short) -> Iterable[Complaint]:
    person = people.number(fact.who, fact.place.file)
    number = fact.signal if fact.signal is not None else _signal_of(fact.code)
    if number is None and fact.code == 0:
        return
    ended = "has ended, and nobody tells how" if fact.code is None else f"left with exit {fact.code}"
    if number is not None:
        ended = f"was ended by {_name(number)}"
    level = Level.INITIATING
    if number in _ENDED_BY_OTHERS:
        level = Level.TEARDOWN
    elif number == signal.SIGABRT or (person is not None and person in waiting):
        level = Level.CASCADE  # libraries end so what has waited too long
    elif number is None:
        level = Level.TRANSPORT  # many reasons end in an exit code, those of others too
    cause: Class | None = "crashed" if level <= Level.TRANSPORT else None
    remedy: tuple[str, ...] = ()
    if number == signal.SIGKILL:
        remedy = ("`dmesg | grep -i oom` and the memory limit of the job",)
        if cause and short.had(fact.who.host, person):
            cause, ended = "resource", f"{ended} when memory ran out"
    alone = fact.who.host if person is None else None
    yield Complaint(
        person, fact.place, level, f"{_process_of(fact, person)} {ended}", cause,
        (Subject("host" if alone else "rank", fact.who),), remedy, order, number is None,
        killed=number == signal.SIGKILL, first_abort=number == signal.SIGABRT and fact.first,
    )  # fmt: skip


def _without_late_faults(found: Sequence[Complaint], said: Sequence[Fact]) -> list[Complaint]:
    """What has waited or lost a peer breaks down when it is ended, too; it is seldom told which rank that is."""
    faults = {n: fact.known_as for n, fact in enumerate(said) if isinstance(fact, Trouble) and fact.known_as in _FAULTS}
    others = [one for one in found if one.level in (Level.TRANSPORT, Level.TIMEOUT) and not one.end]

    def late(one: Complaint) -> bool:
        of_nobody = one.order in faults and (one.person is None or faults[one.order] == _OF_KERNEL)
        return of_nobody and not all(_surely_before(one, other) for other in others)

    return [_weaker(one) if late(one) else one for one in found]


def _surely_before(one: Complaint, other: Complaint) -> bool:
    here, there = one.place, other.place
    times = here.time, there.time
    if None in times and here.stamp and there.stamp and here.stamp.yearless == there.stamp.yearless:
        times = here.stamp.seconds, there.stamp.seconds
    mine, its = times
    if mine is not None and its is not None and mine != its:
        return mine < its
    return here.file == there.file and one.order < other.order


def _with_abort(found: list[Complaint]) -> list[Complaint]:
    """Whoever aborted first is why the others ended, where nobody says a word of what that may follow from. What others
    say of lost peers follows from it."""
    own: set[tuple[int | None, str | None]] = {(one.person, None) for one in found if one.first_abort}
    own |= {(None, one.place.file) for one in found if one.first_abort}
    for one in found:
        speaker = (one.person, one.place.file if one.person is None else None)
        if not one.first_abort and (one.level < Level.CASCADE or (one.level == Level.CASCADE and speaker in own)):
            return found
    return [replace(one, level=Level.TRANSPORT, cause="crashed") if one.first_abort else one for one in found]


def _signal_of(code: int | None) -> int | None:
    """Shells and launchers tell a signal as a code, in two ways."""
    if code is None:
        return None
    if code < 0:
        return -code
    return code - 128 if 128 < code < 128 + signal.NSIG else None


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _explained(found: Sequence[Complaint], people: People) -> list[Complaint]:
    """An exit code says least of all: nothing where its process says more, or where several left without a word. Of one
    alone that left so, an exception of nobody is the word."""
    heard = {complaint.person for complaint in found if not complaint.end and complaint.person is not None}
    told = [complaint for complaint in found if complaint.end and complaint.person not in heard]
    ends = {_who(complaint): complaint for complaint in told if not _may_have_waited(complaint, found, people)}
    last = next(iter(ends.values())) if len(ends) == 1 else None
    return [_in_its_light(complaint, last) for complaint in found]


def _who(complaint: Complaint) -> object:
    return complaint.about if complaint.person is None else complaint.person


def _may_have_waited(end: Complaint, found: Iterable[Complaint], people: People) -> bool:
    """Whether an end that is told of a host may be that of somebody who waited in vain, and says no host of its own."""
    if end.person is not None:
        return False
    hosts = {None, *(subject.who.host for subject in end.about)}
    return any(
        one.level == Level.TIMEOUT and (one.person is None or people.persons[one.person].host in hosts)
        for one in found
    )  # fmt: skip


def _in_its_light(complaint: Complaint, last: Complaint | None) -> Complaint:
    if complaint.end:
        return complaint if last is not None and _who(complaint) == _who(last) else _weaker(complaint)
    if last is not None and complaint.raised and complaint.person is None:
        return replace(complaint, person=last.person, about=last.about)
    return complaint


def _weaker(complaint: Complaint) -> Complaint:
    return replace(complaint, level=Level.CASCADE, cause=None)


def _demoted(found: Sequence[Complaint]) -> Iterable[Complaint]:
    """Who has waited in vain before breaks down because of that, not the other way round. A launch that failed has
    nothing to do with it: whoever breaks down was launched."""
    first: dict[int, Complaint] = {}
    for complaint in found:
        waited = complaint.level in (Level.TRANSPORT, Level.TIMEOUT) and complaint.cause != "launch"
        if complaint.person is not None and not complaint.end and waited:
            known = first.get(complaint.person)
            if known is None or _earlier(complaint, known):
                first[complaint.person] = complaint
    for complaint in found:
        before = first.get(complaint.person) if complaint.person is not None else None
        if (
            complaint.level == Level.INITIATING
            and complaint.cause not in _KEPT
            and before is not None
            and _earlier(before, complaint)
        ):
            yield _weaker(complaint)
        else:
            yield complaint


def _earlier(one: Complaint, other: Complaint) -> bool:
    if one.place.time is not None and other.place.time is not None and one.place.time != other.place.time:
        return one.place.time < other.place.time
    return one.order < other.order
