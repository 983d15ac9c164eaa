"""Wrappers that launchers and log collectors put around a line: taken off, and what they tell of speaker and time kept.

What libraries themselves put before their texts stays, since their readers want it: host:pid:tid [device] NCCL,
[ERROR] HCCL(pid,name):time, [Rank 3], [PG ...], glog's [E424 01:11:21.160832730 file.cpp:629].
May import: facts, line, names, text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from suites.diagnose.evidence.line import merged, yearless
from suites.diagnose.evidence.names import HOST, owner
from suites.diagnose.evidence.text import uncoloured
from suites.diagnose.facts import NOBODY, Stamp, Who

_MOST = 8
"""Wrappers around one line."""
_TIME = r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)"
_DATE = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
"""As C writes it."""
_WRAPPERS: Mapping[str, str] = {
    "quote of a mail": r"> ?(?: (?=\[))?",
    "mpirun --tag-output": r"\[[^\],<]{1,100},(?P<rank>\d{1,7})\]<(?:stdout|stderr|stddiag)>: ?",
    "horovodrun": r"\[(?P<rank>\d{1,7})\]<(?:stdout|stderr)>: ?",
    "SageMaker": r"\[\d{1,7},mpirank:(?P<rank>\d{1,7}),(?P<host>[\w.-]{1,253})\]<(?:stdout|stderr|stddiag)>: ?",
    # torchrun's own prefix behind it is of the ranks of one replica
    "torchx": r"(?P<host>[A-Za-z][\w-]{0,60}/\d{1,5}) (?:\[(?P<local_rank>\d{1,4})\]: ?|"
    r"(?=\[rank\d|\[?[EWIF]\d{3,4} |[\w.-]{1,80}:\d{1,8}:\d{1,8} \[))",
    "torchrun, rank": r"\[rank(?P<rank>\d{1,7})\]: ?",
    "Lightning": r"\[rank: (?P<rank>\d{1,7})\] (?!Child process with PID)",
    "torchrun, local rank": r"\[(?:default|trainer|worker)(?P<local_rank>\d{1,4})\]: ?",
    "kubectl logs --prefix": r"\[pod/(?P<host>[\w.-]{1,253})/[\w.-]{1,253}\] ?",
    "process before a rank": r"\[\d{2,8}\] (?=\[rank\d)",
    # of a world of these alone: with DP or PP in its name its rank is another number
    "worker of vLLM": r"\((?:Vllm)?Worker[_ ]TP(?P<rank>\d{1,5})(?:_EP\d{1,5})? pid=(?P<pid>\d{1,8})\) ?",
    "Ray, vLLM": r"\([A-Za-z_][\w.:]{0,100}(?:[ \[]rank=(?P<rank>\d{1,7})\]?)?(?: [\w=.]{1,40}){0,3} "
    r"pid=(?P<pid>\d{1,8})(?:, ip=(?P<address>[0-9A-Fa-f.:]{2,45}))?\) ?",
    "vLLM": r"(?:INFO|WARNING|ERROR|CRITICAL) (?P<day>\d\d-\d\d \d\d:\d\d:\d\d) \[?[\w./]{1,99}\.py:\d{1,6}\] ?",
    "SGLang": rf"\[{_TIME} TP(?P<rank>\d{{1,5}})(?: EP\d{{1,5}})?\] ?",
    "SGLang, of several worlds": rf"\[{_TIME}(?: [A-Z]{{2,5}}\d{{1,5}}){{1,5}}\] ?",
    "Determined": rf"\[{_TIME}\] [0-9a-f]{{8}} \|\| (?:\[rank=(?P<rank>\d{{1,7}})\] ?)?",
    "CloudWatch": rf" {{0,4}}\| {_TIME} \| ?",
    "syslog": r"(?P<day>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?P<host>[A-Za-z][\w.-]{0,253}) "
    r"(?:python[\d.]{0,6}\[(?P<pid>\d{1,8})\]|[\w./@-]{1,60}(?:\[\d{1,8}\])?): ?",
    "syslog with a full time": rf"{_TIME} (?P<host>[A-Za-z][\w.-]{{0,253}}) "
    r"(?:python[\d.]{0,6}\[(?P<pid>\d{1,8})\]|[\w./@-]{1,60}\[\d{1,8}\]|kernel): ?",
    "stern": rf"(?P<host>{HOST}) [a-z][a-z0-9-]{{0,60}} (?=\[|\d{{4}}-|[\w.-]{{1,80}}:\d{{1,8}}:\d{{1,8}} \[)",
    "docker compose": r"(?P<host>[A-Za-z][\w.-]{0,100}[-_]\d{1,5}) {1,40}\| ",
    "pdsh": rf"(?P<host>{HOST}): ",
    "pdsh before a rank": r"(?P<host>[A-Za-z][\w.-]{0,100}\d): (?=\[rank\d)",
    "mpirun, horovodrun, date": rf"(?P<date>{_DATE})(?=\[\d{{1,9}}[\],])",
    "CRI, behind the time": r"std(?:out|err) [FP] ",
    "indentation": r"[ \t]{1,16}(?=\[rank\d|\d{4}-\d\d-\d\d[T ]\d\d:)",
    "time in brackets": rf"\[{_TIME}\]:? ?",
    "logger that passes on what ranks write": rf"{_TIME} - (?:[\w.-]{{1,60}} - )?(?:INFO|WARNING|ERROR) - (?=\[rank\d)",
    "time": rf"{_TIME}(?: (?=std(?:out|err) [FP] )| - | \| |: | |\t)",
}
"""Who writes it -> what stands at the beginning of a line."""

_LABELS: Mapping[str, str] = {
    "srun --label": r" {0,6}(?P<rank>\d{1,7}):(?: |(?=\[)|$)",
    "mpiexec -l": r"\[(?P<rank>\d{1,7})\](?::? |:?$)(?!\S{1,100} NCCL|NCCL)",
}
"""A number before nearly every line; before a single one it may be anything."""

_QUOTED = re.compile(r"(?P<name>[\w./-]{0,200}\.log)(?::\d{1,8}:|-\d{1,8}-)")
"""What `grep -rn -C` puts before a line of a file and its neighbours; msrun quotes the logs of workers so."""

_OF_MSRUN = re.compile(r"worker_\d{1,6}\.log")

_BEFORE_RECORD = re.compile(r"(?P<rank>\d{1,7}): ?(?=\[rank\d|\[[EWIF]\d|\S{1,100}:\d{1,8}:\d{1,8} \[\d)")
"""srun's label where what follows leaves no doubt."""
_OWN_RANK = re.compile(r"\[rank(\d{1,7})\]:")
_NUMBERED = re.compile("|".join(pattern.replace("?P<rank>", "?:") for pattern in _LABELS.values()))
_LOST_ESCAPES = re.compile(r"^\[\d{1,2}m|\[0m(?!\w)")
_REPEATED = re.compile(r" ?\[repeated \d{1,9}x across cluster\](?: \(Ray deduplicates[^\n]*)?")
_BARE = re.compile(r"[A-Za-z][^\s:]*:\S")
"""Such as NCCL's host:pid:tid. A wrapper that begins with a word has a blank behind it, or a colon and a blank."""
_STAMP = re.compile(
    r"(?P<second>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d+))?.*?"
    r"(?:(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?$"
)
_NUMBERS = frozenset(("rank", "pid", "local_rank"))
_TIMES = frozenset(("time", "day", "date"))


