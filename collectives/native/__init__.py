"""The native core: plans run by C over shared memory, without the interpreter and without its lock.

It is optional: where no compiler was found at install time, `core()` is None, `unavailable()` says why and what to do,
and the portable engine is used. May import: the standard library.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def _load() -> tuple[ModuleType | None, str | None]:
    try:
        return import_module("collectives.native._core"), None
    except ModuleNotFoundError:
        return None, "it was not built when opsdist was installed"
    except ImportError as error:
        return None, str(error)


def core() -> ModuleType | None:
    """The compiled module, or None."""
    return _load()[0]


def unavailable() -> str | None:
    """Why there is no compiled module and what to do, as "reason; remedy", or None."""
    _, error = _load()
    if error is None:
        return None
    return (
        f"the native core is missing ({error}), so plans run in Python, many times slower; install a C compiler "
        "(apt-get install gcc python3-dev, dnf install gcc python3-devel) and reinstall opsdist, or install a wheel "
        "that was built with one"
    )
