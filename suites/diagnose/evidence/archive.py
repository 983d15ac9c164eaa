"""What is packed: compressed files and archives as streams of bytes. Nothing is ever extracted, names are only names.

Bounded, since an archive may be made to harm: so many members, so many bytes, so much more than is packed.
May import: facts.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, cast

from suites.diagnose.facts import Unread

MOST_MEMBERS = 100_000
_MOST_BYTES = 64 << 30
_MOST_RATIO = 2000
_FREE = 4 << 30
"""Bytes from which on the ratio counts: a log of one complaint packs very well."""
_HELD = 32 << 20
"""A member of this size is held in memory; a larger one is streamed anew each time."""
_HEAD = 512

Opener = Callable[[], BinaryIO]
Unpacker = Callable[[BinaryIO], Any]


class Closable(Protocol):
    def close(self) -> None: ...


class Exceeded(OSError):
    """It unpacks to more than anything honest does."""


DAMAGED = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
)
"""What reading something cut, damaged, encrypted or hostile raises."""


_UNPACKERS: Mapping[bytes, Unpacker] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
"""How it begins -> what reads it."""
_FOREIGN = {
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"7z\xbc\xaf\x27\x1c": "7z x",
    b"Rar!": "unrar x",
    b"\x04\x22\x4d\x18": "lz4 -d",
}
"""Packed, but by nothing that is read here -> the command that unpacks it."""


class _Bounded(io.RawIOBase):
    """A stream that ends with an error when it gives too much for what is packed in it."""

    def __init__(self, stream: BinaryIO, packed: int | None, *below: Closable) -> None:
        self._stream = stream
        self._below = below
        self._left = _MOST_BYTES if packed is None else min(_MOST_BYTES, max(_FREE, packed * _MOST_RATIO))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._stream.read(len(view))
        self._left -= len(data)
        if self._left < 0:
            raise Exceeded("it unpacks to far more than it should")
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        for one in (self._stream, *self._below):
            one.close()
        super().close()


def _bounded(stream: BinaryIO, packed: int | None, *below: Closable) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Bounded(stream, packed, *below)))


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Opens what is compressed in `packed`."""

    packed: Opener
    size: int | None = None

    def __call__(self) -> BinaryIO:
        head = _head(self.packed)
        unpack = next(unpacker for magic, unpacker in _UNPACKERS.items() if head.startswith(magic))
        raw = self.packed()
        return _bounded(unpack(raw), self.size, raw)


@dataclass(frozen=True, slots=True)
class _Held:
    data: bytes

    def __call__(self) -> BinaryIO:
        return io.BytesIO(self.data)


@dataclass(frozen=True, slots=True)
class _TarMember:
    archive: Opener
    index: int

    def __call__(self) -> BinaryIO:
        with ExitStack() as opened:
            raw = opened.enter_context(self.archive())
            tar = opened.enter_context(tarfile.open(fileobj=raw, mode="r|"))
            for index, member in enumerate(tar):
                if index == self.index and (stream := tar.extractfile(member)):
                    return _bounded(cast(BinaryIO, stream), None, opened.pop_all())
        raise EOFError("the archive ends before it")


@dataclass(frozen=True, slots=True)
class _ZipMember:
    archive: Opener
    index: int

    def __call__(self) -> BinaryIO:
        with ExitStack() as opened:
            raw = opened.enter_context(self.archive())
            packed = opened.enter_context(zipfile.ZipFile(raw))
            member = packed.infolist()[self.index]
            return _bounded(cast(BinaryIO, packed.open(member)), member.compress_size, opened.pop_all())


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    open: Opener
    size: int | None = None


def _head(opener: Opener) -> bytes:
    with opener() as stream:
        return stream.read(_HEAD)


def unpacked(opener: Opener, size: int | None) -> Opener:
    """What is in a compressed file; the file itself if it is none. Raises one of DAMAGED."""
    head = _head(opener)
    for magic, command in _FOREIGN.items():
        if head.startswith(magic):
            raise Exceeded(f"packed in a way that is not read here: unpack it with `{command}` first")
    return Unpacked(opener, size) if head.startswith(tuple(_UNPACKERS)) else opener


def members(opener: Opener, name: str) -> Iterator[Member | Unread] | None:
    """Of an archive; None if it is none. Raises one of DAMAGED."""
    head = _head(opener)
    if head[257:262] == b"ustar":
        return _of_tar(opener, name)
    if head.startswith(b"PK\x03\x04"):
        return _of_zip(opener, name)
    return None


def _of_tar(opener: Opener, name: str) -> Iterator[Member | Unread]:
    try:
        with opener() as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for index, member in enumerate(tar):
                if index >= MOST_MEMBERS:
                    yield Unread(name, f"it has more than {MOST_MEMBERS} members: the rest was not read")
                    return
                if not member.isfile():
                    continue
                if member.size > _HELD:
                    yield Member(member.name, _TarMember(opener, index), member.size)
                elif data := tar.extractfile(member):
                    yield Member(member.name, _Held(data.read()), member.size)
    except DAMAGED as error:
        yield Unread(name, f"the archive is cut or damaged, and what follows is lost: {error}")


def _of_zip(opener: Opener, name: str) -> Iterator[Member | Unread]:
    try:
        with opener() as stream, zipfile.ZipFile(stream) as packed:
            listed = packed.infolist()
    except DAMAGED as error:
        yield Unread(name, f"the archive is cut or damaged: {error}")
        return
    for index, member in enumerate(listed[:MOST_MEMBERS]):
        if member.flag_bits & 1:
            yield Unread(f"{name}!{member.filename}", "encrypted: unpack it first")
        elif not member.is_dir():
            yield Member(member.filename, _ZipMember(opener, index), member.file_size)
    if len(listed) > MOST_MEMBERS:
        yield Unread(name, f"it has more than {MOST_MEMBERS} members: the rest was not read")
