"""Memory: how much, how much is left, huge pages, and /dev/shm, over which ranks of one host exchange data.

Sources: /proc/meminfo, /proc/vmstat, /sys/kernel/mm, statvfs of /dev/shm. May import: probes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from probes import cgroup
from probes.host import Host
from probes.kernel_text import count, fields, kibibytes


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """Bytes, except the two counts of huge pages, and `oom_kills`: processes that the kernel ended for want of memory
    since the host was started. `page_bytes`: an ordinary page."""

    total_bytes: int | None
    available_bytes: int | None
    page_bytes: int | None
    swap_bytes: int | None
    swap_free_bytes: int | None
    huge_pages: int | None
    huge_pages_free: int | None
    huge_page_bytes: int | None
    transparent_huge_pages: str | None
    shm_bytes: int | None
    shm_free_bytes: int | None
    oom_kills: int | None


def read(host: Host) -> MemoryFacts:
    rows = fields(host.read("/proc/meminfo"))
    shm = host.space("/dev/shm")
    return MemoryFacts(
        total_bytes=kibibytes(rows.get("MemTotal")),
        available_bytes=available_bytes(host),
        page_bytes=parse_page_size(host.read("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")),
        swap_bytes=kibibytes(rows.get("SwapTotal")),
        swap_free_bytes=kibibytes(rows.get("SwapFree")),
        huge_pages=count(rows.get("HugePages_Total")),
        huge_pages_free=count(rows.get("HugePages_Free")),
        huge_page_bytes=kibibytes(rows.get("Hugepagesize")),
        transparent_huge_pages=parse_choice(host.read("/sys/kernel/mm/transparent_hugepage/enabled")),
        shm_bytes=shm.total if shm else None,
        shm_free_bytes=shm.free if shm else None,
        oom_kills=parse_oom_kills(host.read("/proc/vmstat")),
    )


def available_bytes(host: Host) -> int | None:
    """What new processes can still take: the host's MemAvailable or the rest of the tightest cgroup limit."""
    rest = kibibytes(fields(host.read("/proc/meminfo")).get("MemAvailable"))
    allowed = cgroup.read(host).memory_headroom_bytes
    known = [amount for amount in (rest, allowed) if isinstance(amount, int)]
    return min(known, default=None)


def parse_choice(text: str | None) -> str | None:
    """The chosen word of `always [madvise] never`."""
    match = re.search(r"\[(\S+)\]", text or "")
    return match[1] if match else None


def parse_page_size(text: str | None) -> int | None:
    """The size of a page from that of a transparent huge one: a page of entries of eight bytes each maps that much, so
    2 MiB are made of pages of 4 KiB and 512 MiB of such of 64 KiB."""
    huge = count(text)
    page = math.isqrt(huge * 8) if huge else 0
    return page if page and page * page == (huge or 0) * 8 else None


def parse_oom_kills(text: str | None) -> int | None:
    """The row `oom_kill 3`."""
    match = re.search(r"^oom_kill ([0-9]{1,20})$", text or "", re.MULTILINE)
    return count(match[1]) if match else None