class Peeled(NamedTuple):
    """What is left of a line, and what its wrappers told."""

    text: str
    who: Who = NOBODY
    stamp: Stamp | None = None
    labelled: bool = False

    @property
    def time(self) -> float | None:
        """Since 1970; None where it is told without a year."""
        return None if self.stamp is None or self.stamp.yearless else self.stamp.seconds

    @property
    def wrapped(self) -> bool:
        return self.labelled or self.time is not None or self.who != NOBODY


_WORDS = ("(?P<day>", "(?P<date>", "(?P<host>", "std", "(?:INFO|")
"""How patterns begin that are of words."""


def _by_first(patterns: Iterable[str]) -> dict[str, tuple[re.Pattern[str], ...]]:
    """Those that may begin with a letter, so that few are tried."""
    compiled = [re.compile(pattern) for pattern in patterns]
    samples = {
        "[": "[", "(": "(", ">": ">", " ": " ",
        "|": "|", "\t": "\t",
    }  # fmt: skip
    kinds: dict[str, tuple[re.Pattern[str], ...]] = {}
    for first in samples:
        kinds[first] = tuple(one for one in compiled if _may_begin(one.pattern, first))
    kinds["digit"] = tuple(one for one in compiled if one.pattern.startswith(_TIME))
    kinds["letter"] = tuple(one for one in compiled if one.pattern.startswith(_WORDS))
    return kinds


def _may_begin(pattern: str, first: str) -> bool:
    return (
        pattern.startswith((first, "\\" + first))
        or (first in " |" and pattern.startswith(" {0,"))
        or (first in " \t" and pattern.startswith("[ \\t]"))
    )


_KINDS = _by_first(_WRAPPERS.values())


_COLLECTED = ('"log":', '"textPayload":', '"jsonPayload":')
"""In a line of a collector that writes JSON: Docker's json-file driver, Fluent Bit, Google Cloud Logging."""


def _is_collected(text: str) -> bool:
    return text.startswith('{"') and any(key in text for key in _COLLECTED)


def _collected(text: str) -> tuple[str, Who, Stamp | None]:
    """What was written, by whom, and when; the text as it stands where it is cut or something else."""
    try:
        told = json.loads(text)
        payload = told.get("jsonPayload")
        message = payload.get("message") if isinstance(payload, dict) else told.get("log", told.get("textPayload"))
        if not isinstance(message, str):
            return text, NOBODY, None
        return message.rstrip("\r\n"), Who(host=_pod(told)), _stamp(told.get("time") or told.get("timestamp"))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return text, NOBODY, None


