"""Lines of HCCL's run log that say who is who: communicators, ranks, servers, NPUs, and what it was set to.

May import: facts, line, hccl_speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from suites.diagnose.evidence.hccl_speech import Processes, communicator_of, number
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, Group, Identity, Setting, Who

_ENTRY = re.compile(
    r"Entry-HcclCommInit\w{0,40}: ?ranks\[(?P<size>\d{1,7})\], ?rank\[(?P<rank>\d{1,10})\], ?rootinfo: ?host ip"
    r"\[(?P<root>[^\]]{1,80})\].{0,120}?identifier\[(?P<name>[^\]]{1,200})\]"
)
_TABLE = re.compile(
    r"Entry-HcclCommInitClusterInfo\w{0,20}: ?clusterInfo\[(?P<path>[^\]]{1,400})\], ?rank\[(?P<rank>\d{1,7})\]"
)
_SETUP = re.compile(
    r"SetupAgent rankNum\[(?P<size>\d{1,7})\], ?rank\[(?P<rank>\d{1,10})\].{0,300}?server\[(?P<server>[^\]]{1,80})\]"
    r".{0,80}?logicDevId\[(?P<device>\d{1,5})\](?:.{0,40}?phydevId\[(?P<physical>\d{1,5})\])?"
)
_KEY = re.compile(r"\[Communicator Key Info\] ?identifier\[(?P<name>[^\]]{1,200})\],? rankSize\[(?P<size>\d{1,7})\]")
_LOCAL = re.compile(
    r"\[LocalRank Key Info\] ?userRank\[(?P<rank>\d{1,10})\].{0,120}?devicePhyId\[(?P<physical>\d{1,5})\]"
    r".{0,40}?server\[(?P<server>[^\]]{1,80})\]"
)
_SETTING = re.compile(r"\[HCCL_ENV\] ?(?P<name>[A-Z][A-Z0-9_]{2,60}) set by [\w ]{1,30} to \[(?P<value>[^\]]{0,200})\]")
_POINTER = re.compile(r"identifier\[(?P<name>[^\]]{1,200})\].{0,200}?\bcomm\[(?P<pointer>0x[0-9a-fA-F]{1,16})\]")


def block(line: Line, processes: Processes) -> Iterable[Fact]:
    """A framework's block: process, NPU and rank of the world belong together."""
    if line.who.pid is not None and line.who.rank is not None:
        yield Identity(line.who, line.place())


def entered(line: Line, processes: Processes) -> Iterable[Fact]:
    """A process begins to set up a communicator."""
    if found := _ENTRY.search(line.text):
        process, name, rank = processes.of(line), found["name"], number(found["rank"])
        process.communicators[name] = rank
        process.last = name
        yield Group(name, line.place(), size=int(found["size"]))
        # Its deviceLogicId counts the NPUs that the process may see: it names none.
        yield Identity(replace(line.who, group=name, group_rank=rank), line.place())
    elif found := _TABLE.search(line.text):
        yield Identity(replace(line.who, rank=int(found["rank"])), line.place())


def placed(line: Line, processes: Processes) -> Iterable[Fact]:
    """On which NPU of which server a rank is."""
    found = _SETUP.search(line.text) or _LOCAL.search(line.text)
    if not found:
        return
    rank, told = number(found["rank"]), found.groupdict()
    group = processes.of(line).last
    device = told["physical"] or told.get("device")
    if told.get("size"):
        yield Group(group, line.place(), size=int(told["size"]))
    yield Identity(replace(line.who, group=group, group_rank=rank), line.place())
    yield Identity(
        Who(host=told["server"], pid=line.who.pid, device=f"npu{device}", group=group, group_rank=rank), line.place()
    )


def sized(line: Line, processes: Processes) -> Iterable[Fact]:
    """How many members a communicator has."""
    if found := _KEY.search(line.text):
        process = processes.of(line)
        process.communicators.setdefault(found["name"], None)
        process.last = found["name"]
        yield Group(found["name"], line.place(), size=int(found["size"]))


def pointed(line: Line, processes: Processes) -> Iterable[Fact]:
    """The address of a communicator in this process."""
    if found := _POINTER.search(line.text):
        processes.of(line).pointers[found["pointer"]] = communicator_of(found["name"]) or found["name"]
    return ()


def setting(line: Line, processes: Processes) -> Iterable[Fact]:
    """What an environment variable is taken to be."""
    if found := _SETTING.search(line.text):
        yield Setting(line.who, line.place(), f"env.{found['name']}", found["value"])


HANDLERS = (
    (" ERR", block),
    ("Entry-HcclCommInit", entered),
    ("SetupAgent", placed),
    ("[LocalRank Key Info]", placed),
    ("[Communicator Key Info]", sized),
    ("identifier[", pointed),
    ("[HCCL_ENV]", setting),
)
