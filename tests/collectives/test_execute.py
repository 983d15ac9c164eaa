"""The portable engine runs what was proven: exactly, and with the same bits whatever the order of delivery.

Random floats, since exact inputs cannot see the order in which operands are combined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from collectives.algorithms import ALGORITHMS, Algorithm
from collectives.dtypes import DTYPES, Array
from collectives.ops import COLLECTIVES
from collectives.schedule import Shape
from tests.collectives.inproc_world import run_plans
from tests.collectives.plans import groupings, shapes_of

ROWS = [row for rows in ALGORITHMS.values() for row in rows.values()]
SIZES = (1, 2, 3, 4, 5, 8)
FOLDS: dict[str, Callable[..., Any]] = {"sum": np.sum, "avg": np.mean, "max": np.max}


def worlds(algorithm: Algorithm, count_of: Callable[[int], int]) -> list[list[Shape]]:
    """Shapes of every world of SIZES that the algorithm serves; the last rank is root."""
    found = []
    for size in SIZES:
        root = size - 1 if COLLECTIVES[algorithm.collective].rooted else 0
        for groups in groupings(algorithm, size):
            shapes = shapes_of(algorithm, size, count_of(size), root=root, groups=groups)
            if not algorithm.unmet(shapes[0]):
                found.append(shapes)
    return found


def random_fills(shapes: list[Shape], dtype: np.dtype[Any], seed: int) -> list[Array]:
    draw = np.random.default_rng(seed)
    return [draw.normal(size=shape.send.count).astype(dtype) for shape in shapes]


def wanted(algorithm: Algorithm, shape: Shape, count: int, fills: list[Array], operator: str) -> Array:
    """The oracle's receive buffer in float64."""
    result = np.zeros(shape.recv.count)
    for piece in COLLECTIVES[algorithm.collective].oracle(shape, count):
        length = piece.stop - piece.start
        parts = np.array([fills[rank][piece.source : piece.source + length].astype(np.float64) for rank in piece.ranks])
        result[piece.start : piece.stop] = FOLDS[operator](parts, axis=0)
    return result


def bits(results: list[Array | None]) -> list[bytes | None]:
    return [None if result is None else result.tobytes() for result in results]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.collective}-{row.name}")
@pytest.mark.parametrize(("dtype", "operator"), [("float32", "sum"), ("float16", "avg"), ("bfloat16", "sum")])
def test_right_and_bitwise_the_same_in_every_order(row: Algorithm, dtype: str, operator: str) -> None:
    """Segments of two elements at least, so that folding, pushing and receiving interleave in every way."""
    item = DTYPES[dtype].itemsize
    if not COLLECTIVES[row.collective].reduces:
        operator = "sum"
    for number, shapes in enumerate(worlds(row, lambda size: 3 * size + 1)):
        count = 3 * len(shapes) + 1
        fills = random_fills(shapes, DTYPES[dtype], number)
        runs = [
            bits(run_plans(row, shapes, fills, operator, segment * item, seed))
            for seed, segment in enumerate((2, 2, 3, 1 << 20))
        ]
        assert all(run == runs[0] for run in runs), f"{len(shapes)} ranks: the order of delivery shows"
        for shape, result in zip(shapes, runs[0], strict=True):
            if result is not None:
                got = np.frombuffer(result, DTYPES[dtype]).astype(np.float64)
                tolerance = {"float32": 1e-5, "float16": 2e-2, "bfloat16": 2e-1}[dtype]
                np.testing.assert_allclose(
                    got, wanted(row, shape, count, fills, operator), rtol=tolerance, atol=tolerance
                )
        if row.collective == "allreduce":
            assert len(set(runs[0])) == 1, f"{len(shapes)} ranks differ from each other"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.collective}-{row.name}")
def test_empty_and_tiny_buffers(row: Algorithm) -> None:
    for count in (0, 1):
        for shapes in worlds(row, lambda size, count=count: count):  # type: ignore[misc]
            fills = random_fills(shapes, DTYPES["float32"], 0)
            results = run_plans(row, shapes, fills, "max" if COLLECTIVES[row.collective].reduces else "sum", 4, 0)
            for shape, result in zip(shapes, results, strict=True):
                if result is not None:
                    operator = "max" if COLLECTIVES[row.collective].reduces else "sum"
                    np.testing.assert_array_equal(result, wanted(row, shape, count, fills, operator))


@pytest.mark.parametrize(
    "row", [row for row in ROWS if COLLECTIVES[row.collective].alias], ids=lambda r: f"{r.collective}-{r.name}"
)
def test_in_place_gives_the_bits_of_out_of_place(row: Algorithm) -> None:
    size, count = 4, 13
    groups = ((0, 1), (2, 3)) if row.name == "hierarchical" else ()
    outside = shapes_of(row, size, count, groups=groups)
    inside = shapes_of(row, size, count, groups=groups, in_place=True)
    fills = random_fills(outside, DTYPES["float32"], 5)
    results = [bits(run_plans(row, shapes, fills, "sum", 8, seed)) for seed, shapes in enumerate((outside, inside))]
    assert results[0] == results[1]
