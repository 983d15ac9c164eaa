"""What the ceiling moves: the collective's own mix, with the better of the core's two ways."""

from __future__ import annotations

import numpy as np
import pytest

from collectives import native
from collectives.backends.builtin import BuiltinCommunicator
from collectives.ops import COLLECTIVES
from suites.case import Case
from suites.jobs.agree import Shared
from suites.jobs.arena import open_arena
from suites.jobs.ceiling import BRIEF_REPETITIONS, mix, move_all, ways
from tests.collectives.inproc_world import communicators, run_threads

needs_core = pytest.mark.skipif(native.core() is None, reason=str(native.unavailable()))


@pytest.mark.parametrize(
    ("collective", "ranks", "in_place", "parts"),
    [
        ("allreduce", 4, False, (1, 1)),
        ("allgather", 4, False, (1, 4)),
        ("allgather", 4, True, (1, 3)),
        ("reduce_scatter", 3, False, (3, 1)),
        ("broadcast", 8, False, (1, 8)),
        ("gather", 5, True, (1, 1)),
        ("barrier", 4, False, (1, 1)),
    ],
)
def test_the_mix_of_a_collective(collective: str, ranks: int, in_place: bool, parts: tuple[int, int]) -> None:
    assert mix(*COLLECTIVES[collective].least_traffic(ranks, in_place=in_place)) == parts


@needs_core
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("reads", "writes", "apart", "times", "written"),
    [(2, 1, 2, 3, {2: (0, 1)}), (1, 3, 1, 2, {1: (0,), 2: (0,), 3: (0,)}), (2, 2, 0, 1, {0: (0, 1), 1: (0, 1)})],
)
def test_what_is_read_is_what_is_written(
    reads: int, writes: int, apart: int, times: int, written: dict[int, tuple[int, ...]], streaming: bool
) -> None:
    """Parts of 100,000 bytes, longer than a block, from the second on."""
    core = native.core()
    assert core is not None
    parts = np.arange(6 * 12_500, dtype=np.uint64).reshape(6, 12_500)
    wanted = parts.copy()
    for part, sources in written.items():
        wanted[1 + part] = sum(parts[1 + source] for source in sources)
    core.traffic(parts, [100_000], 100_000, reads, writes, apart, times, streaming)
    assert (parts == wanted).all()


@needs_core
@pytest.mark.parametrize(
    ("starts", "part", "reads", "writes", "apart"),
    [
        ([0], 12, 1, 1, 1),
        ([4], 8, 1, 1, 1),
        ([64], 32, 1, 1, 1),
        ([], 8, 1, 1, 1),
        ([0], 8, 0, 1, 1),
        ([0], 48, 3, 1, 0),
        ([0], 8, 2, 1, 1),
        ([0], 8, 1, 1, 0),
        ([8], 8, 1, 1, -1),
    ],
)
def test_nothing_outside_the_memory(starts: list[int], part: int, reads: int, writes: int, apart: int) -> None:
    core = native.core()
    assert core is not None
    with pytest.raises(ValueError, match=r"part|start"):
        core.traffic(bytearray(100), starts, part, reads, writes, apart, 1, False)


@pytest.mark.parametrize("core", [pytest.param(True, marks=needs_core), False])
def test_all_ranks_move_in_each_way_and_the_source_says_how(core: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not core:
        monkeypatch.setattr("collectives.native.core", lambda: None)
    case = Case("builtin", "allgather", "ring", 1 << 20, 1 << 17, "float32", "sum", 0, False)

    def rank(comm: BuiltinCommunicator) -> object:
        return move_all(case, open_arena(case, comm, 0, "registered"), comm, Shared(comm))

    first, second = run_threads([lambda comm=comm: rank(comm) for comm in communicators(2)])  # type: ignore[misc]
    assert first == second
    assert len(first.seconds) == BRIEF_REPETITIONS * len(ways()[1])
    assert first.nbytes > 31 << 20
    assert ("lower bound" in first.source) is not core
