"""Answers of `hccn_tool` that count packets, code words and errors of a port.

Pure functions of text. May import: probes.
"""

from __future__ import annotations

import re

from probes.ascend.hccn_words import fields, measured
from probes.reading import Said
from probes.tool_text import whole

_NAME = re.compile(r"[a-z][a-z0-9]{0,20}(?:_[a-z0-9]{1,20}){1,10}")


def parse_counters(text: str) -> Said:
    """`-stat` and `-stat_extra`. The rate of bits that had to be corrected, which is before any correction, is of all
    bits since the counters were cleared."""
    said = Said()
    for key, value, line in fields(text):
        if key == "correcting_bit_rate":
            if (rate := measured(value)) is not None and 0 <= rate <= 1:
                said.moment(key, rate, line)
        elif _NAME.fullmatch(key) and (count := whole(value)) is not None:
            said.counter(key, count, line)
    return said
