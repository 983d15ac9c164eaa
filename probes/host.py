"""The only door to a host: its files, commands, environment variables and the few system calls.

Nothing here raises for what is missing, forbidden or slow. The answer is then None, "unknown", never a made-up value.
A probe that uses nothing but a `Host` runs on this machine, on a folder in a test, and on what another host recorded.
May import: the standard library, and psutil when addresses are asked for.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from probes import command
from probes.command import Answer as Answer

_PIECE = 1 << 16
_LARGEST = 64 << 20
"""Bytes of a file that is read: settings, lists and what the kernel shows are far below."""


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes of a file system; `free` is what a process without privileges may still take."""

    total: int
    free: int


@dataclass(frozen=True, slots=True)
class Runtime:
    """What no file tells: the machine's architecture, the C library and the Python that runs this."""

    architecture: str
    c_library: str | None
    python: str


class Host(Protocol):
    """The questions a probe may ask. Paths are absolute, as on the host itself."""

    @property
    def environ(self) -> Mapping[str, str]: ...

    def read(self, path: str) -> str | None:
        """A file's text; None where there is no file, or one that is not for reading as a whole: a pipe, a device, or
        what is larger than any file that a probe reads."""

    def tail(self, path: str, size: int) -> str | None:
        """The last `size` bytes of a file, from the first whole line on: for logs, which may be of any length."""

    def listdir(self, path: str) -> tuple[str, ...] | None:
        """Sorted names."""

    def exists(self, path: str) -> bool: ...

    def link(self, path: str) -> str | None:
        """Where a symbolic link points, as it is written."""

    def space(self, path: str) -> Space | None: ...

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        """None when there is no such command. It and its children are killed at the deadline (seconds)."""

    def recorded(self) -> tuple[str, ...] | None:
        """The command lines whose output is known; None of a host that can be asked anything."""

    def addresses(self) -> Mapping[str, tuple[tuple[str, str | None], ...]] | None:
        """Per interface: (IP address, netmask). Hardware addresses identify a machine and stay behind the door."""

    def runtime(self) -> Runtime | None: ...

    def packages(self, names: Sequence[str]) -> Mapping[str, str | None] | None:
        """Versions of installed Python distributions, None for one that is not; nothing is imported."""


class Folder:
    """A tree of files, real or recorded, as the host sees it from its root."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(root)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._root)!r})"

    def _at(self, path: str) -> Path:
        return self._root / path.lstrip("/")

    def read(self, path: str) -> str | None:
        try:
            with _opened(self._at(path)) as file:
                content = b"".join(_pieces(file))
        except (OSError, ValueError):
            return None
        return content.decode("utf-8", "replace") if len(content) <= _LARGEST else None

    def tail(self, path: str, size: int) -> str | None:
        try:
            with _opened(self._at(path)) as file:
                length = file.seek(0, os.SEEK_END)
                file.seek(max(0, length - size))
                kept = file.read(size)
        except (OSError, ValueError):
            return None
        return last_lines(kept.decode("utf-8", "replace"), whole=length <= size)

    def listdir(self, path: str) -> tuple[str, ...] | None:
        try:
            return tuple(sorted(os.listdir(self._at(path))))
        except (OSError, ValueError):
            return None

    def exists(self, path: str) -> bool:
        return os.path.lexists(self._at(path))

    def link(self, path: str) -> str | None:
        try:
            return os.readlink(self._at(path))
        except (OSError, ValueError):
            return None


class LocalHost(Folder):
    """This machine. Another `root` replaces its files (and commands named by their path), nothing else."""

    def __init__(self, root: str | os.PathLike[str] = "/") -> None:
        super().__init__(root)

    @property
    def environ(self) -> Mapping[str, str]:
        # A value may hold any bytes; what is no UTF-8 could later not be printed.
        return {_printable(name): _printable(value) for name, value in os.environ.items()}

    def space(self, path: str) -> Space | None:
        try:
            found = os.statvfs(self._at(path))
        except OSError:
            return None
        return Space(found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail)

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        return command.run([str(self._at(argv[0])) if argv[0].startswith("/") else argv[0], *argv[1:]], timeout)

    def recorded(self) -> tuple[str, ...] | None:
        return None

    def addresses(self) -> Mapping[str, tuple[tuple[str, str | None], ...]] | None:
        import socket

        import psutil

        try:
            found = psutil.net_if_addrs()
        except (OSError, psutil.Error):
            return None
        spoken = (socket.AF_INET, socket.AF_INET6)
        return {
            name: tuple((entry.address, entry.netmask) for entry in entries if entry.family in spoken)
            for name, entries in found.items()
        }

    def runtime(self) -> Runtime | None:
        name, release = platform.libc_ver()
        return Runtime(platform.machine(), f"{name} {release}".strip() or None, platform.python_version())

    def packages(self, names: Sequence[str]) -> Mapping[str, str | None] | None:
        return {name: _version(name) for name in names}


class PassingHost:
    """A host that passes every question on to another one: what wraps a host says only what it does differently."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def environ(self) -> Mapping[str, str]:
        return self._host.environ

    def read(self, path: str) -> str | None:
        return self._host.read(path)

    def tail(self, path: str, size: int) -> str | None:
        return self._host.tail(path, size)

    def listdir(self, path: str) -> tuple[str, ...] | None:
        return self._host.listdir(path)

    def exists(self, path: str) -> bool:
        return self._host.exists(path)

    def link(self, path: str) -> str | None:
        return self._host.link(path)

    def space(self, path: str) -> Space | None:
        return self._host.space(path)

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        return self._host.run(argv, timeout)

    def recorded(self) -> tuple[str, ...] | None:
        return self._host.recorded()

    def addresses(self) -> Mapping[str, tuple[tuple[str, str | None], ...]] | None:
        return self._host.addresses()

    def runtime(self) -> Runtime | None:
        return self._host.runtime()

    def packages(self, names: Sequence[str]) -> Mapping[str, str | None] | None:
        return self._host.packages(names)


def _opened(path: Path) -> BinaryIO:
    """Raises OSError for what is no plain file: a pipe may never have a writer, a device never ends."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path} is no plain file")
    return path.open("rb")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Until the end, or beyond what is read. In pieces, since /proc/sys refuses to be asked for much at once."""
    left = _LARGEST + 1
    while left > 0 and (piece := file.read(min(left, _PIECE))):
        yield piece
        left -= len(piece)


def last_lines(text: str, whole: bool) -> str:
    """The end of a text, without its first line where that may have been cut."""
    return text if whole else text.partition("\n")[2]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _printable(text: str) -> str:
    return os.fsencode(text).decode("utf-8", "replace")
