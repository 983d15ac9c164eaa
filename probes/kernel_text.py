"""The kernel's small text formats: a count, a list of CPUs, a bound, lines of `key: value`.

Every parser takes what `Host.read` gave, None included, and answers None for what it does not understand.
May import: the standard library.
"""

from __future__ import annotations

from typing import Literal

UNLIMITED: Literal["unlimited"] = "unlimited"
"""Read, and there is no limit; None is "could not be read"."""

Bound = int | Literal["unlimited"]

_MOST_CPUS = 1 << 16
"""Far above any kernel's NR_CPUS; a longer range is not a list of CPUs."""


def count(text: str | None) -> int | None:
    """A number that is not negative: -1 is how many files say "unknown"."""
    try:
        found = -1 if text is None else int(text)
    except ValueError:
        return None
    return found if found >= 0 else None


def word(text: str | None) -> str | None:
    """The text without its line end; None when nothing is left."""
    return (text or "").strip() or None


def bound(text: str | None, none: str) -> Bound | None:
    """A number, or UNLIMITED where the kernel writes `none` ("max", "-1", "unlimited")."""
    return UNLIMITED if word(text) == none else count(text)


def cpu_list(text: str | None) -> tuple[int, ...] | None:
    """`0-3,8` as (0, 1, 2, 3, 8); an empty list is ()."""
    if text is None:
        return None
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, dash, last = part.partition("-")
        start, stop = count(first), count(last if dash else first)
        if start is None or stop is None or not start <= stop < _MOST_CPUS:
            return None
        cpus.update(range(start, stop + 1))
    return tuple(sorted(cpus))


def fields(text: str | None) -> dict[str, str]:
    """`key: value` lines; of a repeated key the first counts."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip(), value.strip())
    return found


def kibibytes(text: str | None) -> int | None:
    """`24683652 kB` (the kernel's kB is 1024 bytes) in bytes."""
    amount = count((text or "").removesuffix("kB"))
    return None if amount is None else amount * 1024
