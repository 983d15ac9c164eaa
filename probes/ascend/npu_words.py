"""Words of `npu-smi`, whatever was asked: its genuine faults, numbers in brackets, and how an answer becomes a `Said`.

May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from probes.reading import Said
from probes.tool_text import lines, number

FAULT = "fault"
"""The value that holds a message which tells of a fault and not of a question that was wrong."""

LOST_DEVICE = r"(?:device|npu|card|chip)\b.{0,20}\b(?:does|do|is) not exist"
FAULTS = (
    r"dcmi mod(?:ule|el) initiali[sz]ed? failed(?!, because the device is used)"
    r"|There is no NPU card on this server"
    r"|Invalid card id"
    rf"|{LOST_DEVICE}"
)
"""The driver cannot be reached; it has no device; the card that was asked for is gone. (Messages of the driver's
source. "The device is used" is another container's right and no fault.)"""

_FAULT = re.compile(FAULTS, re.IGNORECASE)
_MOST = 1e15
"""Beyond that a number is no amount of anything."""
_INTEGER = re.compile(r"\d{1,20}")


def answer(fill: Callable[[str, Said], None]) -> Callable[[str], Said]:
    """A parser that fills in what it understands, and takes note of faults before."""

    def parse(text: str) -> Said:
        said = Said()
        note_fault(text, said)
        fill(text, said)
        return said

    return parse


def note_fault(text: str, said: Said) -> None:
    for line in lines(text):
        if _FAULT.search(line):
            said.value(FAULT, line.strip()[:200], line)


def slug(key: str) -> str:
    """A printed key as the name of a value: `HBM Usage Rate(%)` -> `hbm_usage_rate`."""
    return re.sub(r"[^a-z0-9]+", "_", key.split("(")[0].lower()).strip("_")


def integer(text: str) -> int | None:
    """A text that is a whole number and nothing else."""
    return int(text) if _INTEGER.fullmatch(text) else None


def amount_of(text: str) -> float | int | None:
    """What is measured, in the unit that follows it."""
    amount = number(text)
    if amount is None or not abs(amount) <= _MOST:
        return None
    return int(amount) if amount.is_integer() else amount


def bracketed(text: str) -> list[str]:
    """`[4  4  0 ]` -> its words; a single word stands for a list of one."""
    return text.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()
