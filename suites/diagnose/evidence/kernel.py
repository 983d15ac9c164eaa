"""What the kernel says of a host's devices and processes, in lines of dmesg or a journal that stand among other logs.

The lines are found by the patterns of `probes.log`, and mean what the rules of `suites.checks.log` say of them.
May import: facts, line, probes.log, suites.checks.log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from signal import SIGKILL

from probes.log.events import LogEvent, find, moment
from probes.log.patterns import WORDS
from suites.checks.log import xid
from suites.checks.log.kinds import KINDS
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import NOBODY, Class, Ended, Fact, Kind, Level, Place, Stamp, Subject, Trouble, Who
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
_CONTAINED_ERROR = "a memory error of the GPU, which one program alone has met"
_REMARKS = frozenset((63, 92, 121, 162, 163))

_PROCESS = re.compile(r"\bpid=(?P<pid>\d{1,9})\b")
_KILLED = re.compile(r"[Kk]ill(?:ed)? process (?P<pid>\d{1,9}) \((?P<name>[^)]{1,40})\)")
_SINCE_BOOT = re.compile(r"\d{1,10}\.\d{3,9}")
_YEAR = re.compile(r"(?:^|\s)\d{4}\b")
_FULL = re.compile(r"\d{4}-")
_BOOT = "Linux version "
_CLOCK_SET = "setting system clock to"
_CLOCK = re.compile(rf"\[\s*(?P<since>\d{{1,10}}\.\d{{3,9}})\].*{_CLOCK_SET} .*\((?P<time>\d{{9,10}})\)")
"""The kernel takes its time from the hardware while it boots: that tells when it booted."""
_ABOUT_LINKS = re.compile(
    r"^(?:<\d{1,3}>)?\[[A-Z\d ][^\]]{3,30}\] |^kernel: |carrier|link status definitely down|"
    r"[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\."
)
"""Of a line about a link that the kernel, or who manages the network, has written: programs have links as well."""
_LINK_BACK = re.compile(r"(?P<device>[\w.@-]{1,32}): (?:NIC )?[Ll]ink (?:is )?[Uu]p\b")
_MOST_LINKS = 4096
_FREQUENT = frozenset(("[ERROR]", "timeout"))
"""Words that other logs are full of."""


@dataclass(slots=True)
class Kernel:
    """Each line stands for itself, but that one may tell when its host booted."""

    wakes: tuple[str, ...] = (
        *(word for word in WORDS if word not in _FREQUENT), "amdgpu", "ink up", "ink is Up", _BOOT, _CLOCK_SET,
    )  # fmt: skip
    awake: bool = False
    booted: dict[str | None, float] = field(default_factory=dict)
    """When, by host; of the one whose log it is under None."""
    _lost: set[tuple[str | None, str | None]] = field(default_factory=set)
    """Links, by host and interface."""

    def feed(self, line: Line) -> Iterable[Fact]:
        if _BOOT in line.text:
            self.booted.pop(line.who.host, None)
        if found := _CLOCK.search(line.text):
            self.booted[line.who.host] = float(found["time"]) - float(found["since"])
        if self._lost and (back := _LINK_BACK.search(line.text)):
            yield from self._came_back(back["device"], line)
        for event in find(line.text):
            place = _place(event, line, self.booted.get(line.who.host))
            if event.kind in _READERS:
                yield from _READERS[event.kind](event, line, place)
            elif event.kind in _MEANINGS and (event.kind != "link_lost" or _ABOUT_LINKS.search(line.text)):
                if event.kind == "link_lost" and len(self._lost) < _MOST_LINKS:
                    self._lost.add((line.who.host, event.device))
                yield _of_kind(event, line, place)

    def _came_back(self, device: str, line: Line) -> Iterable[Fact]:
        if (line.who.host, device) in self._lost:
            who = Who(host=line.who.host, device=device)
            yield Trouble(who, line.place(), Level.TEARDOWN, "a link is up again", known_as="kernel.link_back")

    def end(self) -> Iterable[Fact]:
        return ()


def _of_kind(event: LogEvent, line: Line, place: Place) -> Trouble:
    what, remedy = _KINDS[event.kind]
    meaning = _MEANINGS[event.kind]
    device = f"npu{event.code}" if event.kind == "npu_abnormal" and event.code is not None else event.device
    return _trouble(place, event, _Said(meaning.cause, meaning.level, what, remedy), _host(line), device, meaning.about)


def _xid(event: LogEvent, line: Line, place: Place) -> Iterable[Fact]:
    meaning = xid.meaning(event.code or 0, event.detail)
    cause = "device" if event.code == _CONTAINED else _BY_STATUS.get(meaning.status)
    level = Level.INITIATING
    if event.code == _CLEANED_UP or event.code in _REMARKS:
        cause, level = None, Level.CASCADE
    what = f"Xid {event.code}: {_CONTAINED_ERROR if event.code == _CONTAINED else meaning.what}"
    speaker = _host(line)
    if found := _PROCESS.search(event.detail or ""):
        speaker = replace(speaker, pid=int(found["pid"]))
    about: Kind = "rank" if cause == "crashed" and speaker.pid is not None else "device"
    yield _trouble(place, event, _Said(cause, level, what, meaning.remedy), speaker, event.device, about)


def _sxid(event: LogEvent, line: Line, place: Place) -> Iterable[Fact]:
    mild = "non-fatal" in (event.detail or "").lower()
    said = _Said(None if mild else "device", Level.INITIATING, f"SXid {event.code}: an error of an NVSwitch", _SWITCHES)
    yield _trouble(place, event, said, _host(line), event.device, "device")


def _out_of_memory(event: LogEvent, line: Line, place: Place) -> Iterable[Fact]:
    what, remedy = _KINDS[event.kind]
    found = _KILLED.search(line.text)
    if found is None:
        return
    speaker = replace(_host(line), pid=int(found["pid"]))
    said = _Said("resource", Level.INITIATING, f"{what}: {found['name']}, pid {found['pid']}", remedy)
    yield _trouble(place, event, said, speaker, None, "rank")
    yield Ended(speaker, place, signal=int(SIGKILL))


_READERS: Mapping[str, Callable[[LogEvent, Line, Place], Iterable[Fact]]] = {
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


def _trouble(place: Place, event: LogEvent, said: _Said, speaker: Who, device: str | None, kind: Kind) -> Trouble:
    """Where the line names no device it is one of the host's."""
    subjects: Mapping[Kind, Who] = {"rank": speaker, "device": replace(speaker, device=device)}
    kind = "host" if kind == "device" and device is None else kind
    subject = subjects.get(kind, Who(host=speaker.host))
    about = (Subject(kind, subject),) if said.cause and subject != NOBODY else ()
    named = f"{said.what} ({device})" if device else said.what
    return Trouble(speaker, place, said.level, named, said.cause, about, (said.remedy,), f"kernel.{event.kind}")


def _host(line: Line) -> Who:
    """The kernel speaks for nobody's rank, in whosever log the line stands."""
    return Who(host=line.who.host)


def _place(event: LogEvent, line: Line, booted: float | None) -> Place:
    """Clocks that count from the boot go wrong by minutes in weeks: such a time puts no lines in order."""
    if event.first is None or not _SINCE_BOOT.fullmatch(event.first):
        return line.place(_stamp(event.first))
    place = line.place()
    return place if place.stamp or booted is None else replace(place, stamp=Stamp(booted + float(event.first)))


def _stamp(told: str | None) -> Stamp | None:
    """A time in the log's own words."""
    if told and _FULL.match(told):
        try:
            time = datetime.fromisoformat(told.replace(",", "."))
        except ValueError:
            return None
        zoned = time.tzinfo is not None
        return Stamp((time if zoned else time.replace(tzinfo=UTC)).timestamp(), zoned)
    seconds = moment(told)
    return None if seconds is None or told is None else Stamp(seconds, yearless=_YEAR.search(told) is None)
