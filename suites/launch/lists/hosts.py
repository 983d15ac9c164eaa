"""Host lists: what `--hosts` and `--hostfile` say, in whoever's format, as entries in the order written.

Text in, entries out; only `read_hostfile` touches the system.
May import: the standard library, errors, nodeset, ranktable.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from suites.errors import UsageError
from suites.launch.lists import ranktable
from suites.launch.lists.nodeset import MOST_NAMES, expand, quoted, split
from suites.launch.lists.ranktable import Device

MOST_SLOTS = 4096
"""More than any host has, and less than the ports that are written where slots belong."""
_LONGEST_HOST = 253
_MOST_BYTES = 64 << 20

_HOST = re.compile(r"\w[\w.-]*", re.ASCII)
_USER = re.compile(r"\w[\w.+-]*", re.ASCII)
_ZONE = re.compile(r"[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class HostEntry:
    """A host: what ssh is given (`node01`, `10.0.0.5`, `fd00::1`, `user@node01`), and its slots where they were given.

    `devices` are those of a rank table, so that one can be written. As text it is what `--hosts` takes.
    """

    name: str
    slots: int | None = None
    devices: tuple[Device, ...] = ()

    def __str__(self) -> str:
        if self.slots is None:
            return self.name
        user, at, host = self.name.rpartition("@")
        return f"{user}{at}[{host}]:{self.slots}" if ":" in host else f"{self.name}:{self.slots}"


def parse_hosts(text: str, where: str = "--hosts") -> tuple[HostEntry, ...]:
    """Entries of `a,b:8,node[01-16,20]:4,user@h,[fd00::1]:4`, separated by commas or blanks. Raises UsageError.

    An IPv6 address without brackets has no slots: `fd00::1:4` is an address. A host named twice is refused.
    """
    entries = _collected((entry, where, False) for entry in _entries(text, where))
    if not entries:
        raise UsageError(f"{where}: no host is named; write for example node01,node02 or node[01-16]:8")
    return entries


def read_hostfile(path: str) -> tuple[HostEntry, ...]:
    """Entries of this file, as `parse_hostfile` has them. Raises UsageError, also when it cannot be read."""
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read the host file {path}: {error.strerror}; name a file that can be read") from None
    if len(content) > _MOST_BYTES:
        raise UsageError(f"{path}: more than {_MOST_BYTES >> 20} MiB cannot be a host list; name another file")
    try:
        return parse_hostfile(content.decode("utf-8"), path)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: this is not UTF-8 text; name a host list, or save it as UTF-8") from None


def parse_hostfile(text: str, file: str) -> tuple[HostEntry, ...]:
    """Entries of a host file; `file` is its name for messages. Raises UsageError.

    Every line may be of another kind: `node01 slots=8 max-slots=8` (Open MPI, DeepSpeed), `node01:8 user=me` (MPICH,
    hccl_test), node sets (Slurm), or several items as in `--hosts`; # begins a comment. A text that begins with a brace
    is HCCL's rank table.

    A host named twice is refused, but for files of nothing but bare names, one a line. If a name is repeated there, all
    have as many slots as lines. That is what batch systems write, and what Open MPI and MPICH both make of it, whereas
    slots that are given twice are an error for Open MPI and DeepSpeed.
    """
    text = text.removeprefix("\ufeff")
    table = text.lstrip().startswith("{")
    entries = _collected(_of_rank_table(text, file) if table else _of_lines(text, file))
    if not entries:
        raise UsageError(f"{file}: no host is named; write one a line, for example node01:8")
    return entries


def task_counts(text: str, where: str = "SLURM_TASKS_PER_NODE") -> tuple[int, ...]:
    """Slurm's run lengths: `4(x3),2` are 4, 4, 4, 2 tasks. Raises UsageError."""
    counts: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?", part.strip())
        tasks, nodes = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
        if not 1 <= tasks <= MOST_SLOTS or not 1 <= nodes <= MOST_NAMES - len(counts):
            raise UsageError(f"{where}: {quoted(part)} is not a number of tasks a node; write for example 8(x16),4")
        counts += [tasks] * nodes
    return tuple(counts)


_Found = tuple[HostEntry, str, bool]
"""An entry, where it stood, and whether its line is a bare name."""


def _collected(found: Iterable[_Found]) -> tuple[HostEntry, ...]:
    """Each host once. Raises UsageError as soon as there is something wrong, so that nothing large is built."""
    seen: dict[str, tuple[HostEntry, str]] = {}
    lines: Counter[str] = Counter()
    refusal: UsageError | None = None
    all_bare = True
    for entry, where, bare in found:
        key = _key(entry.name)
        first, place = seen.setdefault(key, (entry, where))
        lines[key] += 1
        all_bare = all_bare and bare and entry.name == first.name
        if lines[key] > 1 and refusal is None:
            refusal = _twice(first, place, entry, where)
        if refusal and not all_bare:
            raise refusal
        if len(seen) > MOST_NAMES:
            raise UsageError(f"{where}: these are more than {MOST_NAMES} hosts")
        if lines[key] > MOST_SLOTS:
            raise UsageError(f"{where}: {quoted(entry.name)} stands on more than {MOST_SLOTS} lines")
    return tuple(replace(entry, slots=lines[key]) if refusal else entry for key, (entry, _) in seen.items())


