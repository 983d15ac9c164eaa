"""One JSON object a run, as contract.md describes it; never NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def render(record: Mapping[str, Any]) -> str:
    return json.dumps(_finite(record), indent=1, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
