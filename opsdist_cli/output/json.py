"""One JSON object a run, as contract.md describes it; never NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

_MANY = 64
"""From so many hosts on, each is a line: indented, the record of a fleet would take longer to write than to find."""


def render(record: Mapping[str, Any]) -> str:
    hosts = record.get("hosts") or ()
    if len(hosts) < _MANY:
        return json.dumps(_finite(record), indent=1, allow_nan=False) + "\n"
    rest = json.dumps(_finite({**record, "hosts": []}), indent=1, allow_nan=False)
    lines = ",\n".join(f"  {_line(host)}" for host in hosts)
    return rest.replace('\n "hosts": []', f'\n "hosts": [\n{lines}\n ]', 1) + "\n"


def _line(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
