"""click types and options that more than one command uses.

May import: click and the standard library at import time; anything heavier when a value is converted.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from opsdist_cli.screen import Screen

Function = TypeVar("Function", bound=Callable[..., Any])


def shared_options(function: Function) -> Function:
    """-v, -q, --debug and --no-color, accepted before and after the command's name."""

    def change(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
        def callback(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
            screen = ctx.ensure_object(Screen)
            if name == "verbosity" and value:
                screen.verbosity = value
            elif name == "quiet" and value:
                screen.verbosity = -1
            elif name == "debug" and value:
                screen.debug = True
            elif name == "color" and value:
                screen.color = False

        return callback

    options = [
        click.option("-v", "--verbose", count=True, help="Say more; -vv says all.", callback=change("verbosity")),
        click.option("-q", "--quiet", is_flag=True, help="Only results and errors.", callback=change("quiet")),
        click.option("--debug", is_flag=True, help="Show tracebacks.", callback=change("debug")),
        click.option("--no-color", is_flag=True, help="No colour.", callback=change("color")),
    ]
    for option in reversed(options):
        function = option(function)

    @functools.wraps(function)
    def without_shared(*args: Any, **kwargs: Any) -> Any:
        for name in ("verbose", "quiet", "debug", "no_color"):
            kwargs.pop(name, None)
        return function(*args, **kwargs)

    return without_shared  # type: ignore[return-value]


def json_option(function: Function) -> Function:
    """--json [FILE]: bare, or `-`, is stdout."""
    return click.option(
        "--json", "json_path", is_flag=False, flag_value="-", metavar="[FILE]",
        help="Write the record as JSON; without FILE, or with -, to stdout and nothing else there.",
    )(function)  # fmt: skip


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of a refusal: the nearest known word, or all of them."""
    known = list(known)
    near = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.5)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known)}"


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_UNITS |= {f"{unit}IB": factor for unit, factor in _UNITS.items() if unit}
_UNITS |= {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}


def parse_size(text: str) -> int:
    """Bytes from `64M`, `1GiB` (powers of 1024) or `1GB` (powers of 1000), any case, as in GNU coreutils.

    Raises ValueError with what was wrong.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    if not match or match[2].upper() not in _UNITS:
        raise ValueError(f"'{text}' is not a size (examples: 8, 64K, 1M, 1GiB, 1GB)")
    value = float(match[1]) * _UNITS[match[2].upper()]
    if value != int(value):
        raise ValueError(f"'{text}' is not a whole number of bytes")
    return int(value)


class Size(click.ParamType[int]):
    """One size in bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else parse_size(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Duration(click.ParamType[float]):
    """Seconds from `500ms`, `30s`, `5m`, `1h`."""

    name = "duration"
    _FACTORS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float | int):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", value.strip().lower())
        if not match or match[2] not in self._FACTORS:
            self.fail(f"'{value}' is not a duration (examples: 500ms, 30s, 5m)", param, ctx)
        seconds = float(match[1]) * self._FACTORS[match[2]]
        if seconds <= 0:
            self.fail(f"'{value}' is not a positive duration", param, ctx)
        return seconds
