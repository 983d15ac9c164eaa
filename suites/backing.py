"""Which backends a run uses: the names asked for, to rows of BACKENDS that are ready here. May import: collectives."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.backends import BACKENDS, Backend, backend_named
from collectives.errors import unknown
from suites.errors import SuiteError, UsageError


def ready(names: Sequence[str]) -> tuple[Backend, ...]:
    """In the order asked for, each once.

    Raises UsageError for the first that is unknown, or cannot be used here, with the reason and what to do;
    SuiteError where `auto` means one whose devices are there, but which is not ready.
    """
    backends = []
    for name in dict.fromkeys(_automatic() if name == "auto" else name for name in names):
        if name not in BACKENDS:
            raise UsageError(unknown("backend", name, BACKENDS))
        backend = backend_named(name)
        if reason := backend.unavailable():
            raise UsageError(f"backend {name} cannot be used: {reason}")
        backends.append(backend)
    return tuple(backends)


def _automatic() -> str:
    """The one whose devices are visible, else the built-in one."""
    for name in BACKENDS:
        backend = backend_named(name)
        if backend.claims():
            if reason := backend.unavailable():
                raise SuiteError(
                    f"devices of backend {name} are visible, but it cannot be used: {reason}; or use --backend builtin"
                )
            return name
    return "builtin"
