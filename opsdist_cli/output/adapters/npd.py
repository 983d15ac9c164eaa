"""As a custom plugin of Kubernetes' node-problem-detector: one short line, exit 0 OK, 1 not OK, 2 unknown.

Its output is cut at max_output_length, 80 in the sample configuration. May import: from this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.adapters.words import bad, cut, ran, short

_LONGEST = 80


def render(record: Mapping[str, Any]) -> str:
    found = [finding for finding in bad(record) if finding["status"] != "warn"]
    if found:
        more = f" (+{len(found) - 1})" if len(found) > 1 else ""
        return cut(short(found[0], record), _LONGEST - len(more)) + more + "\n"
    return f"{record['counts']['pass']} checks passed\n" if ran(record) else "no check ran\n"


def exit_code(record: Mapping[str, Any]) -> int:
    if record["counts"]["fail"] or record["counts"]["error"]:
        return 1
    return 0 if ran(record) else 2
