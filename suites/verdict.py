"""From what was seen of a failed run to a verdict: what happened, who did it, who is only a victim, what to do next.

A pure judgement of faults. It never blames the rank that complains. May import: the standard library.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

WHO_STOPPED = (
    "who stopped it: a debugger, job control, a suspended container; in a job that still runs, `kill -CONT PID` lets "
    "it go on"
)
"""What to look for. opsdist's own ranks are ended with their run, so none of them can go on."""

Kind = Literal["failure", "exit", "silent", "silence", "launch", "agent", "unreachable", "outside"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing seen to go wrong, in order of arrival.

    failure: the rank reported an error. exit: its process ended before its job. silent: it said nothing while others
    ran into deadlines. silence: nothing at all happened (rank None). launch: what starts the ranks of a host was not
    there, or ranks that another launcher should have started (`waiting_for`), and `phase` says what it failed at (rank
    None). agent: what watches the ranks failed itself (rank None).
    unreachable: a host that was there is not heard of any more (rank None). outside: the run was ended or suspended by
    somebody who is no part of it (rank None). `notes` say what to do, where more is known
    than the kind tells.
    """

    rank: int | None
    kind: Kind
    phase: str
    error: str = ""
    message: str = ""
    notes: tuple[str, ...] = ()
    waiting_for: tuple[int, ...] = ()
    unanswered: tuple[str, ...] = ()
    """Hosts that do not acknowledge what it has sent."""
    peer: int | None = None
    code: int | None = None
    signal: int | None = None
    state: str | None = None
    idle: bool = False
    """It used no CPU, where ranks that wait for others do."""
    pid: int | None = None
    host: str = ""
    traceback: str = ""


def report(fault: Fault) -> dict[str, Any]:
    """What a diagnosis needs of the fault of a rank, to be kept as JSON."""
    return {name: getattr(fault, name) for name in REPORTED} | {"words": words(fault)}


REPORTED = ("rank", "kind", "phase", "error", "message", "waiting_for", "code", "signal", "state", "pid")


_SCARCE = "ResourceError"
_SCARCE_ADVICE = (
    "`ulimit -a`, `free`, `ss -s` and net.ipv4.ip_local_port_range on that host: what there is not enough of",
)


@dataclass(frozen=True, slots=True)
class _Cause:
    """The class of a verdict with those it names."""

    name: str
    culprits: tuple[int, ...]
    explanation: str
    next_checks: tuple[str, ...]
    confidence: str = "certain"
    suspects: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    """Named as a whole."""
    links: tuple[tuple[str, str | None], ...] = ()
    """Named by the hosts at their ends; one host where it is its own link to all others."""


def judge(faults: Sequence[Fault], host_of: Sequence[str]) -> dict[str, Any]:
    """The verdict object of the record, for a run that ended with these faults. `host_of` is the host of each rank."""
    if len(set(host_of)) > 1:
        faults = [fault if fault.rank is None else replace(fault, host=host_of[fault.rank]) for fault in faults]
    cause = _cause(faults)
    named = {*cause.culprits, *cause.suspects}
    waiting = sorted({f.rank for f in faults if f.rank is not None and f.waiting_for} - named)

    def subject(rank: int) -> dict[str, Any]:
        known = {"host": host_of[rank]} if rank < len(host_of) else {}
        return {"kind": "rank", "rank": rank, **known}

    culprits = [subject(rank) for rank in cause.culprits] + [{"kind": "host", "host": host} for host in cause.hosts]
    culprits += [{"kind": "link", "host": host, **({"peer": peer} if peer else {})} for host, peer in cause.links]
    complaints = [fault for fault in faults if fault.rank not in cause.culprits]
    first = next(
        (f for f in faults if f.rank in cause.culprits or (f.rank is None and f.host in cause.hosts)), faults[0]
    )
    return {
        "class": cause.name,
        "confidence": cause.confidence,
        "culprits": culprits,
        "suspects": [subject(rank) for rank in cause.suspects],
        "waiting": waiting,
        "collective": None,
        "sides": [],
        "positions": [],
        "initiating": {"file": None, "line": None, "text": words(first)},
        "cascade_count": len(complaints),
        "seen": [subject(rank) for rank in sorted({f.rank for f in faults if f.rank is not None})],
        "missing_evidence": [],
        "explanation": cause.explanation,
        "next_checks": list(cause.next_checks),
    }


def _cause(faults: Sequence[Fault]) -> _Cause:
    for judgement in (
        _outside,
        _launch,
        _ended,
        _agent,
        _unreachable,
        _cut,
        _mismatched,
        _not_met,
        _raised,
        _silent,
        _silence,
        _parted,
    ):
        if cause := judgement(faults):
            return cause
    return _all_waiting(faults)


def _ended(faults: Sequence[Fault]) -> _Cause | None:
    """A process that ended before its job is the cause, whatever others say about it."""
    exits = [fault for fault in faults if fault.kind == "exit"]
    if not exits or exits[0].rank is None:
        return None
    first = exits[0]
    assert first.rank is not None
    if first.code == 0:
        where = f"look for an early return or sys.exit in what rank {first.rank} ran"
        return _Cause("missing", (first.rank,), words(first), (where,))
    advice = ["the output of that rank, shown above as [host rank]"]
    if first.signal == signal.SIGKILL:
        advice.append("`dmesg | grep -i oom` and the memory limit of the job: SIGKILL is what the kernel uses for both")
    elif first.signal:
        advice.append("a core dump (`ulimit -c unlimited`, `coredumpctl list`)")
    return _Cause("crashed", (first.rank,), words(first), tuple(advice))


def _outside(faults: Sequence[Fault]) -> _Cause | None:
    """What came first from outside explains all that followed from it, and nobody of the run is to blame."""
    if not faults or faults[0].kind != "outside":
        return None
    advice = faults[0].notes or ("who suspends or ends processes on this machine; a stdout that nobody reads",)
    return _Cause("undecided", (), faults[0].message, tuple(advice), "likely")


def _launch(faults: Sequence[Fault]) -> _Cause | None:
    """Agents that were not there. None of them is a victim of another: before ranks run they have nothing in common."""
    found = [fault for fault in faults if fault.kind == "launch"]
    if not found:
        return None
    advice = found[0].notes or ("run `python -P -m suites.launch.agent < /dev/null` there: it says hello and ends",)
    text = "; ".join(f"{words(fault)} (phase: {fault.phase})" for fault in found)
    hosts = tuple(dict.fromkeys(fault.host for fault in found if fault.host or not fault.waiting_for))
    if found[0].error == _SCARCE:
        return _Cause("resource", (), text, _SCARCE_ADVICE, hosts=hosts)
    awaited = tuple(dict.fromkeys(rank for fault in found for rank in fault.waiting_for))
    return _Cause("launch", awaited, text, tuple(advice), hosts=hosts)


def _agent(faults: Sequence[Fault]) -> _Cause | None:
    """Without its agent a run ends; what ranks said before that may be why, but what it did to them is not theirs."""
    fault = next((fault for fault in faults if fault.kind == "agent"), None)
    if fault is None:
        return None
    if fault.error == _SCARCE:
        return _Cause("resource", (), words(fault), _SCARCE_ADVICE, hosts=(fault.host,))
    gone = fault.signal is not None or fault.code is not None or fault.error
    advice = fault.notes or ("`dmesg | grep -i oom`, and who else may end processes on that host",)
    return _Cause("crashed" if gone else "stuck", (), words(fault), tuple(advice), hosts=(fault.host,))


def _unreachable(faults: Sequence[Fault]) -> _Cause | None:
    """A host that nothing is heard of; ranks that waited for its ranks are victims."""
    lost = [fault for fault in faults if fault.kind == "unreachable"]
    if not lost:
        return None
    hosts = tuple(dict.fromkeys(fault.host for fault in lost))
    advice = tuple(note for fault in lost for note in fault.notes) or (
        f"whether {hosts[0]} is up, its network link and what lies between: ping, `ip -s link`, the switch port",
    )
    return _Cause("transport", (), "; ".join(words(fault) for fault in lost), advice, "likely", hosts=hosts)


def _cut(faults: Sequence[Fault]) -> _Cause | None:
    """Hosts that do not acknowledge what others send: their kernels would, whatever their ranks do."""
    pairs = {_pair(fault.host, host) for fault in faults for host in fault.unanswered}
    if not pairs:
        return None
    links = _narrowed(pairs | _unconnected(faults))
    told = "; ".join(
        f"what {fault.host} sends to {', '.join(fault.unanswered)} is not acknowledged, though it was sent again: "
        f"{words(fault)}"
        for fault in [fault for fault in faults if fault.unanswered][:2]
    )
    text = f"nothing gets through {' and '.join(_path(*link) for link in links[:3])}: {told}"
    hosts = dict.fromkeys(host for link in links for host in link if host)
    advice = (
        f"`ip -s link` (carrier, errors, drops), `ip route get`, `nft list ruleset` on {', '.join(hosts)}",
        "the ports of the switch between them; --interface takes another network",
    )
    return _Cause("transport", (), text, advice, "likely", links=links)


def _path(host: str, peer: str | None) -> str:
    return f"between {host} and {peer}" if peer else f"between {host} and all others"


def _mismatched(faults: Sequence[Fault]) -> _Cause | None:
    for fault in faults:
        if fault.error == "MismatchError" and fault.rank is not None and fault.peer is not None:
            advice = (
                f"what ranks {fault.rank} and {fault.peer} were asked to run: arguments, versions, order of calls",
            )
            sides = tuple(sorted((fault.rank, fault.peer)))
            return _Cause("mismatch", (), fault.message, advice, "likely", sides)
    return None


def _not_met(faults: Sequence[Fault]) -> _Cause | None:
    """The ranks did meet, or reached nobody at all: the world is wrong, not the rank that found out."""
    for fault in faults:
        if fault.error == "RendezvousError" and not fault.waiting_for:
            advice = ("`opsdist info` on every host: the same version, and an address that all can reach",)
            return _Cause("launch", (), words(fault), advice, "likely")
    return None


def _raised(faults: Sequence[Fault]) -> _Cause | None:
    raised = [f for f in faults if f.kind == "failure" and not f.waiting_for and f.rank is not None]
    if not raised or raised[0].rank is None:
        return None
    if raised[0].error == _SCARCE:
        return _Cause("resource", (raised[0].rank,), words(raised[0]), (*raised[0].notes, *_SCARCE_ADVICE))
    advice = (*raised[0].notes, "--debug shows the rank's traceback")
    return _Cause("crashed", (raised[0].rank,), words(raised[0]), advice)


def _silent(faults: Sequence[Fault]) -> _Cause | None:
    """Others ran into deadlines waiting for ranks that did not even report."""
    silent = [fault for fault in faults if fault.kind == "silent" and fault.rank is not None]
    wanted = {peer for fault in faults for peer in fault.waiting_for}
    stopped = [fault for fault in silent if (fault.state or "").startswith(("T", "t", "D"))]
    idle = [fault for fault in silent if fault.idle]
    guilty = stopped or [fault for fault in silent if fault.rank in wanted]
    if len(idle) < len(silent):  # where all are, it tells nothing
        guilty = guilty or idle
    if not guilty:
        return None
    culprits = tuple(sorted(fault.rank for fault in guilty if fault.rank is not None))
    # A process that sleeps or runs elsewhere has not entered; one that was stopped may have been anywhere.
    before = not stopped or all(fault.phase in ("start", "rendezvous") for fault in guilty)
    advice = []
    if stopped:
        advice.append(WHO_STOPPED)
    else:
        advice.append("`py-spy dump --pid PID` on that rank while it hangs; what its device does")
    explanation = "; ".join(words(fault) for fault in guilty)
    return _Cause(
        "missing" if before else "stuck", culprits, explanation, tuple(advice), "certain" if stopped else "likely"
    )


def _silence(faults: Sequence[Fault]) -> _Cause | None:
    for fault in faults:
        if fault.kind == "silence":
            advice = ("whether the host is suspended or out of memory", "run again with -vv")
            silent = tuple(sorted(f.rank for f in faults if f.kind == "silent" and f.rank is not None))
            return _Cause("undecided", (), fault.message, advice, "hypothesis", silent)
    return None


def _parted(faults: Sequence[Fault]) -> _Cause | None:
    """Two ranks each of which waited for the other one; others that waited for them are victims. Where only one did,
    the other may have been busy elsewhere."""
    links = _unconnected(faults)
    if not links:
        return None
    advice = ("what lies between these hosts: a firewall, a route (`ip route get`); --interface takes another network",)
    text = "; ".join(words(fault) for fault in [fault for fault in faults if fault.error == "Unreached"][:2])
    return _Cause("transport", (), text, advice, "likely", links=_narrowed(links))


def _unconnected(faults: Sequence[Fault]) -> set[tuple[str, str]]:
    """Pairs of hosts with ranks each of which could not connect to the other."""
    host_of = {fault.rank: fault.host for fault in faults if fault.error == "Unreached"}
    wanted = {(fault.rank, peer) for fault in faults if fault.rank in host_of for peer in fault.waiting_for}
    return {_pair(host_of[one], host_of[other]) for one, other in wanted if (other, one) in wanted}


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _narrowed(pairs: Collection[tuple[str, str]]) -> tuple[tuple[str, str | None], ...]:
    """Where all have one host in common, what is cut is this one's own link."""
    common = [host for host in min(pairs) if all(host in pair for pair in pairs)]
    return ((common[0], None),) if len(pairs) > 1 and common else tuple(sorted(pairs))


def _all_waiting(faults: Sequence[Fault]) -> _Cause:
    """Everybody entered, everybody waits, nobody is silent. Ranks that are waited for but do not wait stand out."""
    waiting = {fault.rank for fault in faults if fault.waiting_for}
    wanted = {peer for fault in faults for peer in fault.waiting_for}
    missing = tuple(sorted(wanted - waiting))
    text = "; ".join(words(fault) for fault in faults[:3])
    if missing:
        return _Cause("undecided", (), text, ("why these ranks did not report",), "hypothesis", missing)
    return _Cause("joined", (), text, ("run again with -vv; raise --timeout if the machine is overloaded",), "likely")


def words(fault: Fault) -> str:
    """One fault in a sentence."""
    where = f" on {fault.host}" if fault.host else ""
    who = f"rank {fault.rank}" + (f" (pid {fault.pid}{where})" if fault.pid else where)
    during = f" during {fault.phase}" if fault.phase else ""
    if fault.kind == "exit":
        if fault.signal:
            return f"{who} was ended by {_signal_name(fault.signal)}{during}"
        return f"{who} left with exit {fault.code}{during}, before its work was done"
    if fault.kind == "silent":
        state = f"; its process is in state {fault.state}" if fault.state else ""
        idle = "; it used no CPU, so it waits for nobody" if fault.idle else ""
        return f"{who} does not answer{during}{state}{idle}"
    if fault.kind in ("silence", "unreachable", "outside"):
        return fault.message
    if fault.kind in ("launch", "agent"):
        ended = _signal_name(fault.signal) if fault.signal else "" if fault.code is None else f"exit {fault.code}"
        found = ", ".join([ended] * bool(ended) + [f"pid {fault.pid}"] * bool(fault.pid))
        return f"{fault.message} ({found})" if found else fault.message
    return f"{who} failed{during}: {fault.message or fault.error}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
