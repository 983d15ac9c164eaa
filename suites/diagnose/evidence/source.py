"""One thing to read: a file, a member of an archive, standard input; and all of them that paths lead to.

May import: facts, archive, line, names.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import BinaryIO

from suites.diagnose.evidence.archive import DAMAGED, Opener, members, unpacked
from suites.diagnose.evidence.line import merged
from suites.diagnose.evidence.names import owner
from suites.diagnose.facts import NOBODY, Unread, Who

STANDARD_INPUT = "-"
_COMPARED = 16 << 20
"""Files up to this size are compared by their content."""


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is what evidence names it by: the path as given, with `!member` for a member of an archive. `who` is whose
    its name says it is. `open` gives its bytes, unpacked, anew at each call."""

    name: str
    open: Callable[[], BinaryIO]
    who: Who = NOBODY
    size: int | None = None


@dataclass(frozen=True, slots=True)
class _File:
    path: str

    def __call__(self) -> BinaryIO:
        # Without waiting: what was a plain file a moment ago may be a pipe by now.
        return open(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


class _Spooled:
    """Standard input in a file, which is there for as long as this is. A copy for another process is its path alone."""

    def __init__(self, stream: BinaryIO) -> None:
        with tempfile.NamedTemporaryFile(prefix="opsdist-", delete=False) as spooled:
            self.path = spooled.name
            weakref.finalize(self, _remove, self.path, os.getpid())
            shutil.copyfileobj(stream, spooled)

    def __call__(self) -> BinaryIO:
        return _File(self.path)()

    def __reduce__(self) -> tuple[type[_File], tuple[str]]:
        return _File, (self.path,)


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:
        os.unlink(path)


def sources(paths: Sequence[str]) -> Iterator[Source | Unread]:
    """Of all files in the order of the paths; folders with all that is in them, by name."""
    seen = _Seen()
    for path in paths:
        if path == STANDARD_INPUT and sys.stdin is None:
            yield Unread("standard input", "closed")
        elif path == STANDARD_INPUT:
            spooled = _Spooled(sys.stdin.buffer)
            yield from _opened("standard input", spooled, os.path.getsize(spooled.path), NOBODY)
        elif _is_empty(path):
            yield Unread(path, "a folder with nothing in it")
        else:
            yield from _of_path(path, seen)


def _is_empty(path: str) -> bool:
    try:
        return not os.listdir(path)
    except (OSError, ValueError):
        return False


@dataclass(slots=True)
class _Seen:
    """What was given already, so that nothing counts twice."""

    folders: set[tuple[int, int]] = field(default_factory=set)
    """Device and inode."""
    places: dict[tuple[int, int, Who], str] = field(default_factory=dict)
    sizes: dict[tuple[int, Who], list[str]] = field(default_factory=dict)
    """Only equal files of the same owner are one: short logs of two ranks may well be alike."""

    def like(self, path: str, status: os.stat_result, who: Who) -> str | None:
        """The name of what is the same."""
        place = (status.st_dev, status.st_ino, who)
        if place in self.places:
            return self.places[place]
        self.places[place] = path
        if not 0 < status.st_size <= _COMPARED:
            return None
        alike = self.sizes.setdefault((status.st_size, who), [])
        own = _digest(path) if alike else b""
        for other in alike:
            if _digest(other) == own and not _in_series(other, path):
                return other
        alike.append(path)
        return None


def _in_series(one: str, other: str) -> bool:
    """Numbered files of one folder are looks at different times: that nothing has changed is what they tell."""
    return os.path.dirname(one) == os.path.dirname(other) and _numberless(one) == _numberless(other)


def _numberless(path: str) -> str:
    return re.sub(r"\d+", "#", os.path.basename(path))


def _digest(path: str) -> bytes:
    with _File(path)() as stream:
        return blake2b(stream.read(_COMPARED + 1)).digest()


def _of_path(path: str, seen: _Seen) -> Iterator[Source | Unread]:
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            if (status.st_dev, status.st_ino) not in seen.folders:
                seen.folders.add((status.st_dev, status.st_ino))
                for name in sorted(os.listdir(path), key=_natural):
                    yield from _of_path(os.path.join(path, name), seen)
            return
        if not stat.S_ISREG(status.st_mode):
            is_pipe = stat.S_ISFIFO(status.st_mode)
            yield Unread(path, "a pipe: give it as standard input, with - as PATH" if is_pipe else "no plain file")
            return
        who = merged(owner(os.path.realpath(path)), owner(path)) if os.path.islink(path) else owner(path)
        if same := seen.like(path, status, who):
            yield Unread(path, f"same as {same}")
            return
    except (OSError, ValueError) as error:
        yield Unread(path, _why(error))
        return
    yield from _opened(path, _File(path), status.st_size, who)


def _why(error: Exception) -> str:
    """Without the name, which stands beside it."""
    return getattr(error, "strerror", None) or str(error)


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """So that 10 comes behind 9."""
    parts = re.split(r"(\d{1,18})", name, flags=re.ASCII)
    return tuple((int(part), "") if part[:1].isdecimal() and part.isascii() else (-1, part) for part in parts)


def _opened(name: str, opener: Opener, size: int, who: Who, *, depth: int = 0) -> Iterator[Source | Unread]:
    """What is in a file: it alone, or the members of an archive, and those of one in it."""
    try:
        inner = unpacked(opener, size)
        contents = members(inner, name)
    except DAMAGED as error:
        yield Unread(name, _why(error))
        return
    if contents is None:
        yield Source(name, inner, who, size if inner is opener else None)
    elif depth > 1:
        yield Unread(name, "an archive in an archive in an archive: unpack it first")
    else:
        for member in contents:
            if isinstance(member, Unread):
                yield member
            else:
                inside = f"{name}!{member.name}"
                yield from _opened(inside, member.open, member.size or 0, owner(inside), depth=depth + 1)