def _pod(told: Mapping[str, Any]) -> str | None:
    resource = told.get("resource")
    for place in (told.get("kubernetes"), resource.get("labels") if isinstance(resource, dict) else None):
        if isinstance(place, dict) and isinstance(name := place.get("pod_name"), str):
            return name
    return None


class Peeler:
    """For one source, whose beginning shows whether its lines are numbered by a launcher."""

    def __init__(self, head: str = "") -> None:
        lines = [
            _unwrapped(_collected(line)[0] if _is_collected(line) else line)
            for line in head.splitlines()
            if line.strip()
        ]
        numbered = sum(_NUMBERED.match(line) is not None for line in lines)
        labelled = numbered >= 3 and numbered * 10 >= 6 * len(lines)
        self._labels = tuple(re.compile(pattern) for pattern in _LABELS.values()) if labelled else (_BEFORE_RECORD,)
        self._are_ranks = not any(map(self._contradicted, lines))

    def _contradicted(self, line: str) -> bool:
        """Whether a label is no rank, but the number of a task that has started several ranks, as torchrun does."""
        found = self._label(line)
        own = _OWN_RANK.match(line, found.end()) if found else None
        return bool(found and own and found["rank"] != own[1])

    def _label(self, text: str) -> re.Match[str] | None:
        for label in self._labels:
            if found := label.match(text):
                return found
        return None

    def peel(self, text: str) -> Peeled:
        who: Who = NOBODY
        stamp: Stamp | None = None
        text = uncoloured(text)
        if "[0m" in text:
            text = _LOST_ESCAPES.sub("", text)
        labelled = False
        for _ in range(_MOST):
            if _is_collected(text):
                inner, told_by, told = _collected(text)
                if inner is not text:
                    who, stamp, text = merged(who, told_by), told or stamp, uncoloured(inner)
                    continue
            if ".log" in text and (quoted := _QUOTED.match(text)):
                who, text = merged(who, _quoted(quoted["name"])), text[quoted.end() :]
            if _BARE.match(text):
                break
            label = None if labelled else self._label(text)
            found = label or _wrapper(text)
            if not found or not found.end():
                break
            labelled = labelled or label is not None
            if label is None or self._are_ranks:
                who = _told(found, who)
            told = _time_of(found)
            if told and not (told.yearless and stamp):
                stamp = told
            text = text[found.end() :]
        if "[repeated " in text:
            text = _REPEATED.sub("", text)
        return Peeled(text, who, stamp, labelled)


def _unwrapped(line: str) -> str:
    """Without what stands before a launcher's label."""
    text = uncoloured(line)
    for _ in range(_MOST):
        found = _wrapper(text)
        if not found or not found.end() or found.groupdict().get("rank"):
            break
        text = text[found.end() :]
    return text


def _wrapper(text: str) -> re.Match[str] | None:
    first = text[:1]
    kind = "digit" if first.isdecimal() else "letter" if first.isalpha() else first
    for one in _KINDS.get(kind, ()):
        if found := one.match(text):
            return found
    return None


def _quoted(name: str) -> Who:
    """msrun quotes logs from within their folder, so their names stand alone."""
    return owner(f"msrun_log/{name}" if _OF_MSRUN.fullmatch(name) else name)


def _told(found: re.Match[str], who: Who) -> Who:
    told = found.groupdict()
    for name in _TIMES:
        told.pop(name, None)
    return merged(who, _named(tuple(told.items()))) if told else who


@lru_cache(4096)
def _named(told: Iterable[tuple[str, str | None]]) -> Who:
    """Few speakers stand before the many lines of a log."""
    fields: dict[str, Any] = {
        name: int(value) if name in _NUMBERS else value for name, value in told if value is not None
    }
    return Who(**fields)


def _time_of(found: re.Match[str]) -> Stamp | None:
    told = found.groupdict()
    if day := told.get("day"):
        return yearless(day, "%m-%d %H:%M:%S" if day[0].isdecimal() else "%b %d %H:%M:%S")
    if date := told.get("date"):
        return _of_c(date)
    return _stamp(told.get("time"))


@lru_cache(4096)
def _of_c(date: str) -> Stamp | None:
    try:
        return Stamp(datetime.strptime(date, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


@lru_cache(4096)
def _whole_seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).replace(tzinfo=UTC).timestamp()


def _stamp(stamp: str | None) -> Stamp | None:
    """Without a zone as if it were UTC."""
    found = _STAMP.match(stamp) if stamp is not None else None
    if stamp is None or found is None:
        return None
    try:
        seconds = _whole_seconds(found["second"])
    except ValueError:
        return None
    if found["fraction"]:
        seconds += float("0." + found["fraction"])
    if found["sign"]:
        shift = int(found["hours"]) * 3600 + int(found["minutes"]) * 60
        seconds -= shift if found["sign"] == "+" else -shift
    return Stamp(seconds, zoned=found["sign"] is not None or stamp.endswith("Z"))
