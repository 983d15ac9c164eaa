"""HCCL's heartbeat, which tells all ranks of one that is lost, stuck, or whose packets are; and RoCE's failed packets.

`[address/device]` names an NPU of a server. What is told of one rank is spread to all, so repeats are many (HCCL's user
guide, "cluster heartbeat mechanism").
May import: facts, line, hccl_speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from suites.diagnose.evidence.hccl_speech import Processes, npu
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Absent, Fact, Level, Subject, Trouble, Waiting, Who

_EVENT = re.compile(
    r"rank ?\[[^\]]{1,80}\]: ?(?:crimer )?rank ?\[(?P<server>[^\]/]{1,80})/(?P<device>\d{1,5})\](?: status ?\["
    r"(?P<status>[^\]]{1,40})\])? by (?:informer )?rank ?\[(?P<by>[^\]/]{1,80})/(?P<by_device>\d{1,5})\]"
)
_CONCLUDED = re.compile(
    r"Cluster Exception Location\[IP/ID\]: ?\[(?P<server>[^\]/]{1,80})/(?P<device>\d{1,5})\].{0,120}?(?:Discoverer: ?"
    r"\[(?P<by>[^\]/]{1,80})/(?P<by_device>\d{1,5})\].{0,40}?)?ExceptionType: ?\[(?P<status>[^\]]{1,60})\]"
)
_ENDS = (
    re.compile(
        r"Local information: server (?P<server>[^,]{1,80}), device ID (?P<device>\d{1,5}).{0,200}?Peer information: "
        r"server (?P<peer>[^,]{1,80}), device ID (?P<peer_device>\d{1,5})"
    ),
    re.compile(
        r"localInfo\{server\[(?P<server>[^\]]{1,80})\], ?deviceId\[(?P<device>[^\]]{1,80})\].{0,200}?remoteIP\{server"
        r"\[(?P<peer>[^\]]{1,80})\], ?deviceId\[(?P<peer_device>[^\]]{1,80})\]"
    ),
)
_CHECK = ("hccn_tool -i N -link_stat -g", "hccn_tool -i N -net_health -g", "see whether the peer's process ended first")
_LOOK = ("see how the process of the lost rank ended: dmesg, its last lines, its exit code",)
_STACK = ("py-spy dump --pid PID on the stuck rank",)


def event(line: Line, processes: Processes) -> Iterable[Fact]:
    """What is told of one NPU by another."""
    found = _EVENT.search(line.text) or _CONCLUDED.search(line.text)
    if not found:
        return
    whom = npu(found["server"], found["device"])
    by = npu(found["by"], found["by_device"]) if found["by"] else None
    status = (found["status"] or "").upper()
    if "CQE" in status:
        yield _cut(line, by, whom)
    elif "STUCK" in status:
        yield from _stuck(line, by, whom)
    elif "LOST" in status:
        yield from _missed(line, by, whom)


def _missed(line: Line, by: Who | None, whom: Who) -> Iterator[Fact]:
    yield Absent(line.place(), (whom,), by=by or line.who)
    what = f"the heartbeat of {_name(whom)} is lost: its process ended, or it cannot be reached"
    yield Trouble(line.who, line.place(), Level.TIMEOUT, what, remedy=_LOOK, known_as="hccl.heartbeat_lost")


def _cut(line: Line, by: Who | None, whom: Who) -> Trouble:
    about = (Subject("link", by, whom),) if by is not None and by != whom else ()
    what = f"packets between {_name(by)} and {_name(whom)} are lost" if by else f"packets of {_name(whom)} are lost"
    return Trouble(line.who, line.place(), Level.TRANSPORT, what, "transport", about, _CHECK, "hccl.cqe")


def _stuck(line: Line, by: Who | None, whom: Who) -> Iterator[Fact]:
    what = f"{_name(whom)} does not go on: no call of it has come to its end for a third of HCCL_EXEC_TIMEOUT"
    yield Trouble(line.who, line.place(), Level.TIMEOUT, what, remedy=_STACK, known_as="hccl.heartbeat_stuck")
    if by is not None and by != whom:
        yield Waiting(by, line.place(), (whom,))


def ends(line: Line, processes: Processes) -> Iterable[Fact]:
    """Both ends of a RoCE connection that failed."""
    for pattern in _ENDS:
        if found := pattern.search(line.text):
            local = npu(found["server"], found["device"])
            yield _cut(line, local, npu(found["peer"], found["peer_device"]))
            return


def _name(who: Who | None) -> str:
    if who is None:
        return "?"
    return f"{who.device} of {who.host}" if who.device else str(who.host)


HANDLERS = (("rank [", event), ("Cluster Exception Location", event), ("Peer information", ends), ("localInfo{", ends))
