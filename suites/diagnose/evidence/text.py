"""Bytes of a log -> blocks of whole lines in UTF-8, in constant memory, whatever the encoding and however long a line.

May import: the standard library.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

BLOCK = 1 << 20
LONGEST = 1 << 16
"""Bytes of a line that are looked at."""
_NARROWEST = 60
"""Width at which anything breaks lines."""
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_COLOURS = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[ -/]?[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\x1b\x08\x0c\x00")) + b"\x7f"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines, each but the last of a source with its line feed."""

    data: bytes
    first: int
    """Number of its first line."""
    cut: bool = False
    """The last line goes on, too long to be looked at."""


def looks_like_text(head: bytes) -> bool:
    """A few odd bytes are in many logs; more of them are in what is no text."""
    if _wide(head):
        return True
    told = head.replace(b"\0", b"")
    odd = len(told) - len(told.translate(None, _CONTROL))
    return bool(told) and odd * 20 < len(told)


def blocks(stream: BinaryIO) -> Iterator[Block]:
    """Of about BLOCK bytes each."""
    line, kept = 1, b""
    skipping = False
    for piece in _pieces(stream):
        if skipping:
            cut = piece.find(b"\n")
            if cut < 0:
                continue
            piece, skipping = piece[cut + 1 :], False
            line += 1
        kept += piece
        cut = max(kept.rfind(b"\n"), kept.rfind(b"\r") if len(kept) > BLOCK else -1) + 1
        if cut:
            yield Block(kept[:cut], line)
            line += kept.count(b"\n", 0, cut)
            kept = kept[cut:]
        elif len(kept) > BLOCK:
            yield Block(kept[:LONGEST], line, cut=True)
            kept, skipping = b"", True
    if kept:
        yield Block(kept, line)


def texts(line: bytes) -> list[str]:
    """What one line shows: a progress bar that overwrites itself is several of them."""
    text = uncoloured(line[:LONGEST].decode("utf-8", "replace")).rstrip("\r\n")
    return [part for part in text.split("\r") if part] if "\r" in text else [text]


def uncoloured(text: str) -> str:
    """Without what only a terminal understands."""
    return _COLOURS.sub("", text) if "\x1b" in text else text


def wrapped_at(head: str) -> int | None:
    """The width at which lines were broken by force (a terminal, a paste); None where they were not.

    Records of one kind may have one width too, but then they begin alike; what follows a break begins anyhow."""
    lines = [line.rstrip("\r") for line in head.split("\n")[:-1]]
    told = {line for line in lines if re.search(r"\w", line)}
    width = max((len(line) for line in told), default=0)
    full = sum(len(line) == width for line in told)
    if width < _NARROWEST or full < 3 or full * 5 < len(told):
        return None
    starts = Counter(_start(line) for line in lines)
    rests = [starts[_start(rest)] for line, rest in pairwise(lines) if len(line) == width]
    odd = sum(count * 10 <= max(len(lines), 10) for count in rests)
    return width if rests and odd * 10 >= len(rests) * 6 else None


def _start(line: str) -> str:
    return re.sub(r"\d", "0", line[:6])


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """Without byte order marks, and without the holes that a log truncated while it is written has."""
    piece = stream.read(BLOCK)
    encoding = _wide(piece)
    decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
    piece = piece.removeprefix(codecs.BOM_UTF8)
    while piece:
        if decoder:
            piece = decoder.decode(piece).removeprefix("\ufeff").encode("utf-8", "replace")
        if b"\0" in piece:
            piece = piece.replace(b"\0", b"")
        yield piece
        piece = stream.read(BLOCK)


def _wide(head: bytes) -> str | None:
    return next((name for mark, name in _WIDE.items() if head.startswith(mark)), None)
