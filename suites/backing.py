"""Which backends a run uses: the names asked for, to rows of BACKENDS that are ready here. May import: collectives."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.backends import BACKENDS, Backend, backend_named
from collectives.errors import unknown
from suites.errors import UsageError


def ready(names: Sequence[str]) -> tuple[Backend, ...]:
    """In the order asked for, each once; `auto` is the built-in one. Raises UsageError for the first that is unknown
    or cannot be used here, with the reason and what to do."""
    backends = []
    for name in dict.fromkeys("builtin" if name == "auto" else name for name in names):
        if name not in BACKENDS:
            raise UsageError(unknown("backend", name, BACKENDS))
        backend = backend_named(name)
        if reason := backend.unavailable():
            raise UsageError(f"backend {name} cannot be used: {reason}")
        backends.append(backend)
    return tuple(backends)
