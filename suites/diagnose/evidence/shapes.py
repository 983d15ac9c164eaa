"""What the shapes of a call's tensors tell, as PyTorch's flight recorder keeps them: a list of sizes for each tensor.

May import: the standard library.
"""

from __future__ import annotations

from math import prod
from typing import Any


def even(sizes: Any) -> bool:
    """Whether all tensors of a list have one shape: else every rank has a share of its own size, as it should."""
    return not isinstance(sizes, list) or all(size == sizes[0] for size in sizes)


def elements(sizes: Any) -> int | None:
    """Of the only tensor."""
    return _total(sizes) if isinstance(sizes, list) and len(sizes) == 1 else None


def members(op: str, inputs: Any, outputs: Any) -> int | None:
    """How many take part, of calls in which each gives or gets an equal share; None where they do not tell."""
    if not (even(inputs) and even(outputs)):
        return None
    share, whole = {"allgather": (inputs, outputs), "reduce_scatter": (outputs, inputs)}.get(op, (None, None))
    one, all_of_them = _total(share), _total(whole)
    return all_of_them // one if one and all_of_them and all_of_them % one == 0 else None


def _total(sizes: Any) -> int | None:
    if not isinstance(sizes, list) or not all(isinstance(size, list) for size in sizes):
        return None
    if not all(isinstance(length, int) for size in sizes for length in size):
        return None
    return sum(prod(size) for size in sizes)
