"""One JSON object, and never NaN."""

from __future__ import annotations

import json
import math

from opsdist_cli.output.json import render


def test_what_is_not_a_number_is_null() -> None:
    text = render({"a": math.nan, "b": [math.inf, 1.5, {"c": -math.inf}], "d": (1, "NaN")})
    assert json.loads(text) == {"a": None, "b": [None, 1.5, {"c": None}], "d": [1, "NaN"]}
    assert text.endswith("}\n")
