"""Memory of the host and what is left of it for us."""

from __future__ import annotations

import pytest

from probes import memory
from probes.host import Space
from tests.tree_host import TreeHost

MEMINFO = """MemTotal:          1000 kB
MemFree:            100 kB
MemAvailable:       400 kB
SwapTotal:           64 kB
SwapFree:            32 kB
HugePages_Total:      6
HugePages_Free:       5
Hugepagesize:      2048 kB"""


def test_read(tree: TreeHost) -> None:
    tree.spaces["/dev/shm"] = Space(total=5000, free=3000)
    tree.write({
        "/proc/meminfo": MEMINFO,
        "/proc/vmstat": "nr_oom_kill 5\noom_kill 7\nthp_x 1",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size": "2097152",
    })  # fmt: skip
    assert memory.read(tree) == memory.MemoryFacts(
        total_bytes=1000 * 1024,
        available_bytes=400 * 1024,
        page_bytes=4096,
        swap_bytes=64 * 1024,
        swap_free_bytes=32 * 1024,
        huge_pages=6,
        huge_pages_free=5,
        huge_page_bytes=2048 * 1024,
        transparent_huge_pages="madvise",
        shm_bytes=5000,
        shm_free_bytes=3000,
        oom_kills=7,
    )


@pytest.mark.parametrize(("limit", "available"), [("300000", 200_000), ("900000000", 400 * 1024), ("max", 400 * 1024)])
def test_available_is_the_least_of_host_and_control_group(tree: TreeHost, limit: str, available: int) -> None:
    tree.write({
        "/proc/meminfo": MEMINFO,
        "/proc/self/cgroup": "0::/",
        "/proc/self/mountinfo": "31 23 0:26 / /cg rw - cgroup2 cgroup rw",
        "/cg/memory.max": limit,
        "/cg/memory.current": "100000",
    })  # fmt: skip
    assert memory.available_bytes(tree) == available


def test_unknown_without_files(tree: TreeHost) -> None:
    assert memory.available_bytes(tree) is None
    assert memory.read(tree) == memory.MemoryFacts(*[None] * 12)


@pytest.mark.parametrize(
    ("huge", "page"),
    [("2097152", 4096), ("33554432", 16384), ("536870912", 65536), ("3000000", None), ("0", None), ("x", None)],
)
def test_the_size_of_a_page_by_that_of_a_huge_one(huge: str, page: int | None) -> None:
    assert memory.parse_page_size(huge) == page


def test_a_choice_needs_brackets() -> None:
    assert memory.parse_choice("always madvise [never]\n") == "never"
    assert memory.parse_choice("always") is None
