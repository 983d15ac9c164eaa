"""What the kernel says of a host's devices and processes, in lines of dmesg or a journal that stand among other logs.

The lines are found by the patterns of `probes.log`, and mean what the rules of `suites.checks.log` say of them.
May import: facts, line, probes.log, suites.checks.log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from signal import SIGKILL

from probes.log.events import LogEvent, find, moment
from probes.log.patterns import WORDS
from suites.checks.log import xid
from suites.checks.log.kinds import KINDS
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import NOBODY, Class, Ended, Fact, Kind, Level, Subject, Trouble, Who
from suites.report import Status


@dataclass(frozen=True, slots=True)
class _Meaning:
    """Of a kind of events, for a job that hangs or broke down."""

    cause: Class | None = None
    """None: it is worth a word, and proves nothing alone."""
    about: Kind = "device"
    level: Level = Level.INITIATING


_DEVICE = _Meaning("device")
_HOST = _Meaning("device", "host")
_PATH = _Meaning("transport", level=Level.TRANSPORT)
_REMARK = _Meaning()

_MEANINGS: Mapping[str, _Meaning] = {
    "gpu_lost": _DEVICE,
    "gpu_init_failed": _DEVICE,
    "gpu_reset": _DEVICE,
    "gpu_reset_failed": _DEVICE,
    "gpu_memory_uncorrected": _DEVICE,
    "gpu_ring_timeout": _REMARK,
    "driver_mismatch": _Meaning("config", "host"),
    "module_error": _DEVICE,
    "nic_health": _DEVICE,
    "nic_command_timeout": _DEVICE,
    "transmit_timeout": _PATH,
    "link_lost": _DEVICE,
    "npu_abnormal": _DEVICE,
    "npu_heartbeat_lost": _DEVICE,
    "pcie_link_down": _DEVICE,
    "pcie_contained": _DEVICE,
    "pcie_error_fatal": _DEVICE,
    "pcie_error_nonfatal": _REMARK,
    "memory_error_uncorrected": _HOST,
    "hardware_error_fatal": _HOST,
    "lockup": _REMARK,
}
"""Kinds that are neither here nor in _READERS are too frequent on hosts that are well."""
_KINDS = {kind.name: (kind.what, kind.remedy) for kind in KINDS} | {
    "link_lost": (
        "the link of a network interface was lost",
        "`ethtool` or `mlxlink` of this interface, its cable and module, and the log of the switch's port",
    ),
}
"""What each means in words, and what to do. The rules judge how often a link was lost, which is no matter here."""
_SWITCHES = "see the fabric manager's log and `nvidia-smi nvlink -s`; reset all GPUs and switches, or reboot"

_BY_STATUS: Mapping[Status, Class] = {Status.FAIL: "device", Status.INFO: "crashed"}
"""Of an Xid: what is no fault of the host is most often a program's own."""
_CLEANED_UP = 45
"""The driver ends what a process has left behind, whyever that has ended."""
_CONTAINED = 94
"""A memory error that one program alone has met, and is not to blame for."""
_REMARKS = frozenset((63, 92, 121, 162, 163))

_PROCESS = re.compile(r"\bpid=(?P<pid>\d{1,9})\b")
_KILLED = re.compile(r"[Kk]ill(?:ed)? process (?P<pid>\d{1,9}) \((?P<name>[^)]{1,40})\)")
_DATED = re.compile(r"\b\d{4}\b")
"""Other times count from the boot, or leave the year out."""
_ABOUT_LINKS = re.compile(
    r"^(?:<\d{1,3}>)?\[[A-Z\d ][^\]]{3,30}\] |^kernel: |carrier|link status definitely down|"
    r"[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\."
)
"""Of a line about a link that the kernel, or who manages the network, has written: programs have links as well."""
_FREQUENT = frozenset(("[ERROR]", "timeout"))
"""Words that other logs are full of."""


