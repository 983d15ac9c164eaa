"""click types and options that more than one command uses.

May import: click and collectives.errors at import time; anything heavier when a value is converted.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any, TypeVar

import click

from collectives.errors import unknown
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


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_UNITS |= {f"{unit}IB": factor for unit, factor in _UNITS.items() if unit}
_UNITS |= {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}

_MOST_BYTES = 1 << 62


def parse_size(text: str) -> int:
    """Bytes from `64M`, `1GiB` (powers of 1024) or `1GB` (powers of 1000), any case, as in GNU coreutils.

    Raises ValueError with what was wrong.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    if not match or match[2].upper() not in _UNITS:
        raise ValueError(f"'{text}' is not a size (examples: 8, 64K, 1M, 1GiB, 1GB)")
    value = Fraction(match[1]) * _UNITS[match[2].upper()]
    if value > _MOST_BYTES:
        raise ValueError(f"'{text}' is more than any machine holds")
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


_MOST_SECONDS = 366 * 86400.0


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
        if not 0 < seconds <= _MOST_SECONDS:
            self.fail(f"'{value}' is not a positive duration of at most a year", param, ctx)
        return seconds


_OPERATIONS = (
    "allreduce", "allgather", "reduce_scatter", "alltoall", "alltoallv", "broadcast", "reduce", "gather", "scatter",
    "sendrecv", "barrier",
)  # fmt: skip
"""Kept here as words, so that `--help` imports no engine; a test holds them against collectives.ops."""


class Operation(click.ParamType[str]):
    """A collective, however it is spelt: all_reduce, all-reduce and allreduce are one word."""

    name = "op"

    def __init__(self, *, extra: tuple[str, ...] = ()) -> None:
        self.words = (*_OPERATIONS, *extra)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        plain = {word.replace("_", ""): word for word in self.words}
        word = plain.get(re.sub(r"[-_\s]", "", value.lower()))
        if word is None:
            self.fail(unknown("operation", value, self.words), param, ctx)
        return word


class Bandwidth(click.ParamType[float]):
    """bytes/second from `40GB/s` (1e9 bytes/s), `200Gb/s` or `200Gbps` (1e9 bits/s)."""

    name = "bandwidth"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float | int):
            return float(value)
        try:
            return parse_bandwidth(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


_MOST_RATE = 1e18


def parse_bandwidth(text: str) -> float:
    """Raises ValueError with what was wrong. B is bytes, b is bits: here case matters."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMGT]?)(B/s|b/s|bps)\s*", text)
    if not match:
        raise ValueError(f"'{text}' is not a bandwidth (examples: 40GB/s, 200Gb/s, 200Gbps)")
    rate = float(match[1]) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[match[2].upper()]
    if not 0 < rate < _MOST_RATE:
        raise ValueError(f"'{text}' is not a bandwidth that there can be")
    return rate if match[3] == "B/s" else rate / 8


_MOST_SIZES = 4096


def parse_sweep(text: str) -> tuple[int, ...]:
    """Sizes from one size, a list `8,1K,64K`, or a range `8:1G`, `8:1G:x4`, `1M:64M:+1M`; parts may be mixed by commas.

    Raises ValueError.
    """
    sizes = [size for part in text.split(",") for size in _part(part)]
    if len(sizes) > _MOST_SIZES:
        raise ValueError(f"'{text}' makes {len(sizes)} sizes; the most is {_MOST_SIZES}")
    return tuple(dict.fromkeys(sizes))


def _part(text: str) -> list[int]:
    if ":" not in text:
        return [parse_size(text)]
    pieces = text.split(":")
    if len(pieces) not in (2, 3):
        raise ValueError(f"'{text}' is not a range (examples: 8:1G, 8:1G:x4, 1M:64M:+1M)")
    first, last = parse_size(pieces[0]), parse_size(pieces[1])
    step = pieces[2] if len(pieces) == 3 else "x2"
    if first > last or first < 1:
        raise ValueError(f"'{text}' must begin with the smaller size, at least 1")
    if step.startswith("+"):
        width = parse_size(step[1:])
        if width < 1:
            raise ValueError(f"'{text}' does not get on with steps of {step}")
        return list(range(first, min(last, first + _MOST_SIZES * width) + 1, width))
    match = re.fullmatch(r"[xX*](\d+)", step)
    if not match or int(match[1]) < 2:
        raise ValueError(f"'{step}' is not a step (examples: x2, x4, +1M)")
    sizes = []
    while first <= last:
        sizes.append(first)
        first *= int(match[1])
    return sizes


class SizeSweep(click.ParamType[tuple[int, ...]]):
    """Sizes in bytes, in the order given."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        try:
            return value if isinstance(value, tuple) else parse_sweep(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Word(click.ParamType[str]):
    """One of the words of a table of the packages below, looked up when needed: "module:table"."""

    def __init__(self, name: str, table: str, synonyms: str | None = None) -> None:
        self.name = name
        self._table, self._synonyms = table, synonyms

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        known = _table(self._table)
        synonyms = _table(self._synonyms) if self._synonyms else {}
        word: str = synonyms.get(value.lower(), value.lower())
        if word not in known:
            self.fail(unknown(self.name, value, [*known, *synonyms]), param, ctx)
        return word


def _table(reference: str) -> dict[str, Any]:
    module, name = reference.split(":")
    table: dict[str, Any] = getattr(import_module(module), name)
    return table


class Words(click.ParamType[tuple[str, ...]]):
    """Names separated by commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in value.split(",")))
        if not all(names):
            self.fail(f"'{value}' has an empty name", param, ctx)
        return names
