"""A clock that goes on by one second each time it is read."""

from __future__ import annotations

import itertools
from collections.abc import Callable


def ticking() -> Callable[[], float]:
    seconds = itertools.count(1)
    return lambda: float(next(seconds))
