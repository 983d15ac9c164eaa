"""Answers of `hccn_tool -optical`: the module of a port, its light, and the limits that it sets itself.

Pure functions of text. May import: probes.
"""

from __future__ import annotations

import math
import re

from probes.ascend.hccn_words import fields, measured
from probes.reading import Said

_LANE = re.compile(r"(tx power|rx power|tx bias|host snr lane|media snr lane) ?([0-9]{1,2})")
_LIMIT = re.compile(r"(temp|txpower|rxpower|vcc) (high|low) thres(?:hold)?")
_FLAG = re.compile(r"(tx|rx) ?(los|lol) flag")
_BITS = re.compile(r"0x[0-9a-f]{1,8}")
_UNITS = {"mw": "mW", "dbm": "dBm", "uw": "uW"}
_DARK = -40.0
"""dBm, what modules say where there is no light."""
_MOST = 100.0
"""dBm, beyond which no number can be meant."""


def parse_optical(text: str) -> Said:
    """`present`; of a moment `temperature`, `tx_power_0`, `media_snr_lane_0`, ... and the flags `rx_los`, whose bits
    are lanes; and the module's own limits, as `rxpower_low`. Powers are in `unit`, voltages in mV. Its
    serial number is left out."""
    said = Said()
    for key, value, line in fields(text):
        if key == "present":
            said.value("present", value.lower() == "present", line)
        elif key == "high power enable reg":
            said.value("high_power", value.lower() == "enabled", line)
        elif key == "vendor part number" and value:
            said.value("part", value, line)
        elif flag := _FLAG.fullmatch(key):
            if _BITS.fullmatch(value.lower()):
                said.moment(f"{flag[1]}_{flag[2]}", int(value, 16), line)
        elif (found := -math.inf if value.lower().startswith("-inf") else measured(value)) is not None:
            _number(said, key, found, value, line)
    return said


def _number(said: Said, key: str, found: float, value: str, line: str) -> None:
    unit = _UNITS.get(value.lower().split()[-1])
    if "power" in key and unit:
        said.value("unit", unit)
        found = _converted(found, unit, said.values["unit"])
    elif key.startswith("vcc") and value.lower().endswith(" v"):
        found *= 1000
    if not math.isfinite(found):
        return
    if key in ("temperature", "vcc"):
        said.moment(key, found, line)
    elif lane := _LANE.fullmatch(key):
        said.moment(f"{lane[1].replace(' ', '_')}_{lane[2]}", found, line)
    elif limit := _LIMIT.fullmatch(key):
        said.value(f"{limit[1]}_{limit[2]}", found, line)


def _converted(found: float, unit: str, wanted: str) -> float:
    """A power in the unit of the first one that is told. No light at all is minus infinity in dBm."""
    if unit == wanted:
        return max(found, _DARK) if found == -math.inf and unit == "dBm" else found
    milliwatts = 10 ** (min(found, _MOST) / 10) if unit == "dBm" else found / (1000 if unit == "uW" else 1)
    if wanted == "dBm":
        return round(10 * math.log10(max(milliwatts, 10 ** (_DARK / 10))), 4)
    return round(milliwatts * (1000 if wanted == "uW" else 1), 7)
