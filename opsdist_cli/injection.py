"""`--inject FAULT[:KEY=VALUE][,KEY=VALUE]...`: the click types of a fault that is made on purpose.

May import: click and collectives.errors at import time; suites when a value is converted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import click

from collectives.errors import unknown


class InjectIntoLoop(click.ParamType[dict[str, Any]]):
    """`FAULT[:rank=R][,at=K]`, where K is a point or an iteration."""

    name = "fault"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        from suites.jobs.inject import IN_PERF, POINTS

        if isinstance(value, dict):
            return value
        try:
            fault, given = _read(value, IN_PERF, ("rank", "at"))
            return {"fault": fault, **_place(value, given, POINTS, "an iteration")}
        except ValueError as error:
            self.fail(str(error), param, ctx)


class InjectIntoCalls(click.ParamType[dict[str, Any]]):
    """`FAULT[:rank=R][,at=K][,group=G]...[,inside=1]`, where K is a point or a call of the group."""

    name = "fault"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        from suites.jobs.inject import FAULTS
        from suites.strikes import POINTS

        if isinstance(value, dict):
            return value
        try:
            fault, given = _read(value, FAULTS, ("rank", "at", "group", "inside"))
            place = _place(value, given, POINTS, "a call")
            inside = given.get("inside", ["0"])[-1]
            if inside not in ("0", "1"):
                raise ValueError(f"'{value}': inside is 0 or 1")
            return {"fault": fault, **place, "groups": given.get("group", []), "inside": inside == "1"}
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _read(text: str, faults: Collection[str], keys: Sequence[str]) -> tuple[str, dict[str, list[str]]]:
    """The fault, and what is given by key; a word without a key belongs to the one before it, as in group=rows,world.

    Raises ValueError."""
    fault, _, rest = text.partition(":")
    if fault not in faults:
        raise ValueError(unknown("fault", fault, faults))
    given: dict[str, list[str]] = {}
    key = ""
    for pair in filter(None, rest.split(",")):
        word, equals, value = pair.partition("=")
        key, value = (word, value) if equals or key != "group" else (key, word)
        if key not in keys:
            raise ValueError(f"'{text}': '{key}' is neither {' nor '.join(keys)}")
        given.setdefault(key, []).append(value)
    return fault, given


def _place(text: str, given: dict[str, list[str]], points: Sequence[str], counted: str) -> dict[str, Any]:
    """Which rank and when. Raises ValueError."""
    rank, at = given.get("rank", ["1"])[-1], given.get("at", ["middle"])[-1]
    if not rank.isdecimal() or not (at in points or at.isdecimal()):
        raise ValueError(f"'{text}': rank is a number, at is one of {', '.join(points)} or {counted}")
    return {"rank": int(rank), "at": at}
