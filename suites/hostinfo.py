"""What this host is, as a report: asks the probes, keeps going whatever is missing, and judges a little.

May import: probes, and the table of backends when that section is asked for.
"""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from probes import PROBES
from probes.host import Host, LocalHost
from probes.visit import Visit
from suites.checks import rules
from suites.checks.judging import judge
from suites.errors import UsageError
from suites.report import Finding, Report, Status, now

SECTIONS = (*PROBES, "backends")
"""What can be asked for, in the order of the record."""


def report(
    command: Sequence[str],
    sections: Sequence[str] = (),
    devices: Sequence[str] = (),
    *,
    host: Host | None = None,
    backends: Mapping[str, str] | None = None,
) -> Report:
    """Facts and findings of `host`, by default this one.

    No `sections` means all of them; `devices` narrows the network section. `backends` maps a name to "module:attribute"
    and is by default the table of collectives. A probe that fails becomes an error finding and the rest goes on; raises
    UsageError for a section or device that is not there.
    """
    host = host or LocalHost()
    result = Report("info", list(command), now())
    name = (host.read("/proc/sys/kernel/hostname") or "").strip() or "unknown"
    facts, result.findings = look(name, sections, devices, host, backends)
    result.findings += judged({name: facts})
    result.body = {"hosts": [{"name": name, "facts": facts}], "differences": []}
    result.exit_code = 0 if any(known(value) for value in facts.values()) else 3
    result.ended = now()
    return result


def look(
    name: str,
    sections: Sequence[str],
    devices: Sequence[str],
    host: Host,
    backends: Mapping[str, str] | None = None,
) -> tuple[dict[str, Any], list[Finding]]:
    """Facts of a host, under this name, and findings about what could not be read; see `report`."""
    facts: dict[str, Any] = {}
    findings: list[Finding] = []
    visit = Visit(host)
    for section in asked(sections, devices):
        try:
            facts[section] = plain(_backends(backends) if section == "backends" else _probe(section, visit))
        except Exception as error:  # a probe's mistake must not hide what the others found
            findings.append(_unread(section, name, error))
    if devices:
        facts["network"] = _only(devices, facts.get("network") or {})
    return facts, findings


def judged(
    hosts: Mapping[str, Mapping[str, Any]], earlier: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Finding]:
    """What the rules find on these hosts, and against how they were earlier, but for what is well."""
    return [finding for finding in judge(hosts, rules().values(), {}, earlier) if finding.status is not Status.PASS]


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


def asked(sections: Sequence[str], devices: Sequence[str]) -> list[str]:
    """The sections to be read, in the order of the record. Raises UsageError."""
    for name in sections:
        if name not in SECTIONS:
            raise UsageError(f"no section '{name}'; known: {', '.join(SECTIONS)}")
    if devices and sections and "network" not in sections:
        raise UsageError("-i chooses network interfaces, and that section was not asked for; add -t network")
    return [name for name in SECTIONS if not sections or name in sections]


def _only(devices: Sequence[str], network: Mapping[str, Any]) -> dict[str, Any]:
    interfaces = {interface["name"]: interface for interface in network.get("interfaces") or ()}
    for name in devices:
        if name not in interfaces:
            raise UsageError(f"no device '{name}'; known: {', '.join(interfaces) or 'none, they could not be read'}")
    return {**network, "interfaces": [interfaces[name] for name in interfaces if name in devices]}


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
