"""Scenarios for ranks_test.c: the plans of the table as programs, with inputs and what must come out of them."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np

from collectives.algorithms import ALGORITHMS, Algorithm
from collectives.dtypes import DTYPES, OPERATORS
from collectives.native.compile import words
from collectives.ops import COLLECTIVES
from collectives.schedule import Shape
from tests.collectives import inproc_world

_REGION = 8 << 20
_HEADER, _RANK = struct.Struct("<11q"), struct.Struct("<8q")


def write_all(folder: Path, times: int, seed: int = 1) -> list[str]:
    """A scenario or two of every algorithm; their files."""
    draw = random.Random(seed)
    files = []
    for collective in ALGORITHMS.values():
        for row in collective.values():
            for size, nodes in ((2, 1), (draw.choice((3, 4, 5)), 1), (2, 2), (draw.choice((3, 4, 5)), 2)):
                path = folder / f"{row.collective}-{row.name}-{size}-{nodes}"
                if write(path, row, size, nodes, times, draw):
                    files.append(str(path))
    return files


def write(path: Path, row: Algorithm, size: int, nodes: int, times: int, draw: random.Random) -> bool:
    """One scenario, with lengths below and above what goes through slots; whether the algorithm serves that size. Ranks
    are dealt to the nodes in turn."""
    collective = COLLECTIVES[row.collective]
    dtype, operator = draw.choice(list(DTYPES)), draw.choice(list(OPERATORS)) if collective.reduces else "sum"
    item, in_place = DTYPES[dtype], collective.alias is not None and draw.random() < 0.3
    number = draw.choice((3, 2048, 3001))
    root = draw.randrange(size) if collective.rooted else 0
    shapes = [
        collective.shape(rank, size, number, root=root, groups=(tuple(range(size)),), in_place=in_place)
        for rank in range(size)
    ]
    if row.unmet(shapes[0]):
        return False
    values = np.random.default_rng(draw.getrandbits(32))
    fills = [(values.standard_normal(shape.send.count) * 4).astype(item) for shape in shapes]
    wanted = inproc_world.run_plans(row, shapes, fills, operator, 1 << 12, draw.getrandbits(32))
    registered = [draw.random() < 0.7 for _ in shapes]
    divisor = size if operator == "avg" else 1
    eager = draw.choice((256, 1024))
    data = _HEADER.pack(
        size, times, list(DTYPES).index(dtype), list(OPERATORS).index(operator), divisor, eager,
        draw.choice((eager, 4 * eager)), draw.random() < 0.3, _REGION, draw.choice((0, 50)), nodes,
    )  # fmt: skip
    for rank, shape in enumerate(shapes):
        data += _rank(row, shape, rank, fills[rank], wanted[rank], registered[rank])
    path.write_bytes(data)
    return True


def _rank(
    row: Algorithm, shape: Shape, rank: int, fill: np.ndarray, wanted: np.ndarray | None, registered: bool
) -> bytes:
    collective, item = COLLECTIVES[row.collective], fill.dtype.itemsize
    alias = collective.alias(shape) if shape.in_place and collective.alias else None
    send, recv = (0, len(fill)) if alias is None else (max(alias, 0), max(-alias, 0))
    block = np.zeros(max(send + shape.send.count, recv + shape.recv.count), fill.dtype)
    block[send : send + shape.send.count] = fill
    plan = row.plan(shape)
    program = words(plan, rank, item)
    expected = b"" if wanted is None else wanted.tobytes()
    head = _RANK.pack(
        send * item, shape.send.count * item, recv * item, len(expected), plan.scratch * item, registered,
        block.nbytes, len(program) // 8,
    )  # fmt: skip
    return head + program + block.tobytes() + expected
