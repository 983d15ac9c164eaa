"""What a host is: asks the probes and keeps going whatever is missing. Nothing is judged here.

May import: probes, narrow, and the table of backends when that section is asked for.
"""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from probes import PROBES
from probes.host import Host
from probes.recorded.recorder import Recorder
from probes.visit import Visit
from suites.errors import UsageError
from suites.narrow import narrowed
from suites.report import Finding, Status

SECTIONS = (*PROBES, "backends")
"""What can be asked for, in the order of the record."""

VIEWS: dict[str, str] = {
    "topology": "suites.views:topology",
    "hccl": "suites.views:hccl",
    "nccl": "suites.views:nccl",
}
"""What is made of the sections' facts and of findings, asked for like a section: name -> "module:function"."""

ALWAYS = ("topology",)
"""Views that are there without being named."""

VIEWED = ("cpu", "numa", "network", "rdma", "pcie", "accelerators", "software", "environment")
"""The sections that views are made of."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What to look for: these sections, else all; of these devices, else all. `hurry`: only what is quick to tell.
    `identities`: serial numbers and the like too. `record`: keep what was read. `seconds`: for all
    questions to tools together."""

    sections: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    hurry: bool = False
    identities: bool = False
    record: bool = False
    seconds: float | None = None

    def chosen(self) -> list[str]:
        """The sections to be read, in the order of the record: those of the views too. Raises UsageError."""
        known = (*SECTIONS, *VIEWS)
        for name in self.sections:
            if name not in known:
                raise UsageError(f"no section '{name}'; known: {', '.join(known)}")
        needed = {*self.sections, *(VIEWED if self.views else ())}
        return [name for name in SECTIONS if not self.sections or name in needed]

    @property
    def views(self) -> list[str]:
        return [name for name in VIEWS if name in (self.sections or ALWAYS)]


@dataclasses.dataclass(slots=True)
class Seen:
    """A host that was looked at. `findings` are about what could not be read. `texts`: what was recorded of it."""

    name: str
    facts: dict[str, Any]
    findings: list[Finding] = dataclasses.field(default_factory=list)
    texts: Mapping[str, str] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Looked:
    """Hosts that were looked at. `earlier`: facts of those that were recorded twice, by name. `unreached`: about hosts
    that did not answer."""

    seen: Sequence[Seen]
    earlier: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    unreached: Sequence[Finding] = ()


def _nobody(line: str) -> None:
    pass


def look(
    name: str,
    host: Host,
    wanted: Wanted,
    *,
    backends: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = _nobody,
) -> Seen:
    """Look at `host`, under this name. `backends` maps a name to "module:attribute" and is by default the table of
    collectives. `tell` hears of each question to a tool before it is asked. A probe that fails becomes an error finding
    and the rest goes on. Raises UsageError for a section or device that is not there.
    """
    seen = Seen(name, {})
    recorder = Recorder(host, wanted.identities) if wanted.record else None
    visit = Visit(recorder or host, wanted.hurry, tell, wanted.identities, wanted.seconds)
    for section in wanted.chosen():
        try:
            seen.facts[section] = plain(_backends(backends) if section == "backends" else _probe(section, visit))
        except Exception as error:  # a probe's mistake must not hide what the others found
            seen.findings.append(_unread(section, name, error))
    if wanted.devices:
        seen.facts = narrowed(seen.facts, wanted.devices)
    if recorder:
        seen.texts = recorder.texts()
    return seen


def host_name(host: Host) -> str:
    return (host.read("/proc/sys/kernel/hostname") or "").strip() or "unknown"


def plain(value: Any) -> Any:
    """Facts as JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def known(value: Any) -> bool:
    """Whether anything was learnt: None is unknown, while "there are none" is an answer."""
    if isinstance(value, Mapping | list):
        items = value.values() if isinstance(value, Mapping) else value
        return not value or any(known(item) for item in items)
    return value is not None


def _probe(section: str, visit: Visit) -> Any:
    return import_module(PROBES[section]).read(visit)


def _backends(table: Mapping[str, str] | None) -> list[dict[str, Any]]:
    targets = table if table is not None else import_module("collectives.backends").BACKENDS
    return [_backend(name, target) for name, target in targets.items()]


def _backend(name: str, target: str) -> dict[str, Any]:
    """One that cannot even be imported is not ready, and the reason is what the import said.

    `unavailable()` and `caveat()` answer "reason; remedy"; a reason for one that is ready is the latter.
    """
    module, attribute = target.split(":")
    try:
        backend = getattr(import_module(module), attribute)
        summary, reason = backend.summary, backend.unavailable()
        ready, reason = reason is None, reason or backend.caveat()
    except Exception as error:
        summary, ready, reason = None, False, f"{type(error).__name__}: {error}"
    what, _, remedy = (reason or "").partition("; ")
    return {"name": name, "summary": summary, "ready": ready, "reason": what or None, "remedy": remedy or None}


def _unread(section: str, host: str, error: Exception) -> Finding:
    return Finding(
        check=f"{section}.read",
        status=Status.ERROR,
        subject={"host": host},
        message=f"the section could not be read: {type(error).__name__}: {error}",
        remedy="a mistake of opsdist, please report it with this line; the other sections are not affected",
        evidence={"raised_at": _place(error)},
    )


def _place(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"
