"""A case: one cell of a sweep, as controller and ranks both know it. May import: collectives."""

from __future__ import annotations

from dataclasses import dataclass

from collectives.backends import LIBRARY
from collectives.dtypes import DTYPES
from collectives.ops import COLLECTIVES
from collectives.schedule import Shape


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of a sweep: what all ranks do together. `size` is what was asked for, in bytes."""

    backend: str
    collective: str
    algorithm: str
    size: int
    count: int
    dtype: str
    operator: str
    root: int
    in_place: bool
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def planned(self) -> bool:
        """Whether a plan of ALGORITHMS is run, not what a library chooses."""
        return self.algorithm != LIBRARY

    def shape(self, rank: int, ranks: int) -> Shape:
        row = COLLECTIVES[self.collective]
        return row.shape(rank, ranks, self.count, root=self.root, groups=self.groups, in_place=self.in_place)

    def bytes_moved(self, ranks: int) -> int:
        """The size that the counts make: what bandwidth is computed from."""
        row = COLLECTIVES[self.collective]
        if self.collective == "alltoallv":
            return max(self.shape(rank, ranks).send.count for rank in range(ranks)) * DTYPES[self.dtype].itemsize
        return self.count * row.blocks(ranks) * DTYPES[self.dtype].itemsize

    def describe(self) -> str:
        place = "in place" if self.in_place else "out of place"
        how = self.algorithm if self.planned else f"by {self.backend}"
        return f"{self.collective} {how}, {self.size} bytes, {self.dtype}, {place}"
