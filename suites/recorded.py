"""Hosts that were recorded, as they would be seen if they were living: from folders, outputs, or records of `info`.

May import: probes, factshape, hostinfo, narrow, report.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from probes import PROBES
from probes.errors import ProbeError
from probes.host import Folder
from probes.recorded import Recorded, open_recorded
from suites.factshape import shaped
from suites.hostinfo import Seen, Wanted, look
from suites.narrow import narrowed
from suites.report import Finding, Status


def seen_at(paths: Sequence[Path], wanted: Wanted) -> tuple[list[Seen], dict[str, Any]]:
    """The hosts that are recorded at `paths`, and the earlier facts of those that were recorded twice. Hosts of one
    name get a number. Raises UsageError for a section or device that is not there, ProbeError for a path at which
    nothing is recorded."""
    wanted = replace(wanted, sections=tuple(name for name in wanted.chosen() if name in PROBES))
    found: dict[str, Seen] = {}
    earlier: dict[str, Any] = {}
    for path in paths:
        for seen, before in _of_path(path, wanted):
            name = _free(seen.name, found)
            found[name] = replace(seen, name=name)
            if before is not None:
                earlier[name] = before
    return list(found.values()), earlier


def _of_path(path: Path, wanted: Wanted) -> Iterator[tuple[Seen, Any]]:
    """(host, its facts earlier, else None)."""
    records = [path] if path.suffix == ".json" and path.is_file() else sorted(path.glob("*.json"))
    told = [record for file in records if (record := _record(file))]
    if told:
        yield from ((seen, None) for record in told for seen in _of_record(record, wanted))
        return
    for recorded in open_recorded(path):
        seen = look(recorded.name, recorded.host, wanted)
        seen.findings += _remarks(recorded)
        yield seen, recorded.earlier and look(recorded.name, recorded.earlier, wanted).facts


def _record(file: Path) -> dict[str, Any] | None:
    """A record of `info`, or None. Raises ProbeError for one of another command."""
    try:
        content = json.loads(Folder(file.parent).read(file.name) or "")
    except (ValueError, RecursionError):
        return None
    if isinstance(content, dict) and content.get("kind", "info") != "info" and "schema_version" in content:
        raise ProbeError(f"{file}: this is a record of `opsdist {content['kind']}`, and not of `opsdist info`")
    if not isinstance(content, dict) or content.get("kind") != "info" or not isinstance(content.get("hosts"), list):
        return None
    hosts = all(isinstance(host, dict) and isinstance(host.get("name"), str) for host in content["hosts"])
    return content if hosts and all(isinstance(host.get("facts"), dict) for host in content["hosts"]) else None


def _of_record(record: dict[str, Any], wanted: Wanted) -> Iterator[Seen]:
    """Records of other versions and hands too: what cannot be facts is left out, and said."""
    for host in record["hosts"]:
        seen = Seen(host["name"], {})
        for section in wanted.sections:
            if section in host["facts"]:
                try:
                    seen.facts[section] = shaped(section, host["facts"][section])
                except ValueError as error:
                    seen.findings.append(_odd(host["name"], record, f"{section}{error}"))
        if wanted.devices:
            seen.facts = narrowed(seen.facts, wanted.devices)
        yield seen


def _odd(host: str, record: dict[str, Any], what: str) -> Finding:
    return Finding(
        check="record.facts",
        status=Status.WARN,
        message=f"the record's facts cannot be read here, and the section was left out: {what}",
        subject={"host": host},
        remedy="look at the host anew, or read the record with the opsdist that wrote it: "
        + str(record.get("opsdist")),
    )


def _free(name: str, taken: dict[str, Seen]) -> str:
    """The name, with a number where another host has it."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def _remarks(recorded: Recorded) -> list[Finding]:
    return [Finding("record.file", Status.INFO, remark, {"host": recorded.name}) for remark in recorded.remarks]