@dataclass(slots=True)
class Kernel:
    """Each line stands for itself."""

    wakes: tuple[str, ...] = (*(word for word in WORDS if word not in _FREQUENT), "amdgpu")
    awake: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        for event in find(line.text):
            if event.kind in _READERS:
                yield from _READERS[event.kind](event, line)
            elif event.kind in _MEANINGS and (event.kind != "link_lost" or _ABOUT_LINKS.search(line.text)):
                yield _of_kind(event, line)

    def end(self) -> Iterable[Fact]:
        return ()


def _of_kind(event: LogEvent, line: Line) -> Trouble:
    what, remedy = _KINDS[event.kind]
    meaning = _MEANINGS[event.kind]
    device = f"npu{event.code}" if event.kind == "npu_abnormal" and event.code is not None else event.device
    return _trouble(line, event, _Said(meaning.cause, meaning.level, what, remedy), _host(line), device, meaning.about)


def _xid(event: LogEvent, line: Line) -> Iterable[Fact]:
    meaning = xid.meaning(event.code or 0, event.detail)
    cause = "device" if event.code == _CONTAINED else _BY_STATUS.get(meaning.status)
    level = Level.INITIATING
    if event.code == _CLEANED_UP or event.code in _REMARKS:
        cause, level = None, Level.CASCADE
    what = f"Xid {event.code}: {meaning.what}"
    speaker = _host(line)
    if found := _PROCESS.search(event.detail or ""):
        speaker = replace(speaker, pid=int(found["pid"]))
    about: Kind = "rank" if cause == "crashed" and speaker.pid is not None else "device"
    yield _trouble(line, event, _Said(cause, level, what, meaning.remedy), speaker, event.device, about)


def _sxid(event: LogEvent, line: Line) -> Iterable[Fact]:
    mild = "non-fatal" in (event.detail or "").lower()
    said = _Said(None if mild else "device", Level.INITIATING, f"SXid {event.code}: an error of an NVSwitch", _SWITCHES)
    yield _trouble(line, event, said, _host(line), event.device, "device")


def _out_of_memory(event: LogEvent, line: Line) -> Iterable[Fact]:
    what, remedy = _KINDS[event.kind]
    found = _KILLED.search(line.text)
    if found is None:
        return
    speaker = replace(_host(line), pid=int(found["pid"]))
    said = _Said("resource", Level.INITIATING, f"{what}: {found['name']}, pid {found['pid']}", remedy)
    yield _trouble(line, event, said, speaker, None, "rank")
    yield Ended(speaker, line.place(_time(event)), signal=int(SIGKILL))


_READERS: Mapping[str, Callable[[LogEvent, Line], Iterable[Fact]]] = {
    "xid": _xid,
    "sxid": _sxid,
    "out_of_memory": _out_of_memory,
}
"""Kinds whose lines say more than that it happened."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a line means."""

    cause: Class | None
    level: Level
    what: str
    remedy: str


def _trouble(line: Line, event: LogEvent, said: _Said, speaker: Who, device: str | None, kind: Kind) -> Trouble:
    """Where the line names no device it is one of the host's."""
    subjects: Mapping[Kind, Who] = {"rank": speaker, "device": replace(speaker, device=device)}
    kind = "host" if kind == "device" and device is None else kind
    subject = subjects.get(kind, Who(host=speaker.host))
    about = (Subject(kind, subject),) if said.cause and subject != NOBODY else ()
    named = f"{said.what} ({device})" if device else said.what
    return Trouble(
        speaker, line.place(_time(event)), said.level, named, said.cause, about, (said.remedy,), f"kernel.{event.kind}"
    )


def _host(line: Line) -> Who:
    """The kernel speaks for nobody's rank, in whosever log the line stands."""
    return Who(host=line.who.host)


def _time(event: LogEvent) -> float | None:
    """By the clock of the host, as if it were UTC; None where the log counts from the boot."""
    return moment(event.first) if event.first and _DATED.search(event.first) else None
