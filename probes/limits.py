"""The limits that communication runs into: those of this process, and so of the ranks it starts, and the kernel's.

Sources: /proc/self/limits (where a recording has none, `ulimit -a`), and what `kernel_settings` reads.
May import: probes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from probes import kernel_settings
from probes.host import Host
from probes.kernel_settings import KernelSettings
from probes.kernel_text import UNLIMITED, Bound, bound
from probes.printed import printed

_ULIMIT = {
    "l": ("Max locked memory", 1024), "n": ("Max open files", 1), "u": ("Max processes", 1),
    "s": ("Max stack size", 1024), "c": ("Max core file size", 1024),
}  # fmt: skip
"""Letter of `ulimit -a` -> the kernel's name, and the unit in which bash prints it."""
_ROW = re.compile(r"\([^()]*-([a-z])\)\s+(\S+)\s*$")


@dataclass(frozen=True, slots=True)
class Limit:
    """`soft` is in force; a process may raise it up to `hard` without privileges. None is unknown."""

    soft: Bound | None
    hard: Bound | None


@dataclass(frozen=True, slots=True)
class LimitsFacts:
    """memlock, stack and core in bytes; nofile in descriptors; nproc in processes of this user."""

    memlock: Limit | None
    nofile: Limit | None
    nproc: Limit | None
    stack: Limit | None
    core: Limit | None
    kernel: KernelSettings


def read(host: Host) -> LimitsFacts:
    rows = parse(host.read("/proc/self/limits")) or parse_ulimit(printed(host, ["ulimit", "-a"]))
    return LimitsFacts(
        memlock=rows.get("Max locked memory"),
        nofile=rows.get("Max open files"),
        nproc=rows.get("Max processes"),
        stack=rows.get("Max stack size"),
        core=rows.get("Max core file size"),
        kernel=kernel_settings.read(host),
    )


def parse(text: str | None) -> dict[str, Limit]:
    """Rows `name  soft  hard  units`, columns two or more blanks apart."""
    rows = {}
    for line in (text or "").splitlines():
        columns = re.split(r"\s{2,}", line.strip())
        if len(columns) >= 3:
            rows[columns[0]] = Limit(bound(columns[1], "unlimited"), bound(columns[2], "unlimited"))
    return rows


def parse_ulimit(text: str | None) -> dict[str, Limit]:
    """Rows such as `max locked memory  (kbytes, -l) 64`: the soft limits, under the kernel's names."""
    rows = {}
    for line in (text or "").splitlines():
        match = _ROW.search(line)
        if match and match[1] in _ULIMIT:
            name, unit = _ULIMIT[match[1]]
            soft = bound(match[2], UNLIMITED)
            rows[name] = Limit(soft * unit if isinstance(soft, int) else soft, None)
    return rows
