"""What is known of collectives by their names.

May import: the standard library.
"""

from __future__ import annotations

SYNCHRONISING = frozenset(
    (
        "allreduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatterv", "alltoall", "alltoallv", "barrier",
        "init",
    )
)  # fmt: skip
"""Nobody comes out of these before all have come in."""
COLLECTIVES = SYNCHRONISING | {"broadcast", "reduce", "gather", "scatter"}
