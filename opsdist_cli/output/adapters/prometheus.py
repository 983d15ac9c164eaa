"""As a text file of Prometheus' node exporter: a gauge a check and host, without time stamps, which it refuses.

Source: the text exposition format 0.0.4. May import: from this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

Record = Mapping[str, Any]

_STATUSES = ("pass", "info", "warn", "fail", "skip", "error")
_WELL = ("pass", "info")


def render(record: Record) -> str:
    return "\n".join([*_checks(record), *_counts(record), *_run(record)]) + "\n"


def exit_code(record: Record) -> int:
    code: int = record["exit_code"]
    return code


def _checks(record: Record) -> Iterator[str]:
    """1: all is well; 0: it is not, or could not be found out though it was asked. What does not apply is left out."""
    yield "# HELP opsdist_check_status Whether a check found all well (1) or not (0)."
    yield "# TYPE opsdist_check_status gauge"
    worst: dict[tuple[str, str], int] = {}
    for finding in record["findings"]:
        if finding["status"] != "skip":
            key = (finding["check"], finding["subject"].get("host", ""))
            worst[key] = min(worst.get(key, 1), int(finding["status"] in _WELL))
    for (check, node), value in sorted(worst.items()):
        yield f'opsdist_check_status{{check="{_escaped(check)}",node="{_escaped(node)}"}} {value}'


def _counts(record: Record) -> Iterator[str]:
    yield "# HELP opsdist_findings How many findings of the last run had this status."
    yield "# TYPE opsdist_findings gauge"
    yield from (f'opsdist_findings{{status="{status}"}} {record["counts"][status]}' for status in _STATUSES)


def _run(record: Record) -> Iterator[str]:
    ended = datetime.fromisoformat(record["ended"]).timestamp()
    yield "# HELP opsdist_last_run_timestamp_seconds When the last run ended."
    yield "# TYPE opsdist_last_run_timestamp_seconds gauge"
    yield f"opsdist_last_run_timestamp_seconds {ended:.3f}"
    yield "# HELP opsdist_build_info The version that ran."
    yield "# TYPE opsdist_build_info gauge"
    yield f'opsdist_build_info{{version="{_escaped(record["opsdist"])}"}} 1'


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
