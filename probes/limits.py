"""The resource limits that communication runs into, of this process and so of the ranks it starts.

Source: /proc/self/limits. May import: probes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import Bound, bound


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


def read(host: Host) -> LimitsFacts:
    rows = parse(host.read("/proc/self/limits"))
    return LimitsFacts(
        memlock=rows.get("Max locked memory"),
        nofile=rows.get("Max open files"),
        nproc=rows.get("Max processes"),
        stack=rows.get("Max stack size"),
        core=rows.get("Max core file size"),
    )


def parse(text: str | None) -> dict[str, Limit]:
    """Rows `name  soft  hard  units`, columns two or more blanks apart."""
    rows = {}
    for line in (text or "").splitlines():
        columns = re.split(r"\s{2,}", line.strip())
        if len(columns) >= 3:
            rows[columns[0]] = Limit(bound(columns[1], "unlimited"), bound(columns[2], "unlimited"))
    return rows
