"""The native engine runs every plan of the table, with the bits of the portable one, wherever the buffers lie."""

from __future__ import annotations

import random
from itertools import count

import numpy as np
import pytest

pytest.importorskip("collectives.native._core", reason="needs the compiled core", exc_type=ImportError)

from collectives.algorithms import ALGORITHMS, Algorithm
from collectives.dtypes import DTYPES, OPERATORS
from collectives.ops import COLLECTIVES
from tests.collectives import inproc_world
from tests.collectives.native import native_world
from tests.collectives.native.native_world import engines

ROWS = [row for rows in ALGORITHMS.values() for row in rows.values()]
SEGMENT = 1 << 14


def noise(dtype: np.dtype, number: int, draw: random.Random) -> np.ndarray:
    """Random bits of the dtype; floats of moderate size, whose sums depend on their order."""
    values = np.random.default_rng(draw.getrandbits(32)).standard_normal(number) * 4
    return values.astype(dtype)


def compare(
    world: list, group: int, row: Algorithm, number: int, draw: random.Random, dtype: str, operator: str
) -> None:
    """One case: `number` elements a block, in place or not, each rank's buffers registered or private as drawn."""
    size, collective = len(world), COLLECTIVES[row.collective]
    in_place = collective.alias is not None and draw.random() < 0.4
    groups = (tuple(range(size)),)
    if size % 2 == 0 and draw.random() < 0.5:
        groups = (tuple(range(size // 2)), tuple(range(size // 2, size)))
    root = draw.randrange(size) if collective.rooted else 0
    shapes = [collective.shape(r, size, number, root=root, groups=groups, in_place=in_place) for r in range(size)]
    if row.unmet(shapes[0]):
        return
    fills = [noise(DTYPES[dtype], shape.send.count, draw) for shape in shapes]
    registered = [draw.random() < 0.7] * size if draw.random() < 0.7 else [draw.random() < 0.5 for _ in range(size)]
    got = native_world.run_plans(world, group, row, shapes, fills, operator, registered, times=2)
    wanted = inproc_world.run_plans(row, shapes, fills, operator, SEGMENT, draw.getrandbits(32))
    for rank in range(size):
        mine, theirs = got[rank], wanted[rank]
        assert (mine is None) == (theirs is None)
        if mine is not None and theirs is not None:
            assert mine.tobytes() == theirs.tobytes(), (row.name, size, number, in_place, root, registered, rank)


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.collective}-{row.name}" for row in ROWS])
def test_every_plan_has_the_bits_of_the_portable_engine(row: Algorithm) -> None:
    draw, groups = random.Random(row.name), count(1)
    for size in (1, 2, 3, 4, 5, 8):
        with engines(size) as world:
            for number in (0, 1, size - 1, 3 * size + 1, 64, 3000, 30_000):
                compare(world, next(groups), row, number, draw, "float32", draw.choice(list(OPERATORS)))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.collective}-{row.name}" for row in ROWS])
def test_every_plan_has_the_same_bits_across_hosts(row: Algorithm) -> None:
    """Some pairs share memory and others a connection, in every mixture."""
    draw, groups = random.Random(row.name), count(1)
    for nodes in ((0, 1), (0, 1, 2), (0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1), (0, 1, 1, 2, 2, 0, 3, 3)):
        size = len(nodes)
        with engines(size, nodes=nodes) as world:
            for number in (0, 1, size - 1, 3 * size + 1, 3000, 100_003):
                compare(world, next(groups), row, number, draw, "float32", draw.choice(list(OPERATORS)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("nodes", [(0, 0, 0), (0, 1, 2)], ids=["one host", "three hosts"])
def test_every_dtype_and_operator(dtype: str, nodes: tuple[int, ...]) -> None:
    draw, groups = random.Random(dtype), count(1)
    with engines(3, nodes=nodes) as world:
        for operator in OPERATORS:
            for name in ("one_shot", "two_shot", "ring"):
                for number in (5, 20_011):
                    compare(world, next(groups), ALGORITHMS["allreduce"][name], number, draw, dtype, operator)


def test_stores_go_past_the_caches_when_memory_cannot_stay_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its size or, unless it is small, by what was moved since it last ran."""
    monkeypatch.setattr("collectives.native.engine._cache", lambda: 8 << 20)
    plan = ALGORITHMS["broadcast"]["linear"].plan(COLLECTIVES["broadcast"].shape(0, 1, 8))
    with engines(1) as (engine,):
        channel = engine.channel(1, [0])

        def bind(footprint: int) -> object:
            data = np.ones(8, np.float32)
            return channel.bind(
                plan, data, np.empty_like(data), data.dtype, "sum", native_world.tag("broadcast"), footprint
            )

        middle, other, large, small = bind(5 << 20), bind(3 << 20), bind(16 << 20), bind(1 << 19)

        def streams(program: object) -> bool:
            channel.run(program)
            return program.bound.streaming

        assert [streams(each) for each in (middle, middle, other, middle, small)] == [False] * 5
        assert [streams(each) for each in (large, large, middle, middle, other)] == [True, True, True, False, True]
        assert not streams(small)  # however long ago it ran: it is read at once
