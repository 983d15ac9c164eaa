"""BACKENDS: who can run collectives here, as name -> "module:attribute" of a Backend, imported when used.

May import: the standard library only; each backend's file imports what it wraps, when it is opened.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collectives.communicator import Communicator
    from collectives.placement import Placement
    from collectives.rendezvous import Store

BACKENDS: dict[str, str] = {
    "builtin": "collectives.backends.builtin:BACKEND",
}


class Backend(Protocol):
    """One way to run collectives."""

    name: str
    summary: str

    def unavailable(self) -> str | None:
        """Why it cannot be used on this host and what to do, or None."""

    def open(self, placement: Placement, store: Store, token: str, timeout: float) -> Communicator:
        """Join the world. Raises RendezvousError."""


def backend_named(name: str) -> Backend:
    """The backend of the table. Raises KeyError for a name that is not in it."""
    module, attribute = BACKENDS[name].split(":")
    backend: Backend = getattr(import_module(module), attribute)
    return backend
