"""Which device a single output of a tool for NPUs is about: the text itself says so, or the name of its file.

A text may hold the answers for several devices, as a loop over them prints, or for the dies of one card.
Pure functions of text. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from probes.tool_text import clean

TOOLS = ("npu-smi ", "hccn_tool ")
_NAMED = re.compile(r"(?<![a-z])(?:npu|dev|device|gpu|card|i)[_-]?(\d{1,2})(?![0-9a-z])", re.IGNORECASE)
_LAST = re.compile(r"(?<![0-9])[_-](\d{1,2})(?=\.(?:txt|log|out)$|$)")
_NUMBERED = re.compile(r"(?<![0-9])(?<=[_-])\d{1,2}(?![0-9A-Za-z])(?!\.\d)")
_TOLD = re.compile(r"\s*(?:NPU ID\s*:\s*(\d{1,2})\s*$|\[devid\s+(\d{1,2})\]|dev_id:\s*(\d{1,2})\s*,)", re.IGNORECASE)
_HEADLINE = re.compile(r"\W*(?:npu|device|dev|card)\W{0,3}(\d{1,2})\W*", re.IGNORECASE)
"""What people print between the answers of a loop: `== npu 3 ==`."""
_CHIP = re.compile(r"\s*Chip ID\s*:\s*(\d{1,2})\s*$")
_HELPER = re.compile(r"\s*Chip Name\s*:\s*mcu\s*$", re.IGNORECASE)
_HEAD = re.compile(r"\s*(?:(?:NPU ID|Chip Count)\s*:.*|:?\s*)")
"""What stands above the blocks of the chips."""
_COUNT = re.compile(r"^\s*Chip Count\s*:\s*(\d{1,2})\s*$", re.MULTILINE)
_SINGLE = re.compile(r" -(?:link|ip|net_health|netdetect|speed|mtu|fec|duplex) -g$| -t health ")
"""Questions whose answer has each key once."""
_ALL = (8, 16)
"""NPUs of a server: as many answers are those of all of them, in their order."""


@dataclass(frozen=True, slots=True)
class Part:
    """The answer about one chip; None where the text does not say."""

    device: int | None
    chip: int | None
    text: str


def of_names(names: Iterable[str]) -> dict[str, int]:
    """Name of a file -> the device in it: `x_npu3`, or the number in which alone several names differ."""
    found: dict[str, int] = {}
    alike: dict[str, list[tuple[str, int]]] = {}
    for name in names:
        if match := _NAMED.search(name):
            found[name] = int(match[1])
        elif numbers := list(_NUMBERED.finditer(name)):
            last = numbers[-1]
            alike.setdefault(f"{name[: last.start()]}*{name[last.end() :]}", []).append((name, int(last[0])))
    for several in alike.values():
        if len(several) > 1 and len({number for _, number in several}) == len(several):
            found |= dict(several)
    return found


def alone(rest: str) -> int | None:
    """The device that a name ends with, where nothing else follows the question: `_3.txt` of hccn_link_3.txt."""
    match = _LAST.fullmatch(rest.removesuffix(".txt").removesuffix(".log").removesuffix(".out"))
    return int(match[1]) if match and int(match[1]) < max(_ALL) else None


def is_told(text: str, named: int | None) -> bool:
    """Whether the text or the name of its file says what device it is about."""
    return named is not None or any(map(_TOLD.match, clean(text[:4096]).split("\n")))


def parts(line: str, text: str, named: int | None) -> tuple[list[Part], int]:
    """The answers to a question, and how many there are of which nobody says what device they are of. `named`: the
    device in the name of the file."""
    by_device = list(_by_device(clean(text).split("\n")))
    if by_device[0][0] is None and _SINGLE.search(line) and len(answers := list(_answers(by_device[0][1]))) > 1:
        if named is None and len(answers) in _ALL:
            return [Part(device, None, answer) for device, answer in enumerate(answers)], 1
        return [Part(named, None, answers[0])], len(answers)
    found = []
    for device, own in by_device:
        chips = by_chip("\n".join(own)) if " -c " in line else {}
        told = [Part(device, chip, answer) for chip, answer in chips.items()]
        found += told or [Part(device, None, text if len(by_device) == 1 else "\n".join(own))]
    return found, 1


def _by_device(lines: list[str]) -> Iterator[tuple[int | None, list[str]]]:
    """Lines of each device that the text names; all lines where it names none."""
    held: dict[int | None, list[str]] = {}
    device: int | None = None
    for line in lines:
        headline = _HEADLINE.fullmatch(line)
        if told := headline or _TOLD.match(line):
            device = int(next(number for number in told.groups() if number))
        if not headline:
            held.setdefault(device, []).append(line)
    above = held.pop(None, [])
    if not held:
        yield None, above
    for number, (device, own) in enumerate(held.items()):
        yield device, own if number else [*above, *own]


def by_chip(text: str) -> dict[int, str]:
    """The block of each chip, with its id above or below what is told of it. Helper chips are none."""
    lines = clean(text).split("\n")
    ids = [number for number, line in enumerate(lines) if _CHIP.match(line)]
    head = next((number for number, line in enumerate(lines) if not _HEAD.fullmatch(line)), len(lines))
    first = head in ids
    starts = ids if first else [head, *(number + 1 for number in ids[:-1])]
    ends = [*ids[1:], len(lines)] if first else [number + 1 for number in ids]
    found: dict[int, str] = {}
    count = _COUNT.search(text)
    for number, start, end in zip(ids, starts, ends, strict=False):
        own = _without_helper(lines[start:end])
        if (chip := _CHIP.match(lines[number])) and own and (count is None or len(found) < int(count[1])):
            found.setdefault(int(chip[1]), "\n".join([*lines[:head], *own]))
    return found


def _without_helper(lines: list[str]) -> list[str]:
    """Lines of a chip, up to those of a helper chip that follow without an id; none where all are a helper's."""
    helper = next((number for number, line in enumerate(lines) if _HELPER.match(line)), len(lines))
    if helper == len(lines):
        return lines
    above = lines[:helper]
    return above if any(line.strip(" \t:") and not _CHIP.match(line) for line in above) else []


def _answers(lines: list[str]) -> Iterator[str]:
    """Each begins with the key that the first one begins with."""
    keys = [line.partition(":")[0].strip() if ":" in line else "" for line in lines]
    first = next(filter(None, keys), None)
    starts = [number for number, key in enumerate(keys) if key and key == first]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield "\n".join(lines[start:end])
