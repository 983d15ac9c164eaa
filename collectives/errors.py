"""What collectives raise, and the words for a name that nobody knows. May import: nothing of opsdist."""

import difflib
from collections.abc import Iterable


class CollectiveError(Exception):
    """Root of this package's errors."""


class PlanError(CollectiveError):
    """A plan breaks a rule of the step model, computes the wrong thing, or deadlocks."""


class UsageError(CollectiveError, ValueError):
    """A call that cannot be made: wrong buffer, count, dtype, operator, root or algorithm."""


class ResourceError(CollectiveError):
    """The system refuses memory, a descriptor or a socket."""


class RendezvousError(CollectiveError):
    """The ranks did not meet, or the world they form is not the one that was asked for. `waiting_for` lists ranks that
    did not arrive."""

    def __init__(self, message: str, waiting_for: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.waiting_for = waiting_for


class TransportTimeout(CollectiveError):
    """Nothing moved for longer than the deadline. `waiting_for` lists the peers that owe or refuse data."""

    def __init__(self, message: str, waiting_for: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.waiting_for = waiting_for


class Unreached(TransportTimeout):
    """A connection between two hosts did not come about. `waiting_for` lists who was not reached, or did not come."""


class PeerLost(CollectiveError):
    """The connection to a peer broke in the middle of a call. `waiting_for` lists the peers that are gone, or those
    one of which it must be."""

    def __init__(self, message: str, waiting_for: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.waiting_for = waiting_for


class MismatchError(CollectiveError):
    """Two ranks entered different calls. `peer` is the other side; neither is judged here."""

    def __init__(self, message: str, peer: int) -> None:
        super().__init__(message)
        self.peer = peer


class LibraryError(CollectiveError):
    """A foreign library refused or failed; the message is its own."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    return next(iter(difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.5)), None)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The refusal of a name that is in no table, with the word that was probably meant, or all of them."""
    known = list(known)
    near = nearest(name, known)
    return f"unknown {what} '{name}': " + (f"did you mean '{near}'?" if near else f"known: {', '.join(known)}")
