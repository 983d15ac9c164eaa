"""The clock: what keeps it, and whether it is synchronised.

Sources: `chronyc tracking`, which knows how far the clock is off, then `timedatectl`; sysfs for the counter that the
kernel takes the time from. May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.kernel_text import word
from probes.reading import Reading, Said, State
from probes.tool_text import lines, number, pairs, whole
from probes.visit import Query, Tool, Visit

_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_HARDWARE = "/sys/class/ptp"
_LOCAL = "7F7F0101"
"""What chronyd gives as its reference where it follows its own clock (`local` in chrony.conf)."""
_NOT_SYNCHRONISED = "not synchronised"

CHRONYC = Tool("chronyc", messages=((r"50[016] |not authori[sz]ed", State.REFUSED),))
TIMEDATECTL = Tool(
    "timedatectl",
    messages=(
        (r"not been booted with systemd|failed to connect to bus|failed to create bus", State.UNSUPPORTED),
        (r"access denied", State.REFUSED),
    ),
)


@dataclass(frozen=True, slots=True)
class ClockFacts:
    """`source`: the command that told the most. The offset from the reference's time is that of one moment, in seconds,
    positive where this clock is ahead. `hardware_clocks`: those of network cards, which PTP uses."""

    synchronised: bool | None
    source: str | None = None
    leap_status: str | None = None
    stratum: int | None = None
    momentary_offset_seconds: float | None = None
    clocksource: str | None = None
    hardware_clocks: tuple[str, ...] | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


def read(visit: Visit) -> ClockFacts:
    readings = visit.ask_all(CHRONYC, CHRONY_QUERIES) | _timedatectl(visit)
    tracked = readings.get("tracking")
    known = [reading for reading in readings.values() if "synchronised" in reading.values]
    values = known[0].values if known else {}
    return ClockFacts(
        synchronised=values.get("synchronised"),
        source=known[0].source if known else None,
        leap_status=values.get("leap_status"),
        stratum=tracked.momentary.get("stratum") if tracked else None,
        momentary_offset_seconds=tracked.momentary.get("offset_seconds") if tracked else None,
        clocksource=word(visit.read(_SOURCE)),
        hardware_clocks=visit.listdir(_HARDWARE),
        readings=readings,
    )


def _timedatectl(visit: Visit) -> dict[str, Reading]:
    """The older of its ways to say it is asked where the newer one is not known, or was not recorded."""
    readings = visit.ask_all(TIMEDATECTL, TIME_QUERIES[:1])
    if not readings or readings["show"].state is State.FAILED:
        readings |= visit.ask_all(TIMEDATECTL, TIME_QUERIES[1:])
    return readings


def parse_tracking(text: str) -> Said:
    """`chronyc tracking`. A clock without a reference still has an offset, which then means nothing."""
    said = Said()
    for key, value, line in pairs(text):
        if key == "Leap status" and value:
            said.value("leap_status", value, line)
            said.value("synchronised", value.lower() != _NOT_SYNCHRONISED, line)
        elif key == "Reference ID" and value.upper().startswith(_LOCAL):
            said.value("own_clock", True, line)
        elif key == "Stratum" and (stratum := whole(value)) is not None:
            said.moment("stratum", stratum, line)
        elif key == "System time" and (offset := number(value)) is not None:
            said.moment("offset_seconds", -offset if "slow" in value else offset, line)
    if said.values.get("own_clock") and said.values.get("synchronised"):
        said.values["synchronised"] = False
        said.lines["synchronised"] = said.lines["own_clock"]
    if said.values.get("synchronised") is False:
        said.momentary.pop("offset_seconds", None)
    return said


def parse_timedatectl(text: str) -> Said:
    """`NTPSynchronized=yes` of `timedatectl show`, `System clock synchronized: yes` of `timedatectl status`, and `NTP
    synchronized: yes` of an older one."""
    said = Said()
    for line in lines(text):
        key, _, value = (part.strip() for part in line.replace("=", ":", 1).partition(":"))
        if value.lower() not in ("yes", "no", "active", "inactive"):
            continue
        on = value.lower() in ("yes", "active")
        if key.lower() in ("ntpsynchronized", "system clock synchronized", "ntp synchronized"):
            said.value("synchronised", on, line)
        elif key.lower() in ("ntp", "ntp service", "network time on", "systemd-timesyncd.service active"):
            said.value("service", on, line)
    return said


CHRONY_QUERIES = (Query("tracking", "tracking", parse_tracking, seconds=10.0, quick=True),)
TIME_QUERIES = (
    Query("show", "show", parse_timedatectl, seconds=10.0, quick=True),
    Query("status", "", parse_timedatectl, seconds=10.0, quick=True),
)
