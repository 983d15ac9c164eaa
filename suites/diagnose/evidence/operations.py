"""The names that libraries give to collectives, in the words of the house.

May import: the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

_WORDS: Mapping[str, str] = {
    "allreduce": "allreduce",
    "allreducebarrier": "barrier",
    "barrier": "barrier",
    "allgather": "allgather",
    "allgatherbase": "allgather",
    "allgatherintotensor": "allgather",
    "allgatherv": "allgatherv",
    "reducescatter": "reduce_scatter",
    "reducescatterbase": "reduce_scatter",
    "reducescattertensor": "reduce_scatter",
    "reducescatterv": "reduce_scatterv",
    "alltoall": "alltoall",
    "alltoallbase": "alltoall",
    "alltoallsingle": "alltoall",
    "alltoallv": "alltoallv",
    "alltoallvc": "alltoallv",
    "broadcast": "broadcast",
    "broadcastoop": "broadcast",
    "reduce": "reduce",
    "reduceoop": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "send": "send",
    "recv": "recv",
    "receive": "recv",
    "sendrecv": "sendrecv",
    "batchsendrecv": "batch_send_recv",
}
"""Without blanks, underscores and hyphens, in lower case -> the word."""

EQUAL_INPUTS = frozenset(("allreduce", "broadcast", "reduce", "allgather"))
"""Collectives whose input has the same number of elements on all ranks."""
ROOTED = frozenset(("broadcast", "reduce", "gather", "scatter"))
"""Collectives of which all ranks must name the same root."""


@lru_cache(4096)
def operation(name: str) -> str:
    """`_ALLGATHER_BASE`, `AllGather`, `HcclAllGather`, `all_gather_into_tensor`: all are allgather. What is not known
    keeps its name, in lower case and without leading underscores."""
    bare = name.strip().lower()
    for prefix in ("nccl", "hccl", "hcom"):
        bare = bare.removeprefix(prefix)
    key = "".join(letter for letter in bare if letter.isalnum())
    return _WORDS.get(key) or bare.strip("_ :") or "unknown"
