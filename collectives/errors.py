"""What collectives raise. May import: nothing of opsdist."""


class CollectiveError(Exception):
    """Root of this package's errors."""


class PlanError(CollectiveError):
    """A plan breaks a rule of the step model, computes the wrong thing, or deadlocks."""


class UsageError(CollectiveError, ValueError):
    """A call that cannot be made: wrong buffer, count, dtype, operator, root or algorithm."""


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


class MismatchError(CollectiveError):
    """Two ranks entered different calls. `peer` is the other side; neither is judged here."""

    def __init__(self, message: str, peer: int) -> None:
        super().__init__(message)
        self.peer = peer


class BackendUnavailable(CollectiveError):
    """A backend cannot be used here; the message is the reason and the remedy."""
