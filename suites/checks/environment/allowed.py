"""Which values an environment variable takes, as data for the tables of variables. Pure. May import: suites.report."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from suites.report import Status

_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_PORTS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Allowed:
    """`text` completes "may be ..."."""

    text: str
    allows: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Variable:
    """`why`: what another value does. `status`: how bad that is. `source`: who says which values it takes."""

    name: str
    allowed: Allowed
    why: str
    status: Status
    source: str


ANYTHING = Allowed("anything", lambda value: True)


def whole(least: int, most: int | None = None, step: int = 1) -> Allowed:
    """Whole numbers."""
    upto = f"{least} or more" if most is None else f"{least} to {most}"
    multiple = f", a multiple of {step}" if step > 1 else ""

    def allows(value: str) -> bool:
        if not _WHOLE.fullmatch(value.strip()):
            return False
        number = int(value)
        return number >= least and (most is None or number <= most) and number % step == 0

    return Allowed(f"a whole number, {upto}{multiple}", allows)


def number(least: float, most: float) -> Allowed:
    """Numbers, with decimals."""

    def allows(value: str) -> bool:
        return bool(re.fullmatch(r"[0-9]{1,20}(?:\.[0-9]{1,9})?", value.strip())) and least <= float(value) <= most

    return Allowed(f"a number, {least:g} to {most:g}", allows)


def one_of(*words: str) -> Allowed:
    """Words, in any case."""
    known = frozenset(word.lower() for word in words)
    return Allowed(f"{', '.join(words[:-1])} or {words[-1]}", lambda value: value.strip().lower() in known)


def some_of(*words: str, mark: str = "") -> Allowed:
    """A list of words, in any case, separated by commas, perhaps after `mark`."""
    known = frozenset(word.lower() for word in words)

    def allows(value: str) -> bool:
        rest = value[len(mark) :] if mark and value.startswith(mark) else value
        return bool(rest) and all(word.lower() in known for word in rest.split(","))

    return Allowed(f"a list of {', '.join(words)}", allows)


def like(pattern: str, text: str) -> Allowed:
    expression = re.compile(pattern, re.IGNORECASE)
    return Allowed(text, lambda value: bool(expression.fullmatch(value)))


def an_address() -> Allowed:
    def allows(value: str) -> bool:
        try:
            ip_address(value)
        except ValueError:
            return False
        return True

    return Allowed("one IP address", allows)


def ports() -> Allowed:
    """HCCL's form: ports and ranges of them, none twice."""
    return Allowed(
        "auto, or ports and ranges such as 60000,60050-60100 that do not overlap",
        lambda value: value == "auto" or parse_ports(value) is not None,
    )


def parse_ports(value: str) -> Sequence[tuple[int, int]] | None:
    """The ranges of `60000,60050-60100`, in their order; None for what is none, or overlaps."""
    found: list[tuple[int, int]] = []
    for part in value.split(","):
        match = _PORTS.fullmatch(part.strip())
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= _LAST_PORT or any(first <= end and start <= last for start, end in found):
            return None
        found.append((first, last))
    return found
