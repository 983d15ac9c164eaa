"""One thing to read: a file, a member of an archive, standard input.

May import: facts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from suites.diagnose.facts import NOBODY, Who


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is what evidence names it by: the path as given, with `!member` for a member of an archive. `who` is whose
    its name says it is. `open` gives its bytes, unpacked, anew at each call."""

    name: str
    open: Callable[[], BinaryIO]
    who: Who = NOBODY
    size: int | None = None