def _twice(first: HostEntry, place: str, entry: HostEntry, where: str) -> UsageError:
    total = min((first.slots or 1) + (entry.slots or 1), MOST_SLOTS)
    also = "twice" if where == place else f"again, after {place}"
    remedy = f"name a host once, with all its slots: {replace(first, slots=total)}"
    return UsageError(f"{where}: {quoted(entry.name)} is named {also}; {remedy}")


def _key(name: str) -> str:
    """The same for two names that are one host for certain."""
    host = name.rpartition("@")[2].lower()
    return str(IPv6Address(host)) if ":" in host else host


def _of_rank_table(text: str, file: str) -> Iterator[_Found]:
    for server in ranktable.read(text, file):
        try:
            yield _entry(server.name, server.count, server.devices), file, False
        except ValueError as error:
            raise UsageError(f"{file}: {error}") from None


def _of_lines(text: str, file: str) -> Iterator[_Found]:
    for number, line in enumerate(text.split("\n"), 1):
        line, where = line.partition("#")[0].strip(), f"{file}:{number}"
        for entry in _entries(line, where):
            yield entry, where, line == entry.name


def _entries(line: str, where: str) -> Iterator[HostEntry]:
    """What one line without comment names. Raises UsageError."""
    try:
        # Open MPI takes blanks around an equals sign.
        items = split("=".join(part.strip() for part in line.split("=")))
        if any("=" in item and not item.startswith("-") for item in items[1:]):
            yield from _with_words(items[0], items[1:])
        else:
            for item in items:
                yield from _item(item)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def _with_words(item: str, words: list[str]) -> Iterator[HostEntry]:
    """Of `node01 slots=8 max-slots=16 user=me`. Raises ValueError."""
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        key = key.replace("-", "_")
        if not equals:
            raise ValueError(f"{quoted(word)} and {quoted(item)} share a line with slots; write one host a line")
        if key not in ("slots", "max_slots", "user"):
            raise ValueError(f"{quoted(word)} is not understood; after a host, write slots=8 and no more")
        if key in given:
            raise ValueError(f"{quoted(word)} is the second {key.replace('_', '-')} of a host; remove one")
        given[key] = value
    most = _slots(given["max_slots"]) if "max_slots" in given else None
    slots = _slots(given["slots"]) if "slots" in given else None
    for entry in _item(item):
        if slots and entry.slots:
            raise ValueError(f"{quoted(item)} has slots, and so has slots={slots}; remove one")
        # Without slots, Open MPI takes the most for them.
        count = slots or entry.slots or most
        if count and most and count > most:
            raise ValueError(f"slots={count} is more than max-slots={most}; correct one of them")
        yield _entry(f"{given['user']}@{entry.name}" if "user" in given else entry.name, count)


def _item(text: str) -> Iterator[HostEntry]:
    """Of `node01`, `node01:8`, `node[01-16]:8`, `[fd00::1]:8` or `fd00::1`. Raises ValueError."""
    user, at, host = text.rpartition("@")
    if host.startswith("[") and ":" in host.partition("]")[0]:
        host, closing, count = host[1:].partition("]")
        if not closing or (count and not count.startswith(":")):
            raise ValueError(f"{quoted(text)} is not an IPv6 address in brackets; write [fd00::1]:8")
        names = [f"{user}{at}{host}"]
    elif host.count(":") > 1:
        names, count = [text], ""
    else:
        host, colon, number = host.partition(":")
        names, count = expand(f"{user}{at}{host}"), f"{colon}{number}"
    slots = _slots(count[1:]) if count else None
    for name in names:
        yield _entry(name, slots)


def _slots(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= MOST_SLOTS):
        raise ValueError(
            f"{quoted(text)} is not a number of slots; write 1 to {MOST_SLOTS} (a port belongs in ~/.ssh/config)"
        )
    return int(text)


def _entry(name: str, slots: int | None, devices: tuple[Device, ...] = ()) -> HostEntry:
    """Raises ValueError for what cannot be a host, and for what ssh would take for something else."""
    user, at, host = name.rpartition("@")
    if host.startswith("-") or user.startswith("-"):
        raise ValueError(f"{quoted(name)} begins like an option; a host and a user begin with a letter or a digit")
    if at and not _USER.fullmatch(user):
        raise ValueError(f"{quoted(user)} in {quoted(name)} is not a user; give odd ones in ~/.ssh/config")
    if reason := _no_host(host):
        raise ValueError(f"{quoted(name)} is not a host: {reason}")
    return HostEntry(name, slots, devices)


def _no_host(host: str) -> str | None:
    """Why this is no name or address; None when it is one."""
    address, percent, zone = host.partition("%")
    if ":" in host:
        sound = _is_address(IPv6Address, address) and (not percent or _ZONE.fullmatch(zone))
        return None if sound else "it is no IPv6 address, and a host and its slots are written node01:8"
    if host.isascii() and host.isdigit():
        return "it is a number; slots are written node01:8 or node01 slots=8"
    if not _HOST.fullmatch(host) or len(host) > _LONGEST_HOST or ".." in host:
        odd = re.search(r"[^\w.-]", host, re.ASCII)
        return f"no name has {quoted(odd[0])} in it" if odd else "no name looks like this"
    if not host.strip("0123456789.") and not _is_address(IPv4Address, host):
        return "it is no IPv4 address, which is four numbers from 0 to 255 without zeros before them"
    return None


def _is_address(kind: type[IPv4Address] | type[IPv6Address], text: str) -> bool:
    try:
        kind(text)
    except AddressValueError:
        return False
    return True
