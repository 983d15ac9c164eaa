"""Answers of `hccn_tool -link_stat`: when the link of a port came and went. The newest change stands first.

Pure functions of text. May import: probes.
"""

from __future__ import annotations

import re

from probes.ascend.hccn_words import fields, moment, rows, without_device
from probes.reading import Said
from probes.tool_text import lines, whole

_CHANGE = re.compile(r"LINK[ _](UP|DOWN)\b", re.IGNORECASE)


def parse_link_stat(text: str) -> Said:
    """`last`: the newest change. `changes`: all of them with their time by the tool's clock, whose `now` is told too.
    Of 950 it is a table, without `now`."""
    said = Said()
    changes: list[dict[str, str]] = []
    for key, value, line in fields(text):
        if key == "current time" and (now := moment(value)):
            said.moment("now", now, line)
        elif key in ("link up count", "link down count") and (count := whole(value)) is not None:
            said.counter(key.replace(" ", "_"), count, line)
        elif key == "link change records":
            said.moment("changes", changes, line)
    for time, state, line in [*_table(text), *_list(text)]:
        said.value("last", state, line)
        said.moment("changes", changes)
        changes.append({"time": time, "state": state})
    return said


def _list(text: str) -> list[tuple[str, str, str]]:
    found = []
    for line in map(without_device, lines(text)):
        change = None if line.lstrip().startswith("|") else _CHANGE.search(line)
        if change and (time := moment(line)):
            found.append((time, change[1].upper(), line))
    return found


def _table(text: str) -> list[tuple[str, str, str]]:
    found = []
    for row, line in rows(text):
        change, time = _CHANGE.search(row.get("link_status", "")), moment(row.get("time_stamp", ""))
        if change and time:
            found.append((time, change[1].upper(), line))
    return found
