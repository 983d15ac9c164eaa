"""BACKENDS: who can run collectives here, as name -> "module:attribute" of a Backend, imported when used.

May import: the standard library only; each backend's file imports what it wraps, when it is opened.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collectives.communicator import Communicator
    from collectives.placement import Placement
    from collectives.recorder import Recorder
    from collectives.rendezvous import Store

BACKENDS: dict[str, str] = {
    "builtin": "collectives.backends.builtin:BACKEND",
    "mpi": "collectives.backends.mpi:BACKEND",
    "gloo": "collectives.backends.torch:GLOO",
    "nccl": "collectives.backends.torch:NCCL",
    "hccl": "collectives.backends.torch:HCCL",
}


LIBRARY = "library"
"""The algorithm's name where a backend does not run plans."""


class Backend(Protocol):
    """One way to run collectives."""

    name: str
    summary: str
    plans: bool
    """Whether it runs the plans of ALGORITHMS. Else the library chooses, and the only algorithm is LIBRARY."""

    def unavailable(self) -> str | None:
        """Why it cannot be used on this host and what to do, as "reason; remedy", or None. Starts nothing."""

    def claims(self) -> bool:
        """Whether devices that it is made for are visible on this host, so that `auto` means it. Starts nothing."""

    def caveat(self) -> str | None:
        """What keeps it from being all that it could be here, as "reason; remedy", or None. Starts nothing."""

    def lacks(self, collective: str, dtype: str, operator: str) -> str | None:
        """Why it has no such call, or None. Answered before a rank starts, so without loading the library."""

    def open(
        self,
        placement: Placement,
        store: Store,
        token: str,
        timeout: float,
        address: str | None = None,
        recorder: Recorder | None = None,
    ) -> Communicator:
        """Join the world. `address` is where this host is reached by others; `recorder` is where calls are recorded.
        Raises RendezvousError."""


def backend_named(name: str) -> Backend:
    """The backend of the table. Raises KeyError for a name that is not in it."""
    module, attribute = BACKENDS[name].split(":")
    backend: Backend = getattr(import_module(module), attribute)
    return backend
