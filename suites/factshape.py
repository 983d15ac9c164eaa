"""Facts that somebody else wrote, brought into the shape that probes give them: another version, or another hand.

What is missing is unknown, what is not known is left out, and what is of another kind is refused. May import: probes.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from probes import PROBES

Shaping = Callable[[Any], Any]
"""JSON value -> the same in the shape of a type. Raises ValueError, whose text says where and what."""

_LEAVES: dict[Shaping, frozenset[type]] = {}
"""What shapes a value that has no parts -> the types that it lets be."""


def section_type(section: str) -> type:
    """The facts of a section."""
    found: type = getattr(import_module(PROBES[section]), f"{section.capitalize()}Facts")
    return found


def shaped(section: str, facts: Any) -> Any:
    """The facts of a section as probes of this version would write them. Raises ValueError."""
    return _shaping(section_type(section))(facts)


@cache
def _shaping(kind: Any) -> Shaping:
    if kind is Any:
        return _anything
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _record(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        kinds = [each for each in arguments if each is not types.NoneType]
        one = _shaping(kinds[0]) if len(kinds) == 1 else _one_of(tuple(map(_shaping, kinds)))
        return one if len(kinds) == len(arguments) else _or_unknown(one)
    if origin is Literal:
        return _plain(f"one of {', '.join(map(str, arguments))}", lambda value: value in arguments)
    if origin is tuple and arguments[-1] is not ...:
        return _in_turn(tuple(map(_shaping, arguments)))
    if origin is not None and issubclass(origin, Mapping):
        return _named(_shaping(arguments[1]))
    if origin is not None:
        return _each(_shaping(arguments[0]))
    if issubclass(kind, Enum):
        names = frozenset(map(str, kind))
        return _plain(kind.__name__, lambda value: type(value) is str and value in names)
    accepted = frozenset({int, float} if kind is float else {kind})
    shape = _plain(kind.__name__, lambda value: type(value) in accepted)
    _LEAVES[shape] = accepted
    return shape


def _plain(name: str, fits: Callable[[Any], bool]) -> Shaping:
    def shape(value: Any) -> Any:
        if not fits(value):
            raise ValueError(f": {value!r:.40} is no {name}")
        return value

    return shape


def _or_unknown(shaping: Shaping) -> Shaping:
    return lambda value: None if value is None else shaping(value)


def _one_of(shapings: tuple[Shaping, ...]) -> Shaping:
    """What fails inside one of them says more than that the value is none of the others."""

    def shape(value: Any) -> Any:
        failure = ValueError()
        for each in shapings:
            try:
                return each(value)
            except ValueError as error:
                failure = failure if str(failure).startswith(".") else error
        raise failure

    return shape


def _anything(value: Any) -> Any:
    return value


def _record(kind: type) -> Shaping:
    hints = get_type_hints(kind)
    shapings = {field.name: _shaping(hints[field.name]) for field in dataclasses.fields(kind)}

    def shape(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f": {value!r:.40} has no parts")
        found = {}
        name = ""
        try:
            for name, each in shapings.items():
                found[name] = each(value[name]) if name in value else _nothing(each)
        except ValueError as error:
            raise ValueError(f".{name}{error}") from None
        return found

    return shape


def _nothing(shaping: Shaping) -> Any:
    """What stands for a part that is not there: that it is unknown, else that there is none of it."""
    nothing: tuple[Any, ...] = (None, [], {})
    for value in nothing:
        try:
            return shaping(value)
        except ValueError:
            continue
    raise ValueError(": it is not there")


def _each(shaping: Shaping) -> Shaping:
    def shape(value: Any) -> Any:
        if not isinstance(value, list):
            raise ValueError(f": {value!r:.40} is no list")
        return list(_inside(dict(enumerate(value)), shaping).values())

    return shape


def _in_turn(shapings: tuple[Shaping, ...]) -> Shaping:
    def shape(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(shapings):
            raise ValueError(f": {value!r:.40} is no list of {len(shapings)}")
        return [each(item) for each, item in zip(shapings, value, strict=True)]

    return shape


def _named(shaping: Shaping) -> Shaping:
    def shape(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f": {value!r:.40} has no parts")
        return _inside(value, shaping)

    return shape


def _inside(items: Mapping[Any, Any], shaping: Shaping) -> Mapping[Any, Any]:
    if shaping is _anything or _LEAVES.get(shaping, frozenset()).issuperset(map(type, items.values())):
        return items
    found = {}
    name = None
    try:
        for name, item in items.items():
            found[name] = shaping(item)
    except ValueError as error:
        raise ValueError(f".{name}{error}") from None
    return found
