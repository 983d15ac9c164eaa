"""What a rank calls instead of what the exercise says, where a fault is injected that changes its calls.

May import: collectives, exercise, strikes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from collectives.ops import COLLECTIVES
from suites.exercise import Scheduled
from suites.strikes import Strike, brought_forward

_TWIN = {
    "float32": "int32", "int32": "float32", "float64": "int64", "int64": "float64", "int8": "uint8", "uint8": "int8",
    "float16": "bfloat16",
}  # fmt: skip
"""Of the same size, so that only the type tells them apart."""


def _operation(call: Scheduled) -> Scheduled:
    names = list(COLLECTIVES)
    other = names[(names.index(call.collective) + 1) % len(names)]
    return replace(call, collective=other, count=max(call.count, 1) if other != "barrier" else 0)


def _root(call: Scheduled) -> Scheduled:
    return replace(call, root=(call.root + 1) % len(call.group.ranks))


_CHANGES: dict[str, Callable[[Scheduled], Scheduled]] = {
    "mismatch-op": _operation,
    "mismatch-size": lambda call: replace(call, count=call.count + 1),
    "mismatch-dtype": lambda call: replace(call, dtype=_TWIN[call.dtype]),
    "mismatch-root": _root,
}


def altered(mine: Sequence[Scheduled], rank: int, strikes: Sequence[Strike]) -> list[Scheduled]:
    """A rank's calls, as the strikes at it make them."""
    calls = list(mine)
    for strike in strikes:
        if strike.rank != rank:
            continue
        if strike.forward is not None:
            calls = brought_forward(calls, strike.number, strike.forward)
        elif change := _CHANGES.get(strike.fault):
            calls = [change(call) if call.number == strike.number else call for call in calls]
    return calls
