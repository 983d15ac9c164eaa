"""How the ranks of a run agree on what they do next. May import: numpy, collectives."""

from __future__ import annotations

from collectives.communicator import Communicator


class Shared:
    """Small collectives of one communicator, bound once. Rank 0's word counts."""

    def __init__(self, comm: Communicator) -> None:
        self._rank = comm.rank
        self._words = comm.allocate(4, "int64")
        self._in, self._out = comm.allocate(1, "float64"), comm.allocate(1, "float64")
        self._words[:] = 0
        send = self._words if comm.rank == 0 else None
        self._tell = comm.bind("broadcast", send, self._words)
        self._folds = {
            operator: comm.bind("allreduce", self._in, self._out, operator=operator) for operator in ("max", "sum")
        }

    def agree(self, *words: int) -> list[int]:
        """Rank 0's words, at most four."""
        if self._rank == 0:
            self._words[: len(words)] = words
        self._tell.run()
        return [int(word) for word in self._words[: len(words)]]

    def largest(self, value: float) -> float:
        """The maximum over ranks."""
        return self._fold("max", value)

    def total(self, value: float) -> float:
        """The sum over ranks."""
        return self._fold("sum", value)

    def _fold(self, operator: str, value: float) -> float:
        self._in[0] = value
        self._folds[operator].run()
        return float(self._out[0])
