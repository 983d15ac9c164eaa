"""Answers of `hccn_tool -tls`: whether connections between NPUs are encrypted, and until when certificates are valid.

Pure functions of text. May import: probes.
"""

from __future__ import annotations

import re

from probes.ascend.hccn_words import moment
from probes.reading import Said
from probes.tool_text import lines

_SWITCH = re.compile(r"dev_id:\s*([0-9]{1,4})\s*,\s*tls switch\[([01])\]", re.IGNORECASE)
_ALARM = re.compile(r"alarm time threshold\[([0-9]{1,5})\]", re.IGNORECASE)
_CERTIFICATE = re.compile(r"\[([a-z0-9 ]{1,20})\] info", re.IGNORECASE)
_STATE = re.compile(r"tls expiration status\[([012])\]", re.IGNORECASE)
_STATES = {"0": "normal", "1": "near expiration", "2": "expired"}


def parse_tls(text: str) -> Said:
    """`switch`: 0 or 1; `switches`: by device, as people ask several in one loop. `certificates`: name, end and state;
    whom they name is left out."""
    said = Said()
    switches: dict[str, int] = {}
    certificates: list[dict[str, str | None]] = []
    name, end = "", None
    for line in lines(text):
        if switch := _SWITCH.search(line):
            switches.setdefault(switch[1], int(switch[2]))
            said.value("switch", int(switch[2]), line)
            said.value("switches", switches)
            said.lines.setdefault(f"switch {switch[1]}", line.strip()[:200])
        if alarm := _ALARM.search(line):
            said.value("alarm_days", int(alarm[1]), line)
        if found := _CERTIFICATE.search(line):
            name, end = found[1], None
        elif "end_time[" in line:
            end = moment(line)
        elif state := _STATE.search(line):
            certificates.append({"name": name or "certificate", "ends": end, "state": _STATES[state[1]]})
            said.value("certificates", certificates)
            said.lines.setdefault(f"certificate {name or 'certificate'}", line.strip()[:200])
    return said
