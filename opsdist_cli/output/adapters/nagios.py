"""As a plugin of Nagios or Icinga: `STATUS: text | counts`, further lines after it, exit 0 1 2 3.

Source: the Monitoring Plugins guidelines. May import: from this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.adapters.words import bad, cut, ran, short

_CODES = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}
_LONGEST = 300


def render(record: Mapping[str, Any]) -> str:
    found, counts = bad(record), record["counts"]
    said = short(found[0], record) if found else f"{counts['pass']} checks passed" if ran(record) else "no check ran"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    performance = " ".join(f"'{status}'={counts[status]}" for status in counts)
    first = f"OPSDIST {_status(record)}: {_plain(cut(said, _LONGEST))}{more} | {performance}"
    lines = [f"{finding['status']}: {_plain(short(finding, record))}" for finding in found]
    return "\n".join([first, *lines]) + "\n"


def exit_code(record: Mapping[str, Any]) -> int:
    return _CODES[_status(record)]


def _status(record: Mapping[str, Any]) -> str:
    """A tool that hangs is as critical as what it would have told."""
    counts = record["counts"]
    if counts["fail"] or counts["error"]:
        return "CRITICAL"
    if not ran(record):
        return "UNKNOWN"
    return "WARNING" if counts["warn"] else "OK"


def _plain(text: str) -> str:
    """Without the sign that parts text from figures."""
    return text.replace("|", "/")
