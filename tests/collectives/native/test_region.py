"""A rank's region: what is handed out does not overlap, is zero, comes back, and is refused with the reason."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("collectives.native._core", reason="needs the compiled core", exc_type=ImportError)

from collectives.errors import ResourceError
from collectives.native.region import HUGE, PAGE, Mapping, Region, reach

BYTES = np.dtype(np.uint8)


@pytest.fixture(name="region")
def _region() -> Region:
    return Region(8 * HUGE)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3 * HUGE)), max_size=30))
def test_what_is_taken_never_overlaps_and_what_is_given_back_is_had_again(moves: list[tuple[bool, int]]) -> None:
    region = Region(8 * HUGE)
    held: list[tuple[int, int]] = []
    for give, nbytes in moves:
        if give and held:
            region.give_back(*held.pop(nbytes % len(held)))
            continue
        try:
            at = region.take(nbytes)
        except ResourceError:
            continue
        assert at % (HUGE if nbytes > HUGE - PAGE else PAGE) == 0
        assert all(at + nbytes <= start or start + length <= at for start, length in held)
        held.append((at, nbytes))
    for taken in held:
        region.give_back(*taken)
    assert region.taken == 0
    assert region.take(8 * HUGE) == 0
    region.close()


def test_memory_is_zero_also_after_it_was_used(region: Region) -> None:
    first = region.allocate(10_000, BYTES)
    first[:] = 7
    del first
    gc.collect()
    assert region.taken == 0
    assert not region.allocate(10_000, BYTES).any()


def test_memory_stays_as_long_as_a_view_of_it_does(region: Region) -> None:
    part = region.allocate(1000, np.dtype(np.float32))[100:200].view(np.int32)
    gc.collect()
    assert region.taken == PAGE
    assert region.handed_out == PAGE
    part[:] = 5
    other = region.allocate(1000, np.dtype(np.float32))
    other[:] = 1
    assert (part == 5).all()
    del part
    gc.collect()
    assert region.taken == PAGE


def test_pages_go_back_to_the_system(region: Region) -> None:
    region.take(HUGE)  # as an inbox is, which is not anybody's array
    array = region.allocate(2 * HUGE, BYTES)
    assert region.handed_out == 2 * HUGE
    assert os.fstat(region.descriptor).st_blocks * 512 >= 2 * HUGE
    del array
    gc.collect()
    assert os.fstat(region.descriptor).st_blocks == 0
    assert region.handed_out == 0


def test_peers_see_the_same_memory_and_nobody_can_take_it_away(region: Region) -> None:
    array = region.allocate(100, BYTES)
    array[:] = 3
    peer = Mapping(region.descriptor, region.length)
    assert peer.address != region.address
    assert peer.memory[:100] == bytes([3] * 100)
    with pytest.raises(PermissionError):
        os.ftruncate(region.descriptor, PAGE)


def test_more_than_there_is_is_refused_with_the_numbers(region: Region) -> None:
    region.take(3 * HUGE)
    with pytest.raises(ResourceError, match="no room for 12 MiB of registered memory: 10 of 16 MiB are left"):
        region.allocate(6 * HUGE, BYTES)
    assert region.taken == 3 * HUGE


def test_a_limit_of_address_space_is_shared_among_the_ranks() -> None:
    assert reach(1) <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert reach(100_000) * 100_000 <= 64 << 40


REFUSED = """
import resource, sys
from collectives.errors import ResourceError
from collectives.native.region import Region, reach
{limit}
try:
    Region(reach(2))
except ResourceError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        # As a sandbox that forbids it, or a process that has used up its descriptors.
        ("resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))", "memfd_create is refused (Too many open files)"),
        ("reach = lambda ranks: 1 << 46\nresource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))", "`ulimit -v`"),
        (
            ("import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))"),
            "is refused: File too large; raise `ulimit -f`",
        ),
    ],
    ids=["descriptors", "address space", "file size"],
)  # fmt: skip
def test_what_the_system_refuses_is_told(limit: str, reason: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", REFUSED.format(limit=limit)], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    assert (ended.returncode, reason in ended.stderr) == (1, True), ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_limit_is_respected_before_anything_is_mapped() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (64 << 30, hard))
    try:
        assert reach(4) <= (64 << 30) // 2 // 4
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
